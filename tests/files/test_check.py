from __future__ import annotations

import os
from pathlib import Path

import pytest

from sedna_render import check, plan, write
from sedna_render.check import Drift
from sedna_render.index_file import NAME, Part
from sedna_render.output import OutputFile
from sedna_render.plan import Plan, Target


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the output of services a and b, and a lock file."""
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").touch()
    write.apply(planned(file("a"), file("b")))


def file(name: str, text: str = "one\ntwo\n") -> OutputFile:
    return OutputFile(f"default.{name}.yaml", text.encode(), frozenset((Part("a.yaml", f"default/{name}"),)))


def planned(
    *files: OutputFile, lock: str = "default/a 30001\ndefault/b 30002\n", folder: str = "./out"
) -> Plan:
    path = Path("sedna-render.lock")
    target = Target(
        folder,
        os.getcwd(),
        frozenset([os.getcwd()]),
        lock_path=str(path),
        lock_text=lock,
        lock_read=path.read_bytes() if path.exists() else None,
    )
    return plan.make(target, files)


def seen(*files: OutputFile, lock: str = "default/a 30001\ndefault/b 30002\n") -> list[Drift]:
    return [drift._replace(change=None, detail="") for drift in check.drifts(planned(*files, lock=lock))]


def drift(kind: str, name: str) -> Drift:
    return Drift(kind, f"out/default.{name}.yaml", f"default/{name}", "a.yaml", "")


def test_output_that_is_right_has_no_drift() -> None:
    assert seen(file("a"), file("b")) == []


@pytest.mark.parametrize(
    ("kind", "name", "files"),
    [
        ("changed", "b", [file("a"), file("b", "new")]),
        ("missing", "c", [file("a"), file("b"), file("c")]),
        ("orphaned", "b", [file("a")]),
    ],
)
def test_each_drift_names_the_service_that_caused_it(kind: str, name: str, files: list[OutputFile]) -> None:
    assert seen(*files) == [drift(kind, name)]
    assert check.drifts(planned(*files))[0].detail


def test_an_edited_file_is_told_from_a_changed_source() -> None:
    Path("out/default.a.yaml").write_text("edited")

    assert seen(file("a"), file("b", "new")) == [drift("hand-edited", "a"), drift("changed", "b")]
    assert seen(file("b")) == [drift("hand-edited", "a")]


def test_a_foreign_file_in_the_way_is_drift() -> None:
    Path("out/default.c.yaml").write_text("mine")

    assert seen(file("a"), file("b"), file("c")) == [drift("foreign-file", "c")]


def test_a_file_that_was_deleted_is_missing() -> None:
    os.unlink("out/default.a.yaml")

    assert seen(file("a"), file("b")) == [drift("missing", "a")]


def test_what_render_would_record_in_the_lock_file_is_drift() -> None:
    found = check.drifts(planned(file("a"), file("b"), lock="default/a 30001\ndefault/b 30003\n"))

    assert [(one.kind, one.path, one.service, one.detail) for one in found] == [
        ("lock", "sedna-render.lock", "default/b", "has a line too many: default/b 30002"),
        ("lock", "sedna-render.lock", "default/b", "lacks the line: default/b 30003"),
    ]


def test_lines_of_the_lock_file_out_of_order_are_drift() -> None:
    found = check.drifts(planned(file("a"), file("b"), lock="default/b 30002\ndefault/a 30001\n"))

    assert [(one.kind, one.service) for one in found] == [("lock", "")]


@pytest.mark.parametrize(
    ("break_index", "kind"), [(os.unlink, "missing"), (lambda path: os.truncate(path, 9), "changed")]
)
def test_an_index_that_is_out_of_date_is_drift_when_nothing_else_is(break_index: object, kind: str) -> None:
    assert callable(break_index)
    break_index(f"out/{NAME}")

    assert seen(file("a"), file("b")) == [Drift(kind, f"out/{NAME}", "", "", "")]


def test_a_folder_that_does_not_exist_lacks_every_file() -> None:
    found = check.drifts(planned(file("a"), folder="nowhere"))

    assert [(one.kind, one.path) for one in found] == [("missing", "nowhere/default.a.yaml")]
    assert not Path("nowhere").exists()


def test_render_brings_every_drift_to_an_end() -> None:
    wanted = [file("a", "new"), file("c")]
    write.apply(planned(*wanted, lock="default/c 30005\n"))

    assert seen(*wanted, lock="default/c 30005\n") == []


def difference(*files: OutputFile) -> str:
    made = planned(*files)
    (one,) = check.drifts(made)
    return check.difference(made, one)


def test_a_change_is_shown_as_a_unified_diff() -> None:
    assert difference(file("a", "one\n2\n"), file("b")) == (
        "--- out/default.a.yaml\n+++ out/default.a.yaml\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    )


def test_an_orphan_is_shown_as_removed_and_a_missing_file_as_new() -> None:
    assert difference(file("a")) == ("--- out/default.b.yaml\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
    assert difference(file("a"), file("b"), file("c")) == (
        "--- /dev/null\n+++ out/default.c.yaml\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    )


def test_line_ends_are_not_shown_as_differences() -> None:
    Path("out/default.a.yaml").write_bytes(b"one\r\ntwo\r\n")

    assert "-one" not in difference(file("a", "one\n2\n"), file("b"))


def test_the_lock_file_has_no_diff_of_its_own() -> None:
    made = planned(file("a"), file("b"), lock="default/a 30001\n")

    assert [check.difference(made, one) for one in check.drifts(made)] == [""]


def test_a_file_of_several_services_says_how_many() -> None:
    parts = frozenset({Part("a.yaml", "default/a"), Part("b.yaml", "default/b")})
    found = check.drifts(planned(OutputFile("manifests.yaml", b"text", parts), file("a"), file("b")))

    assert [(one.service, one.source) for one in found] == [("", "")]
    assert "2 services" in found[0].detail
