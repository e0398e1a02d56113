from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sedna_render import index_file, plan, write
from sedna_render.folder import WriteError
from sedna_render.index_file import Part
from sedna_render.output import OutputFile
from sedna_render.plan import Plan, Target

INDEX = index_file.NAME


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test: a repository of two teams."""
    for source in ("in/a.yaml", "in/b.yaml", "other/c.yaml"):
        (tmp_path / source).parent.mkdir(exist_ok=True)
        (tmp_path / source).write_text(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def file(name: str, text: str = "text", source: str = "in/a.yaml") -> OutputFile:
    """The file of the service ``name``."""
    return OutputFile(f"default.{name}.yaml", text.encode(), frozenset((Part(source, f"default/{name}"),)))


def single(*parts: tuple[str, str], text: str = "text") -> OutputFile:
    """One file of several services, given as (service, source)."""
    made = frozenset(Part(source, f"default/{name}") for name, source in parts)
    return OutputFile("manifests.yaml", text.encode(), made)


def made(
    *files: OutputFile, paths: Iterable[str] = ("in", "other"), folder: str = "out", **more: object
) -> Plan:
    covers = frozenset(os.path.realpath(path) if path != "-" else "" for path in paths)
    target = Target(folder, os.getcwd(), covers)._replace(**more)  # type: ignore[arg-type]
    if "lock_path" in more and "lock_read" not in more:
        target = target._replace(lock_read=content_of(target.lock_path))
    return plan.make(target, sorted(files))


def content_of(path: str) -> bytes | None:
    return Path(path).read_bytes() if os.path.exists(path) else None


def render(
    *files: OutputFile,
    paths: Iterable[str] = ("in", "other"),
    folder: str = "out",
    force: bool = False,
    **more: object,
) -> write.Written:
    result = made(*files, paths=paths, folder=folder, **more)
    assert result.findings == ()
    assert plan.refusals(result, force=force) == []
    return write.apply(result, force=force)


def refused(
    *files: OutputFile, paths: Iterable[str] = ("in", "other"), force: bool = False
) -> list[tuple[str, str]]:
    """The rules that forbid the output, and the files."""
    before = tree()
    result = made(*files, paths=paths)
    found = [*result.findings, *plan.refusals(result, force=force)]
    assert tree() == before
    assert all(error.message and error.remedy for error in found)
    return [(error.rule, error.location.file) for error in found]


def tree(folder: str = "out") -> dict[str, str]:
    """The visible files of the folder and what they hold."""
    return {path.name: path.read_text() for path in Path(folder).glob("*") if path.name[0] != "."}


def hidden(folder: str = "out") -> set[str]:
    return {path.name for path in Path(folder).iterdir() if path.name[0] == "."}


def index_words() -> Mapping[str, list[str]]:
    lines = Path("out", INDEX).read_text().splitlines()
    return {line.split(" ")[0]: line.split(" ")[1:] for line in lines if line[0] != "#"}


def test_files_and_the_index_are_written_and_nothing_else_stays() -> None:
    assert render(file("a"), file("b", "other", "in/b.yaml")) == (2, 0)

    assert tree() == {"default.a.yaml": "text", "default.b.yaml": "other"}
    assert hidden() == {INDEX}
    assert index_words() == {
        "default.a.yaml": ["in/a.yaml", "default/a", index_file.digest(b"text")],
        "default.b.yaml": ["in/b.yaml", "default/b", index_file.digest(b"other")],
    }


def test_writing_again_touches_nothing() -> None:
    render(file("a"), file("b"))
    for path in Path("out").iterdir():
        os.utime(path, ns=(1, 1))

    assert render(file("a"), file("b")) == (0, 0)
    assert render(file("a"), file("b", "new")) == (1, 0)

    assert Path("out/default.a.yaml").stat().st_mtime_ns == 1
    assert Path("out/default.b.yaml").stat().st_mtime_ns > 1


def test_a_checkout_with_crlf_is_not_touched() -> None:
    render(file("a", "one\ntwo\n"))
    for path in Path("out").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert made(file("a", "one\ntwo\n")).is_clean
    assert render(file("a", "one\n")) == (1, 0)


def test_missing_folders_above_are_made() -> None:
    render(file("a"), folder="deep/er/out")

    assert tree("deep/er/out") == {"default.a.yaml": "text"}


def test_nothing_to_write_makes_no_folder() -> None:
    assert render() == (0, 0)

    assert not Path("out").exists()


def test_files_follow_the_umask() -> None:
    before = os.umask(0o027)
    try:
        render(file("a"))
    finally:
        os.umask(before)

    assert Path("out/default.a.yaml").stat().st_mode & 0o777 == 0o640


# --- orphans -----------------------------------------------------------------------------------------


def test_the_file_of_a_service_that_is_gone_is_removed() -> None:
    render(file("a"), file("b"))

    assert render(file("a")) == (0, 1)
    assert tree() == {"default.a.yaml": "text"}
    assert list(index_words()) == ["default.a.yaml"]


def test_the_last_file_is_removed_too() -> None:
    render(file("a"))

    assert render() == (0, 1)
    assert tree() == {}
    assert made().is_clean


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(["in"], id="the other team's folder"),
        pytest.param(["in/a.yaml"], id="one file"),
        pytest.param(["in/../in"], id="dots"),
        pytest.param(["-"], id="standard input"),
    ],
)
def test_rendering_a_part_leaves_the_other_part(paths: list[str]) -> None:
    render(file("a"), file("c", source="other/c.yaml"))

    render(file("a", "new"), paths=paths)

    assert tree() == {"default.a.yaml": "new", "default.c.yaml": "text"}
    assert list(index_words()) == ["default.a.yaml", "default.c.yaml"]


def test_a_folder_whose_name_begins_like_a_path_is_another_part() -> None:
    os.mkdir("in2")
    Path("in2/a.yaml").touch()
    render(file("a"), file("z", source="in2/a.yaml"))

    render(file("a"), paths=["in"])

    assert set(tree()) == {"default.a.yaml", "default.z.yaml"}


def test_a_part_whose_source_is_gone_is_removed_by_whoever_comes_next() -> None:
    render(file("a"), file("c", source="other/c.yaml"))
    os.unlink("other/c.yaml")

    assert render(file("a"), paths=["in"]) == (0, 1)


def test_what_came_from_standard_input_is_removed_only_by_standard_input() -> None:
    render(file("a"), file("s", source=""), paths=["in", "-"])

    assert render(file("a")) == (0, 0)
    assert render(file("a"), paths=["in", "-"]) == (0, 1)


def test_a_service_that_moved_to_another_file_keeps_its_file() -> None:
    render(file("a"))

    assert render(file("a", source="other/c.yaml"), paths=["other"]) == (0, 0)
    assert index_words()["default.a.yaml"][0] == "other/c.yaml"


def test_sources_are_found_from_any_current_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    render(file("a"), file("c", source="other/c.yaml"))
    monkeypatch.chdir("in")

    assert render(file("a", source="a.yaml"), paths=["a.yaml"], folder="../out") == (0, 0)
    assert index_words_of("../out")["default.c.yaml"] == "../other/c.yaml"
    monkeypatch.chdir(repository)
    assert render(file("a"), paths=["in"]) == (0, 0)
    assert set(tree()) == {"default.a.yaml", "default.c.yaml"}


def index_words_of(folder: str) -> dict[str, str]:
    index, findings = index_file.parse(Path(folder, INDEX).read_text(), "x")
    assert findings == []
    return {path: min(entry.parts).source for path, entry in index.entries.items()}


def test_outside_the_root_a_source_that_is_not_seen_may_exist(tmp_path: Path) -> None:
    with_others = [file("a"), file("x", source="nowhere.yaml")]
    outside = f"{tmp_path}-out"
    render(*with_others, folder=outside)

    assert render(file("a"), paths=["in"], folder=outside) == (0, 0)
    assert render(file("a"), paths=["in"], folder=outside, anchored=True) == (0, 1)


def test_the_index_says_nothing_about_this_machine(tmp_path: Path) -> None:
    outside = f"{tmp_path}-out"
    render(file("a"), folder=outside)
    render(file("a"))

    assert "relative" not in Path(outside, INDEX).read_text()
    assert "# Sources are relative to: ..\n" in Path("out", INDEX).read_text()


def test_switching_the_layout_removes_the_files_of_the_old_one() -> None:
    render(file("a"), file("b"))

    assert render(single(("a", "in/a.yaml"), ("b", "in/a.yaml"))) == (1, 2)
    assert set(tree()) == {"manifests.yaml"}
    assert render(file("a"), file("b")) == (2, 1)
    assert set(tree()) == {"default.a.yaml", "default.b.yaml"}


def test_a_single_file_cannot_be_rendered_in_parts() -> None:
    render(single(("a", "in/a.yaml"), ("c", "other/c.yaml")))

    assert refused(single(("a", "in/a.yaml")), paths=["in"]) == [("partial-render", "out/manifests.yaml")]
    assert refused(file("a"), paths=["in"]) == [("partial-render", "out/manifests.yaml")]


def test_a_single_file_of_another_part_is_left_alone() -> None:
    render(single(("c", "other/c.yaml")))

    render(file("a"), paths=["in"])

    assert set(tree()) == {"default.a.yaml", "manifests.yaml"}


def test_a_part_of_a_single_file_may_be_dropped_when_its_source_is_gone() -> None:
    render(single(("a", "in/a.yaml"), ("c", "other/c.yaml")))
    os.unlink("other/c.yaml")

    assert render(single(("a", "in/a.yaml"), text="new"), paths=["in"]) == (1, 0)


def test_two_objects_of_one_name_are_an_error() -> None:
    twin = OutputFile("default.a.yaml", b"twin", frozenset((Part("in/b.yaml", "default/twin"),)))

    assert refused(file("a"), twin) == [("name-collision", "in/b.yaml")]


def test_gone_services_are_those_of_this_part_that_are_not_rendered() -> None:
    render(file("a"), file("b"), file("c", source="other/c.yaml"))
    target = made(paths=["in"]).target

    assert plan.gone_services(target, {"default/a"}) == {"default/b"}
    assert plan.gone_services(target._replace(folder="nowhere"), {"default/a"}) == set()
    assert plan.gone_services(target._replace(folder="in/a.yaml"), {"default/a"}) == set()


# --- kustomization.yaml ------------------------------------------------------------------------------


def resources() -> list[str]:
    lines = Path("out/kustomization.yaml").read_text().splitlines()
    return [line.strip(' -"') for line in lines if "default." in line]


def test_the_kustomization_lists_all_parts() -> None:
    render(file("a"), file("c", source="other/c.yaml"), kustomization=True)
    assert resources() == ["default.a.yaml", "default.c.yaml"]

    render(file("b"), paths=["in"], kustomization=True)
    assert resources() == ["default.b.yaml", "default.c.yaml"]


def test_the_kustomization_stays_and_is_kept_right_until_it_is_unwanted() -> None:
    render(file("a"))
    assert "kustomization.yaml" not in tree()
    render(file("a"), kustomization=True)
    render(file("b"))
    assert resources() == ["default.b.yaml"]

    assert render(file("b"), kustomization=False) == (0, 1)
    assert "kustomization.yaml" not in tree()


def test_a_kustomization_of_the_users_own_is_not_touched() -> None:
    os.mkdir("out")
    Path("out/kustomization.yaml").write_text("mine")

    render(file("a"))

    assert tree()["kustomization.yaml"] == "mine"
    result = made(file("a"), kustomization=True)
    assert [error.rule for error in plan.refusals(result, force=True)] == ["foreign-file"]


# --- what must not be lost ----------------------------------------------------------------------------


def test_an_edited_file_is_refused_unless_forced() -> None:
    render(file("a"), file("b"))
    Path("out/default.a.yaml").write_text("edited")

    assert refused(file("a"), file("b", "new")) == [("hand-edited", "out/default.a.yaml")]
    assert render(file("a"), file("b"), force=True) == (1, 0)
    assert tree()["default.a.yaml"] == "text"


def test_an_edited_orphan_is_refused_unless_forced() -> None:
    render(file("a"), file("b"))
    Path("out/default.b.yaml").write_text("edited")

    assert refused(file("a")) == [("hand-edited", "out/default.b.yaml")]
    assert render(file("a"), force=True) == (0, 1)


def test_an_edit_that_is_what_would_be_written_is_fine() -> None:
    render(file("a"))
    Path("out/default.a.yaml").write_text("new")

    assert render(file("a", "new")) == (0, 0)
    assert index_words()["default.a.yaml"][2] == index_file.digest(b"new")


def test_an_edited_file_of_another_part_is_not_this_runs_matter() -> None:
    render(file("a"), file("c", source="other/c.yaml"))
    Path("out/default.c.yaml").write_text("edited")

    render(file("a", "new"), paths=["in"])

    assert tree()["default.c.yaml"] == "edited"
    assert refused(file("a", "new"), file("c", source="other/c.yaml")) == [
        ("hand-edited", "out/default.c.yaml")
    ]


def test_a_file_that_a_power_failure_emptied_is_written_again() -> None:
    render(file("a"))
    Path("out/default.a.yaml").write_bytes(b"\0\0\0")

    assert render(file("a")) == (1, 0)


@pytest.mark.parametrize("force", [False, True])
def test_a_foreign_file_in_the_way_is_refused_even_when_forced(force: bool) -> None:
    os.mkdir("out")
    Path("out/default.a.yaml").write_text("mine")

    assert refused(file("a"), force=force) == [("foreign-file", "out/default.a.yaml")]


def test_a_foreign_file_that_is_not_in_the_way_is_left_alone() -> None:
    os.mkdir("out")
    Path("out/notes.yaml").write_text("mine")
    render(file("a"))
    render()

    assert tree() == {"notes.yaml": "mine"}


def test_a_lost_index_is_made_anew_when_the_files_are_right() -> None:
    render(file("a"), file("b"))
    os.unlink(f"out/{INDEX}")

    assert render(file("a"), file("b")) == (0, 0)
    assert list(index_words()) == ["default.a.yaml", "default.b.yaml"]


def test_a_folder_a_pipe_or_a_link_in_the_way_is_foreign() -> None:
    os.makedirs("out/default.a.yaml")
    os.mkfifo("out/default.b.yaml")
    Path("mine").write_text("mine")
    os.symlink("../mine", "out/default.c.yaml")
    os.symlink("nowhere", "out/default.d.yaml")

    names = ["a", "b", "c", "d"]
    expected = [("foreign-file", f"out/default.{name}.yaml") for name in names]
    assert refused_without_reading(*map(file, names)) == expected


def refused_without_reading(*files: OutputFile) -> list[tuple[str, str]]:
    return [(error.rule, error.location.file) for error in plan.refusals(made(*files), force=True)]


def test_a_generated_file_that_became_a_link_is_not_replaced() -> None:
    render(file("a"))
    shutil.move("out/default.a.yaml", "mine")
    os.symlink("../mine", "out/default.a.yaml")

    assert made(file("a")).is_clean
    assert refused(file("a", "new"), force=True) == [("foreign-file", "out/default.a.yaml")]


def put_folder(path: Path) -> None:
    path.mkdir()
    Path(path, "a file").touch()


def put_link(path: Path) -> None:
    path.rename("elsewhere") if path.exists() else Path("elsewhere").touch()
    path.symlink_to("../elsewhere")


@pytest.mark.parametrize("name", [INDEX, plan.JOURNAL])
@pytest.mark.parametrize(
    "put",
    [
        pytest.param(put_folder, id="folder"),
        pytest.param(os.mkfifo, id="pipe"),
        pytest.param(put_link, id="link"),
        pytest.param(lambda path: path.symlink_to("nowhere"), id="link to nowhere"),
    ],
)
def test_what_is_no_file_in_place_of_the_index_is_refused_before_anything_is_written(
    put: Callable[[Path], None], name: str
) -> None:
    os.mkdir("out")
    put(Path("out", name))

    assert refused(file("a"), force=True) == [("foreign-file", f"out/{name}")]
    assert os.listdir("out") == [name]


def test_the_index_that_became_a_link_is_refused() -> None:
    render(file("a"))
    put_link(Path("out", INDEX))

    assert refused(file("a", "new")) == [("foreign-file", f"out/{INDEX}")]


def test_a_damaged_index_refuses_everything() -> None:
    render(file("a"))
    with open(f"out/{INDEX}", "a", encoding="utf-8") as index:
        index.write("<<<<<<< HEAD\n../../etc/passwd a b c\n")

    assert refused(file("a"), force=True) == [("index-damaged", f"out/{INDEX}")] * 2


def test_a_refused_plan_cannot_be_carried_out() -> None:
    render(file("a"))
    Path("out/default.a.yaml").write_text("edited")

    with pytest.raises(ValueError, match="refused"):
        write.apply(made(file("a")))


# --- the lock file -----------------------------------------------------------------------------------


def test_the_lock_file_is_written_where_it_lies_and_only_when_it_differs() -> None:
    lock: dict[str, Any] = {"lock_path": "in/sedna-render.lock", "lock_text": "default/a 30001\n"}
    render(file("a"), **lock)
    assert Path("in/sedna-render.lock").read_text() == "default/a 30001\n"
    os.utime("in/sedna-render.lock", ns=(1, 1))

    render(file("a", "new"), **lock)

    assert os.stat("in/sedna-render.lock").st_mtime_ns == 1
    assert set(os.listdir("in")) == {"a.yaml", "b.yaml", "sedna-render.lock"}


def test_a_lock_file_in_the_output_folder_is_no_output() -> None:
    lock: dict[str, Any] = {"lock_path": "out/sedna-render.lock", "lock_text": "default/a 30001\n"}
    render(file("a"), **lock, kustomization=True)

    assert list(index_words()) == ["default.a.yaml", "kustomization.yaml"]
    assert hidden() == {INDEX}


def test_a_lock_file_that_is_a_link_stays_one() -> None:
    os.symlink("other/lock", "lock")
    render(file("a"), lock_path="lock", lock_text="default/a 30001\n")

    assert os.path.islink("lock")
    assert Path("other/lock").read_text() == "default/a 30001\n"


def test_without_numbers_there_is_no_lock_file() -> None:
    render(file("a"), lock_path="in/sedna-render.lock", lock_text="")

    assert not Path("in/sedna-render.lock").exists()


# --- what the file system refuses --------------------------------------------------------------------


def test_a_file_in_place_of_the_folder_is_an_error() -> None:
    Path("out").write_text("mine")

    with pytest.raises(WriteError, match="out: cannot be read as a folder: Not a directory"):
        made(file("a"))


def test_a_file_in_place_of_a_folder_above_is_an_error() -> None:
    Path("above").write_text("mine")

    with pytest.raises(WriteError, match="above"):
        render(file("a"), folder="above/out")


@pytest.mark.parametrize("name", ["default.a.yaml", INDEX])
def test_a_file_that_cannot_be_read_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    render(file("a"))
    opens = os.open

    def refuse(path: str, flags: int) -> int:
        if path.endswith(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opens(path, flags)

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(WriteError, match=f"{name}: cannot be read: Permission denied"):
        made(file("a", "new"))


def test_a_link_to_a_folder_is_written_through() -> None:
    os.mkdir("real")
    os.symlink("real", "out")

    render(file("a"))

    assert os.path.islink("out")
    assert tree("real") == {"default.a.yaml": "text"}


def test_a_link_to_nowhere_is_made_a_folder_where_it_points() -> None:
    os.symlink("real", "out")

    render(file("a"))

    assert tree("real") == {"default.a.yaml": "text"}


def test_a_link_to_itself_is_an_error() -> None:
    os.symlink("out", "out")

    with pytest.raises(WriteError, match=r"out: .*Too many levels"):
        render(file("a"))


def test_what_interrupted_runs_staged_is_removed_but_never_through_a_link() -> None:
    os.makedirs("out/.sedna-render.tmp-1")
    Path("out/.sedna-render.tmp-1/default.a.yaml").touch()
    Path("out/.sedna-render.tmp-2").touch()
    os.symlink("../in", "out/.sedna-render.tmp-3")

    render(file("a"))

    assert hidden() == {INDEX}
    assert set(os.listdir("in")) == {"a.yaml", "b.yaml"}


def test_two_runs_at_once_are_refused() -> None:
    render(file("a"))
    result = made(file("a", "new"))
    handle = os.open("out", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(WriteError, match="another sedna-render"):
            write.apply(result)
    finally:
        os.close(handle)

    assert write.apply(result) == (1, 0)


def test_a_plan_that_another_run_made_stale_is_refused() -> None:
    render(file("a"))
    result = made(file("a", "new"))
    render(file("a", "newer"))

    with pytest.raises(WriteError, match="another run"):
        write.apply(result)

    assert tree() == {"default.a.yaml": "newer"}


LOCK: Mapping[str, Any] = {"lock_path": "in/sedna-render.lock", "lock_text": "default/a 30001\n"}


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [
        pytest.param(None, b"default/b 30001\n", id="made"),
        pytest.param(b"default/c 30002\n", b"default/b 30001\ndefault/c 30002\n", id="a line more"),
        pytest.param(b"default/c 30002\n", None, id="removed"),
        pytest.param(b"default/a 30001\n", b"default/a 30003\n", id="the file was right before"),
    ],
)
def test_a_plan_made_of_numbers_that_another_run_has_changed_is_refused(
    before: bytes | None, meanwhile: bytes | None
) -> None:
    put(LOCK["lock_path"], before)
    result = made(file("a"), **LOCK)
    put(LOCK["lock_path"], meanwhile)

    with pytest.raises(WriteError, match=r"in/sedna-render\.lock: another run wrote it .* run again"):
        write.apply(result)

    assert content_of(LOCK["lock_path"]) == meanwhile
    assert not os.path.exists("out")


def put(path: str, content: bytes | None) -> None:
    if content is not None:
        Path(path).write_bytes(content)
    elif os.path.exists(path):
        os.unlink(path)


def test_numbers_that_changed_between_their_reading_and_the_plan_are_seen_too() -> None:
    put(LOCK["lock_path"], b"default/b 30001\n")

    with pytest.raises(WriteError, match="another run"):
        write.apply(made(file("a"), **LOCK, lock_read=None))


@pytest.mark.parametrize(
    ("held", "lock_text", "fine"),
    [
        pytest.param(fcntl.LOCK_EX, "default/a 30001\n", False, id="both write the lock file"),
        pytest.param(fcntl.LOCK_EX, "", False, id="the other one writes it"),
        pytest.param(fcntl.LOCK_SH, "default/a 30001\n", False, id="this one writes it"),
        pytest.param(fcntl.LOCK_SH, "", True, id="neither writes it"),
    ],
)
def test_two_runs_with_one_lock_file_are_refused_when_either_writes_it(
    held: int, lock_text: str, fine: bool
) -> None:
    result = made(file("a"), lock_path="in/sedna-render.lock", lock_text=lock_text)
    handle = os.open("in", os.O_RDONLY)
    try:
        fcntl.flock(handle, held)
        if fine:
            assert write.apply(result) == (1, 0)
        else:
            with pytest.raises(WriteError, match=r"in/sedna-render\.lock: another sedna-render"):
                write.apply(result)
    finally:
        os.close(handle)

    assert os.path.exists("out") == fine
    assert set(os.listdir("in")) == {"a.yaml", "b.yaml"}
