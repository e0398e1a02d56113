from __future__ import annotations

import os
from pathlib import Path

import pytest

from sedna_render import project


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test: the top of a repository, below a configuration that must not be seen."""
    (tmp_path / "sedna-render.yaml").write_text("outside the repository")
    top = tmp_path / "repo"
    (top / ".git").mkdir(parents=True)
    (top / "a" / "deep").mkdir(parents=True)
    (top / "b").mkdir()
    monkeypatch.chdir(top)
    return top


def configure(folder: str) -> None:
    Path(folder, "sedna-render.yaml").write_text(folder)


def found(*paths: str) -> tuple[str, str]:
    """The content of the configuration that the paths lead to, and its name."""
    result, findings = project.find(paths)
    assert findings == []
    assert result.source is not None
    return result.source.content.decode(), result.source.name


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        pytest.param("a/deep", "a", id="a folder below it"),
        pytest.param("a", "a", id="its own folder"),
        pytest.param("a/x.yaml", "a", id="a file beside it, there or not"),
        pytest.param("a/deep/*.yaml", "a", id="a glob"),
        pytest.param("a/nowhere/x.yaml", "a", id="a path that does not exist"),
        pytest.param("b", ".", id="the top of the repository"),
        pytest.param("a/../b/x.yaml", ".", id="dots"),
        pytest.param("-", ".", id="standard input belongs to the current folder"),
    ],
)
def test_the_nearest_configuration_upward_is_found(path: str, folder: str) -> None:
    configure(".")
    configure("a")

    assert found(path) == (folder, f"{folder}/sedna-render.yaml".removeprefix("./"))


def test_the_search_ends_at_the_top_of_the_repository(repository: Path) -> None:
    result, findings = project.find(["a/deep", "b"])

    assert (result.source, result.root, findings) == (None, str(repository), [])
    assert not result.is_anchored


def test_a_worktree_whose_git_is_a_file_is_a_top_too() -> None:
    Path("a/.git").write_text("gitdir: elsewhere")
    configure(".")

    assert project.find(["a/deep"])[0].source is None


def test_inputs_that_lead_to_two_configurations_are_an_error_that_names_both() -> None:
    configure("a")
    configure("b")

    (error,) = project.find(["a/deep", "b"])[1]

    assert error.rule == "two-configs"
    assert "a/sedna-render.yaml, b/sedna-render.yaml" in error.message
    assert "--config" in error.remedy


def test_inputs_that_lead_to_one_configuration_by_links_are_fine() -> None:
    configure("a")
    os.symlink("a", "link")

    assert found("a", "link/deep", "b") == ("a", "a/sedna-render.yaml")


def test_a_named_configuration_wins(repository: Path) -> None:
    configure("a")
    Path("b/other.yaml").write_text("other")

    result, findings = project.find(["a"], "./b/other.yaml")

    assert findings == []
    assert result.source is not None
    assert (result.source.name, result.source.content) == ("b/other.yaml", b"other")
    assert result.root == str(repository / "b")
    assert result.is_anchored


@pytest.mark.parametrize(("name", "rule"), [("b/nowhere.yaml", "no-such-file"), ("b", "unreadable-file")])
def test_a_named_configuration_that_cannot_be_read_is_an_error(name: str, rule: str) -> None:
    (error,) = project.find(["a"], name)[1]

    assert (error.rule, error.location.file) == (rule, name)


def test_a_configuration_that_is_a_folder_is_an_error() -> None:
    Path("a/sedna-render.yaml").mkdir()

    assert [error.rule for error in project.find(["a"])[1]] == ["unreadable-file"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param("a/x.yaml", "x.yaml", id="beside the configuration"),
        pytest.param("a/deep/x.yaml", "deep/x.yaml", id="below it"),
        pytest.param("b/x.yaml", "../b/x.yaml", id="outside"),
        pytest.param("link/x.yaml", "deep/x.yaml", id="through a linked folder"),
        pytest.param("{top}/a/x.yaml", "x.yaml", id="absolute"),
        pytest.param("<stdin>", "", id="standard input"),
        pytest.param("a/with space.yaml", "with space.yaml", id="a space"),
    ],
)
def test_source_paths_are_relative_to_the_configuration(repository: Path, name: str, path: str) -> None:
    configure("a")
    os.symlink("a/deep", "link")
    result = project.find(["a"])[0]

    assert result.source_path(name.format(top=repository)) == path


def test_source_paths_do_not_depend_on_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    configure("a")
    monkeypatch.chdir("a/deep")

    assert project.find(["x.yaml"])[0].source_path("x.yaml") == "deep/x.yaml"
    assert project.find([".."])[0].source_path("../x.yaml") == "x.yaml"


def test_without_a_configuration_source_paths_are_relative_to_the_current_folder() -> None:
    assert project.find(["a"])[0].source_path("a/deep/x.yaml") == "a/deep/x.yaml"
    assert project.find(["a"])[0].source_path("/x.yaml").startswith("../")


def test_a_run_covers_the_real_paths_of_what_it_was_given(repository: Path) -> None:
    os.symlink("a/deep", "link")
    result = project.find(["a"])[0]

    assert result.covers(["link", "b/x.yaml", "-", "<stdin>", "link/y.yaml"]) == {
        f"{repository}/a/deep",
        f"{repository}/b/x.yaml",
        "",
        f"{repository}/a/deep/y.yaml",
    }


@pytest.mark.parametrize(
    ("output", "refused"),
    [("a", True), ("a/", True), (".", True), ("a/deep", False), ("b", False), ("link", True), ("aa", False)],
)
def test_a_configuration_inside_the_output_folder_is_an_error(output: str, refused: bool) -> None:
    configure("a")
    os.symlink("a", "link")
    result = project.find(["a"])[0]

    assert [error.rule for error in project.inside_output(result, output)] == ["config-in-output"] * refused


def test_without_a_configuration_any_output_folder_will_do() -> None:
    assert project.inside_output(project.find(["a"])[0], ".") == []
