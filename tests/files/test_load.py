from __future__ import annotations

import errno
import io
import os
import socket
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import load, walk
from sedna_render.findings import ERROR, WARNING
from sedna_render.yaml_reader import Source


@pytest.fixture(autouse=True)
def project_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test: an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"# {name}\n")


def names(*paths: str, skip: tuple[str, ...] = ()) -> list[str]:
    sources, findings = load.load(paths, skip_folders=skip)
    assert findings == []
    return [source.name for source in sources]


def rules(*paths: str, skip: tuple[str, ...] = (), stdin: BinaryIO | None = None) -> list[tuple[str, str]]:
    return [
        (found.rule, found.location.file) for found in load.load(paths, skip_folders=skip, stdin=stdin)[1]
    ]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param(["a.yaml"], ["a.yaml"], id="a file"),
        pytest.param(["./a.yaml"], ["a.yaml"], id="a leading dot is not shown"),
        pytest.param(["sub//./b.yml"], ["sub/b.yml"], id="doubled slashes are not shown"),
        pytest.param(["notes.txt"], ["notes.txt"], id="a named file may end as it likes"),
        pytest.param([".hidden/h.yaml"], [".hidden/h.yaml"], id="a named hidden file is read"),
        pytest.param([".hidden"], [".hidden/h.yaml"], id="a named hidden folder is read"),
        pytest.param(["."], ["a.yaml", "sub/b.yml", "sub/deep/c.json"], id="a folder with all below it"),
        pytest.param(["sub/"], ["sub/b.yml", "sub/deep/c.json"], id="a folder with a slash"),
        pytest.param(["sub", "."], ["a.yaml", "sub/b.yml", "sub/deep/c.json"], id="a folder inside another"),
        pytest.param(
            ["a.yaml", "./a.yaml", "."], ["a.yaml", "sub/b.yml", "sub/deep/c.json"], id="reached thrice"
        ),
        pytest.param(["*.yaml"], ["a.yaml"], id="a glob stays in its folder"),
        pytest.param(["*/*.yml"], ["sub/b.yml"], id="a glob over folders"),
        pytest.param(["**/*.json"], ["sub/deep/c.json"], id="two stars are any depth"),
        pytest.param(["sub/**/**/c.json"], ["sub/deep/c.json"], id="two stars twice"),
        pytest.param(["**/a.yaml"], ["a.yaml"], id="two stars are no depth, too"),
        pytest.param(["s*"], ["sub/b.yml", "sub/deep/c.json"], id="a glob that matches a folder"),
        pytest.param(["sub/**"], ["sub/b.yml", "sub/deep/c.json"], id="two stars at the end"),
        pytest.param(["*"], ["a.yaml", "sub/b.yml", "sub/deep/c.json"], id="a glob passes over other files"),
        pytest.param(
            [".h*/h.yaml"], [".hidden/h.yaml"], id="a hidden folder is matched when it is asked for"
        ),
        pytest.param(["[ab].y?ml"], ["a.yaml"], id="character classes and question marks"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_paths_lead_to_files(given: list[str], read: list[str]) -> None:
    put("a.yaml", "sub/b.yml", "sub/deep/c.json", "notes.txt", ".hidden/h.yaml", ".pre-commit-config.yaml")

    assert names(*given) == read


def test_content_is_the_files_bytes() -> None:
    Path("a.yaml").write_bytes(b"\xff\xfe\r\n\0")

    assert load.load(["a.yaml"]) == ([Source("a.yaml", b"\xff\xfe\r\n\0")], [])


def test_absolute_paths_stay_absolute(tmp_path: Path) -> None:
    put("sub/a.yaml")

    assert names(str(tmp_path)) == [f"{tmp_path}/sub/a.yaml"]


def test_the_order_of_the_paths_does_not_matter() -> None:
    put("a.yaml", "b.yaml", "sub/c.yaml")

    assert load.load(["sub", "b.yaml", "a.yaml"]) == load.load(["a.yaml", "sub", "b.yaml"])


def test_a_file_whose_name_is_a_pattern_is_itself() -> None:
    put("a[1].yaml", "a1.yaml")

    assert names("a[1].yaml") == ["a[1].yaml"]


def test_the_output_folder_is_passed_over_in_walks_and_globs() -> None:
    put("a.yaml", "out/b.yaml", "outer/c.yaml")

    assert names(".", skip=("out",)) == ["a.yaml", "outer/c.yaml"]
    assert names("**/*.yaml", skip=("./out",)) == ["a.yaml", "outer/c.yaml"]


@pytest.mark.parametrize("path", ["out", "out/b.yaml", "out/sub", "link"])
def test_an_input_in_the_output_folder_is_an_error(path: str) -> None:
    put("a.yaml", "out/b.yaml", "out/sub/c.yaml")
    os.symlink("out", "link")

    assert rules(path, skip=("out",)) == [("input-in-output", path)]


def test_a_link_to_the_output_folder_is_passed_over() -> None:
    put("in/a.yaml", "out/b.yaml")
    os.symlink("../out", "in/link")

    assert names("in", skip=("out",)) == ["in/a.yaml"]


def test_loops_of_links_end() -> None:
    put("a.yaml", "sub/b.yaml")
    os.symlink("..", "sub/up")
    os.symlink(".", "sub/here")
    os.symlink("loop", "loop")

    assert names(".") == ["a.yaml", "sub/b.yaml"]
    assert names("**/*.yaml") == ["a.yaml", "sub/b.yaml"]


def test_a_file_and_a_link_to_it_are_read_once_by_the_real_name() -> None:
    put("z.yaml", "sub/y.yaml")
    os.symlink("z.yaml", "a.yaml")
    os.symlink("sub", "first")

    assert names(".") == ["sub/y.yaml", "z.yaml"]
    assert names("a.yaml", "z.yaml") == ["z.yaml"]
    assert names("first", "sub") == ["sub/y.yaml"]
    assert names("a.yaml") == ["a.yaml"]


def test_a_linked_folder_is_walked() -> None:
    put("elsewhere/sub/a.yaml")
    Path("in").mkdir()
    os.symlink("../elsewhere", "in/link")

    assert names("in") == ["in/link/sub/a.yaml"]


def test_a_mounted_config_map_is_read_through_its_hidden_folder() -> None:
    put("mount/..2024/a.yaml")
    os.symlink("..2024", "mount/..data")
    os.symlink("..data/a.yaml", "mount/a.yaml")

    assert names("mount") == ["mount/a.yaml"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        pytest.param("nowhere.yaml", "no-such-file", id="missing file"),
        pytest.param("nowhere/a.yaml", "no-such-file", id="missing folder"),
        pytest.param("a.yaml/b", "no-such-file", id="a file taken for a folder"),
        pytest.param("dangling.yaml", "no-such-file", id="a link to nothing"),
        pytest.param("x*.yaml", "no-input", id="a glob that matches nothing"),
        pytest.param("*.txt", "no-input", id="a glob that matches no YAML"),
        pytest.param("a.yaml/*", "no-input", id="a glob below a file"),
        pytest.param("self", "unreadable-file", id="a link to itself"),
        pytest.param("pipe.yaml", "unreadable-file", id="a pipe does not hang"),
        pytest.param("socket.yaml", "unreadable-file", id="a socket"),
        pytest.param("/dev/zero", "unreadable-file", id="an endless device"),
        pytest.param("n" * 300, "unreadable-file", id="a name that is too long"),
    ],
)
def test_a_path_that_cannot_be_read_is_an_error(path: str, rule: str) -> None:
    put("a.yaml", "notes.txt")
    os.mkfifo("pipe.yaml")
    os.symlink("nothing", "dangling.yaml")
    os.symlink("self", "self")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.yaml")
        sources, findings = load.load([path, "a.yaml"])

    assert [(found.rule, found.location.file, found.severity) for found in findings] == [(rule, path, ERROR)]
    assert [source.name for source in sources] == ["a.yaml"]
    assert findings[0].message
    assert findings[0].remedy


def test_pipes_and_dead_links_in_a_folder_are_errors_beside_what_is_read() -> None:
    put("a.yaml")
    os.mkfifo("pipe.yaml")
    os.symlink("nothing", "dangling.yaml")
    os.symlink("nothing", ".#emacs.yaml")

    sources, findings = load.load(["."])

    assert [source.name for source in sources] == ["a.yaml"]
    assert sorted((found.rule, found.location.file) for found in findings) == [
        ("no-such-file", "dangling.yaml"),
        ("unreadable-file", "pipe.yaml"),
    ]


def test_a_folder_that_cannot_be_listed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", "shut/b.yaml")
    scans = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scans(path)

    monkeypatch.setattr(os, "scandir", refuse)
    sources, (error,) = load.load(["."])

    assert [source.name for source in sources] == ["a.yaml"]
    assert error.text().startswith("shut: error[unreadable-file]: cannot be read: Permission denied")


def test_an_empty_path_and_a_path_with_nul_are_errors() -> None:
    assert rules("") == [("no-such-file", "''")]
    assert rules("a\0b") == [("no-such-file", "a\\x00b")]


def test_a_folder_without_yaml_is_a_warning() -> None:
    put("notes.txt", ".hidden/a.yaml")

    findings = load.load(["."])[1]

    assert [(found.rule, found.severity) for found in findings] == [("no-input", WARNING)]


def test_a_folder_that_another_path_has_covered_is_not_called_empty() -> None:
    put("sub/a.yaml")

    assert names(".", "sub") == ["sub/a.yaml"]


def test_a_name_that_would_break_a_line_or_an_encoding_is_refused_and_shown_escaped() -> None:
    Path("a\nb.yaml").touch()
    Path(os.fsdecode(b"\xff.yaml")).touch()
    Path("\u2028.yaml").touch()
    put("héllo 世界.yaml")

    sources, findings = load.load(["."])

    assert [source.name for source in sources] == ["héllo 世界.yaml"]
    assert sorted((found.rule, found.location.file) for found in findings) == [
        ("invalid-name", "\\u2028.yaml"),
        ("invalid-name", "\\udcff.yaml"),
        ("invalid-name", "a\\nb.yaml"),
    ]


def test_a_large_file_is_refused_without_being_read() -> None:
    with open("big.yaml", "wb") as file:
        file.truncate(load.MAX_FILE_BYTES + 1)

    assert rules("big.yaml") == [("file-too-large", "big.yaml")]


def test_a_file_that_says_it_is_empty_is_read_to_its_end() -> None:
    assert load.load(["/proc/self/status"])[0][0].content.startswith(b"Name:")


def test_standard_input_is_read_once_and_first() -> None:
    put("a.yaml")

    sources, findings = load.load(["a.yaml", "-", "-"], stdin=io.BytesIO(b"kind: x"))

    assert [(source.name, source.content) for source in sources] == [
        ("<stdin>", b"kind: x"),
        ("a.yaml", b"# a.yaml\n"),
    ]
    assert findings == []


def test_standard_input_is_not_touched_when_it_is_not_asked_for() -> None:
    put("a.yaml")
    stdin = io.BytesIO(b"kind: x")

    load.load(["a.yaml"], stdin=stdin)

    assert stdin.tell() == 0


def test_closed_standard_input_is_an_error() -> None:
    stdin = io.BytesIO()
    stdin.close()

    assert rules("-", stdin=stdin) == [("unreadable-file", "<stdin>")]


def test_standard_input_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "MAX_FILE_BYTES", 10)

    assert rules("-", stdin=io.BytesIO(b"x" * 11)) == [("file-too-large", "<stdin>")]


def test_a_file_that_is_gone_after_it_was_listed_is_an_error() -> None:
    result = load.read_file("gone.yaml")

    assert not isinstance(result, Source)
    assert result.rule == "no-such-file"


def test_many_stars_do_not_take_for_ever() -> None:
    put("/".join("abcdefghijkl") + "/x.yaml")

    assert names("**/" * 12 + "*.yaml") == ["a/b/c/d/e/f/g/h/i/j/k/l/x.yaml"]


@given(st.lists(st.text(alphabet="ab.*?[]-/!{}\\é\ud800", max_size=12), max_size=4))
def test_no_path_gives_a_traceback(paths: list[str]) -> None:
    safe = [path for path in paths if not path.startswith("/") and ".." not in path]

    sources, findings = load.load(safe, stdin=io.BytesIO())

    assert len(sources) + len(findings) <= len(safe) + 1
    for found in findings:
        found.text().encode()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("./a", "a"),
        ("a/./b//c/", "a/b/c"),
        (".", "."),
        ("./", "."),
        ("/", "/"),
        ("/a/", "/a"),
        ("../a", "../a"),
    ],
)
def test_shown_paths_are_short_and_keep_their_meaning(path: str, shown: str) -> None:
    assert walk.shown(path) == shown
