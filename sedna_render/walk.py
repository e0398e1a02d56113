"""Which files the PATH arguments name: folders, globs and symbolic links resolved, each file once.

Lists folders; opens no file. The result depends on what is on the disk, never on the order of the arguments.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from sedna_render.findings import ERROR, WARNING, Finding, Location

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

#: Ends of the names that are read when a folder or a glob is given; a file that is named itself may end as it likes.
SUFFIXES = (".yaml", ".yml", ".json")
#: The PATH argument that stands for standard input.
STDIN = "-"
#: How standard input is called in messages.
STDIN_NAME = "<stdin>"

_MAGIC = re.compile(r"[*?[]")
#: What cannot be shown on one line of a terminal, or not be written as UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Found(NamedTuple):
    """A file to read: the name people know it by, and the path that opens it."""

    name: str
    real: str


def shown(path: str) -> str:
    """The path as it is shown: POSIX, without ``./``, doubled or trailing slashes; ``..`` stays, links may hide in it."""
    steps = [step for step in path.split("/") if step not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(steps) or "."


def printable(name: str) -> str:
    """The name with everything escaped that would break a line or an encoding."""
    return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], name)


def find(paths: Sequence[str], skip_folders: Collection[str] = ()) -> tuple[list[Found], list[Finding]]:
    """The files that the paths lead to, sorted by name; ``-`` is passed over.

    Hidden files and folders, and the ``skip_folders`` (the output's), are left out unless a path names them.
    """
    search = _Search(frozenset(os.path.realpath(folder) for folder in skip_folders))
    names = {path for path in paths if path != STDIN}
    # Real folders first: where a link leads to the same files, they keep their real names.
    for path in sorted(names, key=lambda path: (os.path.islink(path.rstrip("/")), path)):
        search.add(path)
    search.follow_links()
    return search.result(), search.findings


class _Search:
    """The files found so far, by their real paths."""

    def __init__(self, skip: frozenset[str]) -> None:
        self.findings: list[Finding] = []
        self._skip = skip
        self._names: dict[str, tuple[bool, str]] = {}
        self._walked: set[str] = set()
        self._linked_folders: list[tuple[str, str]] = []

    def result(self) -> list[Found]:
        return sorted(Found(name, real) for real, (_, name) in self._names.items())

    def add(self, path: str) -> None:
        """One PATH argument: a file, a folder, or a glob."""
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            if _MAGIC.search(path):
                self._add_glob(path)
            else:
                self._report_missing(path, error)
            return
        real, linked = os.path.realpath(path), os.path.islink(path.rstrip("/"))
        if self._skipped(real):
            message = "it lies in the folder of the output (or of the templates), which is not read"
            remedy = "give the file or folder of the services, or another -o folder"
            self._report("input-in-output", shown(path), message, remedy)
        elif stat.S_ISDIR(mode):
            self._add_folder(shown(path), real, linked=linked)
        else:
            self._add_file(shown(path), real, linked=linked, regular=stat.S_ISREG(mode))

    def follow_links(self) -> None:
        """Walk the folders that only links lead to; each real folder once, so loops end."""
        while self._linked_folders:
            waiting, self._linked_folders = sorted(self._linked_folders), []
            for name, real in waiting:
                if not self._skipped(real):
                    self._walk(name, real, linked=True)

    def _skipped(self, real: str) -> bool:
        return any(real == folder or real.startswith(folder + "/") for folder in self._skip)

    def _add_folder(self, name: str, real: str, *, linked: bool) -> None:
        if not self._walk(name, real, linked=linked):
            message = f"the folder holds no file that ends in {', '.join(SUFFIXES)}"
            remedy = "name the folder that holds the services; hidden files and folders are passed over"
            self._report("no-input", name, message, remedy, severity=WARNING)

    def _add_glob(self, pattern: str) -> None:
        matches = sorted(set(_expand(pattern, self._skip)))
        taken = [path for path in matches if os.path.isdir(path) or path.endswith(SUFFIXES)]
        for path in taken:
            self.add(path)
        if not taken:
            ends = ", ".join(SUFFIXES)
            message = (
                "the pattern matches nothing"
                if not matches
                else f"the pattern matches no file that ends in {ends}"
            )
            remedy = "`*` matches within one folder, `**` any depth of folders; hidden files must be named"
            self._report("no-input", shown(pattern), message, remedy)

    def _walk(self, name: str, real: str, *, linked: bool) -> bool:
        """Take the files of a folder and of all below it; whether there was any (or a link that may lead to one)."""
        before = len(self._names) + len(self._linked_folders)
        known = real in self._walked
        waiting = [(name, real)]
        while waiting:
            folder_name, folder = waiting.pop()
            if folder not in self._walked:
                self._walked.add(folder)
                waiting.extend(self._list(folder_name, folder, linked=linked))
        return known or len(self._names) + len(self._linked_folders) > before

    def _list(self, name: str, real: str, *, linked: bool) -> Iterator[tuple[str, str]]:
        """Take the files of one folder; yields the folders in it."""
        shown_prefix = "" if name == "." else name.rstrip("/") + "/"
        prefix = real.rstrip("/") + "/"
        try:
            with os.scandir(real) as listing:
                entries = list(listing)
        except OSError as error:
            self._report_unreadable(name, error)
            return
        for entry in entries:
            base = entry.name
            if base[0] == ".":
                continue
            if entry.is_symlink():
                self._add_link(shown_prefix + base, prefix + base)
            elif entry.is_dir():
                if prefix + base not in self._skip:
                    yield shown_prefix + base, prefix + base
            elif base.endswith(SUFFIXES):
                self._add_file(shown_prefix + base, prefix + base, linked=linked, regular=entry.is_file())

    def _add_link(self, name: str, path: str) -> None:
        real = os.path.realpath(path)
        if os.path.isdir(real):
            self._linked_folders.append((name, real))
        elif name.endswith(SUFFIXES):
            if os.path.exists(real):
                self._add_file(name, real, linked=True, regular=os.path.isfile(real))
            else:
                self._report(
                    "no-such-file",
                    name,
                    "a symbolic link that leads nowhere",
                    "remove it, or mend its target",
                )

    def _add_file(self, name: str, real: str, *, linked: bool, regular: bool) -> None:
        if not regular:
            remedy = "give a regular file; to read from a pipe, give `-` and redirect standard input"
            self._report("unreadable-file", name, "neither a file nor a folder", remedy)
        elif not name.isprintable() and _UNPRINTABLE.search(name):
            message = "the name holds a control character, or bytes that are not UTF-8"
            self._report("invalid-name", name, message, "rename the file")
        else:
            known = self._names.get(real)
            if known is None or (linked, name) < known:
                self._names[real] = (linked, name)

    def _report_missing(self, path: str, error: OSError | ValueError) -> None:
        if isinstance(error, OSError) and not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self._report_unreadable(shown(path), error)
            return
        message = "there is no such file or folder" if path else "the path is empty"
        self._report(
            "no-such-file",
            shown(path) if path else "''",
            message,
            "check the spelling and the current folder",
        )

    def _report_unreadable(self, name: str, error: OSError) -> None:
        self._report("unreadable-file", name, f"cannot be read: {error.strerror}", "check its permissions")

    def _report(self, rule: str, name: str, message: str, remedy: str, severity: str = ERROR) -> None:
        self.findings.append(Finding(rule, severity, Location(printable(name)), "", "", message, remedy))


def _expand(pattern: str, skip: frozenset[str]) -> Iterator[str]:
    """The paths that a glob matches. Own code, as ``glob.glob`` follows symbolic links in ``**`` round and round."""
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    done: set[tuple[str, int]] = set()
    waiting = [("/" if pattern.startswith("/") else "", 0)]
    while waiting:
        folder, index = waiting.pop()
        if (folder, index) in done:
            continue
        done.add((folder, index))
        if index == len(steps):
            yield folder or "."
        elif os.path.realpath(folder) not in skip:
            waiting.extend(_next_steps(folder, steps, index))


def _next_steps(folder: str, steps: Sequence[str], index: int) -> Iterable[tuple[str, int]]:
    """Where one step of a pattern leads: ``(path, index of the step that follows)``."""
    step = steps[index]
    prefix = folder if folder in ("", "/") else folder + "/"
    if step == "**":
        below = [(prefix + entry.name, index) for entry in _entries(folder) if _is_plain_folder(entry)]
        return [(folder, index + 1), *below]
    if not _MAGIC.search(step):
        return [(prefix + step, index + 1)] if os.path.lexists(prefix + step) else []
    import fnmatch  # noqa: PLC0415 - only when a glob is given

    matches = re.compile(fnmatch.translate(step)).match
    hidden = step.startswith(".")
    return [
        (prefix + entry.name, index + 1)
        for entry in _entries(folder)
        if (hidden or entry.name[0] != ".") and matches(entry.name)
    ]


def _is_plain_folder(entry: os.DirEntry[str]) -> bool:
    return entry.name[0] != "." and entry.is_dir(follow_symlinks=False)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What a folder holds; nothing when it is none or may not be listed, as a shell has it."""
    try:
        with os.scandir(folder or ".") as listing:
            return list(listing)
    except OSError:
        return []
