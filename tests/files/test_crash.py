"""A run that dies or is refused at any of its steps: what the next run finds, and makes of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from sedna_render import check, index_file, plan, write
from sedna_render.folder import WriteError
from sedna_render.index_file import Part
from sedna_render.output import OutputFile
from sedna_render.plan import Target

LOCK = "sedna-render.lock"
EDIT = "edited by hand"

#: The services of each state of the inputs and what their files hold: some change, some come, some go.
STATES: dict[str, dict[str, str]] = {
    "first": {"a": "a1\n", "b": "b1\n", "c": "c1\n"},
    "second": {"a": "a2\n", "b": "b1\n", "d": "d1\n"},
    "third": {"a": "a3\n", "c": "c3\n", "d": "d3\n"},
    "none": {},
}


class Death(BaseException):
    """The process is gone: nothing that it would still do happens."""


class FailingSystem:
    """``os`` up to a step; there it refuses once (``code``), or the process dies and no later call has an effect."""

    def __init__(self, step: int, code: int | None = None) -> None:
        self._left = step
        self._code = code
        self.failed = False

    def open(self, path: str, flags: int, mode: int = 0o777, /) -> int:
        self._step()
        return os.open(path, flags, mode)

    def write(self, handle: int, content: bytes, /) -> int:
        try:
            self._step()
        except BaseException:
            os.write(handle, content[: len(content) // 2])
            raise
        return os.write(handle, content[:-1] or content)  # a system may write less than it was given

    def close(self, handle: int, /) -> None:
        os.close(handle)

    def replace(self, source: str, target: str, /) -> None:
        self._step()
        os.replace(source, target)

    def unlink(self, path: str, /) -> None:
        self._step()
        os.unlink(path)

    def mkdir(self, path: str, mode: int = 0o777, /) -> None:
        self._step()
        os.mkdir(path, mode)

    def rmdir(self, path: str, /) -> None:
        self._step()
        os.rmdir(path)

    def _step(self) -> None:
        self._left -= 1
        if self._left > 0 or (self.failed and self._code is not None):
            return
        self.failed = True
        if self._code is None:
            raise Death
        raise OSError(self._code, os.strerror(self._code))


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(state: str) -> plan.Plan:
    files = [
        OutputFile(f"default.{name}.yaml", text.encode(), frozenset((Part("in.yaml", f"default/{name}"),)))
        for name, text in sorted(STATES[state].items())
    ]
    lock = "".join(f"default/{name} 30001\n" for name in STATES[state])
    read = Path(LOCK).read_bytes() if os.path.exists(LOCK) else None
    target = Target("out", os.getcwd(), frozenset([os.getcwd()]), lock_path=LOCK, lock_text=lock)
    return plan.make(target._replace(lock_read=read), files)


def render(state: str, system: write.System = os) -> None:
    result = planned(state)
    assert result.findings == ()
    assert plan.refusals(result) == []
    write.apply(result, system=system)


def dies(state: str, step: int) -> bool:
    """Render, dying at the step; whether there was such a step."""
    system = FailingSystem(step)
    try:
        render(state, system)
    except Death:
        return True
    return system.failed


def snapshot() -> dict[str, str]:
    """All files, hidden ones too, with what they hold."""
    found = {}
    for folder, folders, names in os.walk("."):
        found.update({os.path.join(folder, name): "" for name in folders})
        found.update({os.path.join(folder, name): Path(folder, name).read_text() for name in names})
    return found


def fresh(state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the state gives where nothing was before, beside the foreign file."""
    place = tmp_path / f"fresh-{state}"
    place.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(place)
        prepare()
        render("first")
        render(state)
        return snapshot()


def prepare() -> None:
    os.mkdir("out")
    Path("out/notes.yaml").write_text("foreign")
    Path("in.yaml").touch()


def without_empty_leftovers(files: dict[str, str]) -> dict[str, str]:
    """Without the index and the lock file when they say nothing: a first run that never was leaves none."""
    return {
        name: text
        for name, text in files.items()
        if not name.endswith((LOCK, index_file.NAME)) or "default" in text
    }


def fresh_folder(number: Iterator[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / f"run-{next(number)}"
    place.mkdir()
    monkeypatch.chdir(place)
    prepare()


@pytest.mark.parametrize("later", ["second", "third", "first", "none"])
def test_the_run_after_a_death_at_any_step_gives_the_final_state(
    later: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fresh(later, tmp_path, monkeypatch)
    numbers = count()
    for step in count(1):
        fresh_folder(numbers, tmp_path, monkeypatch)
        render("first")
        died = dies("second", step)
        render(later)
        assert snapshot() == expected, f"died at step {step}"
        if not died:
            break
    assert step > 20


@pytest.mark.parametrize("later", ["first", "second", "none"])
def test_a_death_in_the_very_first_run_is_healed(
    later: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fresh(later, tmp_path, monkeypatch)
    numbers = count()
    for step in count(1):
        fresh_folder(numbers, tmp_path, monkeypatch)
        died = dies("first", step)
        render(later)
        assert without_empty_leftovers(snapshot()) == without_empty_leftovers(expected), (
            f"died at step {step}"
        )
        if not died:
            break
    assert step > 15


def test_a_second_death_at_any_step_is_healed_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fresh("first", tmp_path, monkeypatch)
    numbers = count()
    for first in range(12, 40, 3):
        for second in range(4, 45, 3):
            fresh_folder(numbers, tmp_path, monkeypatch)
            render("first")
            dies("second", first)
            dies("third", second)
            render("first")
            assert snapshot() == expected, f"died at steps {first} and {second}"


def test_after_a_death_check_says_that_something_is_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count()
    for step in count(1):
        fresh_folder(numbers, tmp_path, monkeypatch)
        render("first")
        died = dies("second", step)
        wanted = planned("second")
        assert bool(check.drifts(wanted)) == (not wanted.is_clean)
        assert check.drifts(wanted) or snapshot()["./out/.sedna-render.index"] == wanted.index_after.decode()  # type: ignore[union-attr]
        if not died:
            break


def test_an_edit_made_after_a_death_is_never_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    for step in count(1):
        died = False
        for name in "abc":
            fresh_folder(numbers, tmp_path, monkeypatch)
            render("first")
            died = dies("second", step)
            path = Path(f"out/default.{name}.yaml")
            if not path.exists():
                continue
            path.write_text(EDIT)
            result = planned("third")
            assert plan.refusals(result), f"died at step {step}, {name} edited"
            assert path.read_text() == EDIT
        if not died:
            break


def refusal(state: str, system: FailingSystem) -> str:
    """What the error of a refused run says; "" when there was none: a refused clean-up is no error."""
    try:
        render(state, system)
    except WriteError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO], ids=errno.errorcode.get)
def test_a_refusal_at_any_step_is_an_error_that_says_what_is_left(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fresh("second", tmp_path, monkeypatch)
    numbers = count()
    messages = set()
    for step in count(1):
        fresh_folder(numbers, tmp_path, monkeypatch)
        render("first")
        before = snapshot()
        system = FailingSystem(step, code)
        message = refusal("second", system)
        if message:
            messages.add(message)
            assert not [name for name in snapshot() if plan.STAGING in name]
            assert os.strerror(code) in message
            assert "run the command again" in message or snapshot() == before
        render("second")
        assert snapshot() == expected, f"refused at step {step}"
        if not system.failed:
            break
    assert {"nothing was changed" in message for message in messages} == {True, False}


def test_a_full_disk_leaves_no_new_folder() -> None:
    Path("in.yaml").touch()
    before = snapshot()
    for step in range(1, 12):
        with pytest.raises(WriteError, match="nothing was changed"):
            render("first", FailingSystem(step, errno.ENOSPC))
        assert snapshot() == before


def test_the_index_of_an_interrupted_run_stands_beside_the_old_one_until_the_end() -> None:
    prepare()
    render("first")
    seen = set()
    for step in range(1, 60):
        dies("second", step)
        if os.path.exists(f"out/{plan.JOURNAL}"):
            text = Path(f"out/{plan.JOURNAL}").read_text()
            assert index_file.parse(text, "x")[1] == []
            seen.add(text)
    assert seen
