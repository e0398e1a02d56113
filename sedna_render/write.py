"""Carries out a plan: all or nothing as far as a file system allows, and healed by the next run beyond that.

Files are staged in a hidden folder beside their places, then renamed. Before the first rename the new index stands
as a journal beside the old one, so that after a crash every file is known by one of them; renaming it is the last step.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sedna_render import index_file, walk
from sedna_render.folder import WriteError, read, reason
from sedna_render.plan import JOURNAL, STAGING, Plan, refusals, staged_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE = 0o666  # less the umask, as any program does


class System(Protocol):
    """The calls that change the disk; ``os``, or what a test puts in its place."""

    def open(self, path: str, flags: int, mode: int = ..., /) -> int: ...
    def write(self, handle: int, content: bytes, /) -> int: ...
    def close(self, handle: int, /) -> None: ...
    def replace(self, source: str, target: str, /) -> None: ...
    def unlink(self, path: str, /) -> None: ...
    def mkdir(self, path: str, mode: int = ..., /) -> None: ...
    def rmdir(self, path: str, /) -> None: ...


class Written(NamedTuple):
    """How many files were written and removed; the index and the lock file are not counted."""

    written: int
    removed: int


def apply(plan: Plan, *, force: bool = False, system: System = os) -> Written:
    """Make the folder what the plan says. Files that are right already are not touched.

    Raises WriteError when the file system refuses. A plan with findings or refusals is a mistake of the caller.
    """
    if plan.findings or refusals(plan, force=force):
        raise ValueError("a plan that was refused cannot be carried out")
    if plan.is_clean and not plan.stale:
        return Written(0, 0)
    made = _make_folder(plan.folder, system)
    try:
        with _Exclusive(plan):
            _carry_out(plan, system)
    except BaseException:
        _remove_empty(made, system)
        raise
    removed = sum(change.content is None for change in plan.changes)
    return Written(len(plan.changes) - removed, removed)


def _carry_out(plan: Plan, system: System) -> None:
    staging = f"{plan.folder}/{STAGING}{os.getpid()}"
    lock = os.path.realpath(plan.target.lock_path) if plan.lock_differs else ""
    staged = staged_lock(lock) if lock else ""
    for path in plan.stale:
        _remove_staged(path, system)
    try:
        _stage(plan, staging, staged, system)
        _put_in_place(plan, staging, (staged, lock), system)
    finally:
        _remove_staged(staging, system)
        if staged:
            _remove_staged(staged, system)


def _stage(plan: Plan, staging: str, lock: str, system: System) -> None:
    """Write everything that is new beside its place; an error here has changed nothing."""
    path = staging
    try:
        system.mkdir(staging, 0o700)
        for change in plan.changes:
            if change.content is not None:
                path = f"{staging}/{change.path}"
                _write(path, change.content, system)
        for name, content in ((index_file.NAME, plan.healed_index), (JOURNAL, plan.index_after)):
            if content is not None:
                path = f"{staging}/{name}"
                _write(path, content, system)
        if lock:
            path = lock
            _write(path, plan.target.lock_text.encode(), system)
    except OSError as error:
        name = os.path.basename(path) if path != staging else plan.target.folder
        raise WriteError(
            f"{walk.printable(name)}: cannot be written: {reason(error)}; nothing was changed"
        ) from error


def _put_in_place(plan: Plan, staging: str, lock: tuple[str, str], system: System) -> None:
    """The renames, in the order that a crash between any two of them leaves nothing unknown."""
    folder = plan.folder
    journal, index = f"{folder}/{JOURNAL}", f"{folder}/{index_file.NAME}"
    done = 0
    path = index
    try:
        # What an earlier run was interrupted in stays known while its journal gives way to ours.
        if plan.healed_index is not None:
            system.replace(f"{staging}/{index_file.NAME}", index)
        if plan.index_after is not None:
            system.replace(f"{staging}/{JOURNAL}", journal)
        # Numbers are on record before a manifest uses them.
        if lock[0]:
            path = lock[1]
            system.replace(*lock)
        for change in plan.changes:
            path = f"{folder}/{change.path}"
            if change.content is None:
                system.unlink(path)
            else:
                system.replace(f"{staging}/{change.path}", path)
            done += 1
        path = index
        if plan.index_after is not None:
            system.replace(journal, index)
    except OSError as error:
        message = f"{walk.printable(path)}: cannot be replaced: {reason(error)}"
        state = f"{done} of {len(plan.changes)} files were written; run the command again to finish"
        raise WriteError(f"{message}; {state}") from error


def _write(path: str, content: bytes, system: System) -> None:
    handle = system.open(path, _CREATE_FLAGS, _FILE_MODE)
    try:
        written = system.write(handle, content)
        while written < len(content):
            written += system.write(handle, content[written:])
    finally:
        system.close(handle)


def _make_folder(folder: str, system: System) -> list[str]:
    """Create the folder and those above it; returns what was created, outermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    made: list[str] = []
    for path in missing:
        try:
            system.mkdir(path, 0o777)
        except FileExistsError:
            if not os.path.isdir(path):
                _remove_empty(made, system)
                raise WriteError(f"{walk.printable(path)}: is not a folder; nothing was changed") from None
        except OSError as error:
            _remove_empty(made, system)
            message = f"{walk.printable(path)}: cannot be created: {reason(error)}; nothing was changed"
            raise WriteError(message) from error
        made.append(path)
    return made


def _remove_empty(folders: Iterable[str], system: System) -> None:
    for folder in reversed(list(folders)):
        _quietly(system.rmdir, folder)


def _remove_staged(path: str, system: System) -> None:
    """Remove a staging folder and what it holds, or a staged file; a link's target is not ours."""
    if os.path.islink(path) or not os.path.isdir(path):
        _quietly(system.unlink, path)
        return
    for name in os.listdir(path):
        _quietly(system.unlink, f"{path}/{name}")
    _quietly(system.rmdir, path)


def _quietly(call: Callable[[str], None], path: str) -> None:
    """Clean up as far as possible: an error here must not hide the one that led to it."""
    with contextlib.suppress(OSError):
        call(path)


class _Exclusive:
    """One run at a time in a folder and at a lock file, and none on top of a plan that another has made stale."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._handles: list[int] = []

    def __enter__(self) -> None:
        try:
            # In one order for all runs: of two that need the same folders one gets through.
            for folder, name, shared in sorted(self._folders()):
                self._hold(folder, name, shared=shared)
            self._refuse_stale()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def _folders(self) -> Iterator[tuple[str, str, bool]]:
        """The folders to hold, how they are called, and whether other runs may hold them as well."""
        target = self._plan.target
        yield self._plan.folder, target.folder, False
        lock_folder = os.path.dirname(os.path.realpath(target.lock_path))
        if target.lock_path and lock_folder != self._plan.folder:
            yield lock_folder, target.lock_path, not self._plan.lock_differs

    def _hold(self, folder: str, name: str, *, shared: bool) -> None:
        import fcntl  # noqa: PLC0415 - only when something is written

        # Where the file system knows no such locks, what was read is still compared before anything is written.
        with contextlib.suppress(OSError):
            self._handles.append(os.open(folder, os.O_RDONLY | os.O_CLOEXEC))
            try:
                fcntl.flock(self._handles[-1], (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                message = "another sedna-render is writing to it; nothing was changed: run again"
                raise WriteError(f"{walk.printable(name)}: {message}") from None

    def _refuse_stale(self) -> None:
        target = self._plan.target
        if read(self._plan.folder, index_file.NAME) != self._plan.index_before:
            raise _stale(target.folder)
        path = target.lock_path
        if path and read(os.path.dirname(path) or ".", os.path.basename(path)) != target.lock_read:
            raise _stale(path)


def _stale(name: str) -> WriteError:
    shown = walk.printable(walk.shown(name))
    return WriteError(f"{shown}: another run wrote it meanwhile; nothing was changed: run again")
