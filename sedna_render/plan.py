"""Compares an output folder with what would be written, and decides what is to be done. Reads, changes nothing.

``write`` carries a plan out, ``check`` reports it: both see the same folder with the same eyes.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sedna_render import folder as folders
from sedna_render import index_file, output, walk
from sedna_render.findings import ERROR, Finding, Location
from sedna_render.index_file import Entry, Index, Part
from sedna_render.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sedna_render.output import OutputFile

#: What making and carrying out a plan raises when the file system refuses.
WriteError = folders.WriteError

MISSING = "missing"
CHANGED = "changed"
ORPHANED = "orphaned"
HAND_EDITED = "hand-edited"
FOREIGN = "foreign-file"

#: The index as it will be, while files are being replaced: what is in either is ours.
JOURNAL = index_file.NAME + ".next"
CONFLICT_MARK = b"\n<<<<<<< "
#: Start of the names of the hidden folders in which files are staged.
STAGING = ".sedna-render.tmp-"


class Target(NamedTuple):
    """Where the output goes, and which part of the project this run is about."""

    #: The output folder as the user gave it.
    folder: str
    #: ``Project.root``: absolute, what sources are relative to.
    root: str
    #: ``Project.covers(...)`` of the PATH arguments and of the names of the files read.
    covers: frozenset[str]
    #: ``Project.is_anchored``: whether the root is a configuration's folder rather than the current one.
    anchored: bool = False
    #: Whether a kustomization.yaml that lists the files is wanted; None when it is to stay as it is: there or not.
    kustomization: bool | None = None
    #: The lock file, which may lie elsewhere; "" for none.
    lock_path: str = ""
    lock_text: str = ""
    #: The lock file as it was when the numbers were decided; None when there was none.
    lock_read: bytes | None = None


class Change(NamedTuple):
    """A file that is not as it should be; ``content`` is what it should hold, None when it should not be there."""

    kind: str
    path: str
    parts: frozenset[Part]
    content: bytes | None


class Plan(NamedTuple):
    """What separates the folder from what it should be."""

    target: Target
    #: The folder's real path; it may not exist yet.
    folder: str
    changes: tuple[Change, ...]
    #: Why this output cannot be written as asked for; not about hand-edited or foreign files, see ``refusals``.
    findings: tuple[Finding, ...]
    index_before: bytes | None
    index_after: bytes | None
    #: After an interrupted run: all that was known before, to become the index before anything else is done.
    healed_index: bytes | None
    #: Paths of what interrupted runs have staged and left.
    stale: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing would be written."""
        return not (self.changes or self.index_differs or self.lock_differs)

    @property
    def index_differs(self) -> bool:
        return self.healed_index is not None or not same(self.index_before, self.index_after)

    @property
    def lock_differs(self) -> bool:
        if not self.target.lock_path or (self.target.lock_read is None and not self.target.lock_text):
            return False
        return not same(self.target.lock_read, self.target.lock_text.encode())


def same(first: bytes | None, second: bytes | None) -> bool:
    """Whether two contents are one to git: line ends do not count, a missing file is only like a missing one."""
    if first is None or second is None:
        return first is second
    return first == second or index_file.fold(first) == index_file.fold(second)


def make(target: Target, files: Sequence[OutputFile]) -> Plan:
    """Compare the folder with the files (sorted by name). Raises WriteError when the folder cannot be read."""
    folder = os.path.realpath(target.folder)
    listing = folders.listing(folder, target.folder)
    records = _records(target, folder)
    known = records.known
    ownership = _ownership(target, folder, known, {part.service for file in files for part in file.parts})
    fates = _sort_out(target, {file.path for file in files}, known, ownership)
    wanted = list(files)
    if _wants_kustomization(target, known):
        wanted.append(output.kustomization_file({*(file.path for file in files), *fates.kept}))
    differences = _differences(wanted, known, listing, folder)
    orphans = _orphans(fates.orphans, known, listing, folder)
    after = Index(_entries_after(wanted, fates.kept, ownership), _root_from(folder, target.root))
    return Plan(
        target=target,
        folder=folder,
        changes=tuple(sorted((*differences, *orphans), key=lambda change: change.path)),
        findings=(
            *_obstacles(target, folder, listing),
            *records.findings,
            *_collisions(files),
            *fates.findings,
        ),
        index_before=records.stored,
        index_after=index_file.text(after).encode() if after.entries or records.exist else None,
        healed_index=records.healed,
        stale=_stale(folder, listing, target.lock_path),
    )


def gone_services(target: Target, services: Collection[str]) -> frozenset[str]:
    """The services that the index knows, that this run answers for, and that are not among its ``services``.

    None of them when the folder cannot be read: ``make`` raises that.
    """
    folder = os.path.realpath(target.folder)
    try:
        known = _records(target, folder).known
    except WriteError:
        return frozenset()
    ownership = _ownership(target, folder, known, services)
    parts = {part for entry in known.entries.values() for part in entry.parts if part.service not in services}
    return frozenset(part.service for part in parts if ownership.answers_for(part))


def format_of(target: Target) -> str:
    """The format of what the folder holds by its index; "" when there is none yet, or a mixture."""
    known = _records(target, os.path.realpath(target.folder)).known
    endings = {path.rpartition(".")[2] for path, entry in known.entries.items() if entry.parts}
    return endings.pop() if len(endings) == 1 else ""


def refusals(plan: Plan, *, force: bool = False) -> list[Finding]:
    """Why nothing may be written: hand-edited files (unless forced), and foreign ones in the way (always)."""
    found = []
    for change in plan.changes:
        if change.kind == FOREIGN:
            message = "a file that sedna-render did not write is in the way"
            remedy = "move it elsewhere, or remove it when it is an old output whose index was lost"
        elif change.kind == HAND_EDITED and not force:
            fate = "removes" if change.content is None else "overwrites"
            message = "a generated file was edited by hand"
            if CONFLICT_MARK in (folders.read(plan.folder, change.path) or b""):
                message = "a generated file holds the marks of a merge conflict"
            remedy = f"make the change in its source and undo the edit; --force {fate} the file"
        else:
            continue
        place = Location(shown(plan.target, change.path))
        found.append(Finding(change.kind, ERROR, place, _subject(change.parts), "", message, remedy))
    return found


def staged_lock(lock_path: str) -> str:
    """Where a lock file is staged: beside its place, which may be on another file system than the output."""
    folder, name = os.path.split(os.path.realpath(lock_path))
    return os.path.join(folder, STAGING + name)


def _stale(folder: str, listing: Iterable[str], lock_path: str) -> tuple[str, ...]:
    found = {f"{folder}/{name}" for name in listing if name.startswith(STAGING)}
    if lock_path and os.path.lexists(staged_lock(lock_path)):
        found.add(staged_lock(lock_path))
    return tuple(sorted(found))


def shown(target: Target, path: str) -> str:
    """The name of a file of the output folder as messages have it."""
    return walk.printable(walk.shown(f"{target.folder}/{path}"))


def _subject(parts: Iterable[Part]) -> str:
    """The service that a file is about; "" when it is about several or none."""
    services = {part.service for part in parts}
    return f"JointInferenceService {services.pop()}" if len(services) == 1 else ""


def _ownership(target: Target, folder: str, known: Index, rendered: Collection[str]) -> Ownership:
    return Ownership(
        root=target.root,
        covers=target.covers,
        index_root=os.path.normpath(os.path.join(folder, known.root)) if known.root else "",
        anchored=target.anchored,
        rendered=rendered,
    )


def _wants_kustomization(target: Target, known: Index) -> bool:
    return output.KUSTOMIZATION in known.entries if target.kustomization is None else target.kustomization


def _root_from(folder: str, root: str) -> str:
    """The way from the output folder to the root, only where it says nothing about this machine: within the root."""
    return os.path.relpath(root, folder) if f"{folder}/".startswith(f"{root.rstrip('/')}/") else ""


class _Fates(NamedTuple):
    """What becomes of the files that the index knows and that are not simply rendered again."""

    kept: dict[str, Entry]
    orphans: list[str]
    findings: list[Finding]


def _sort_out(target: Target, rendered: set[str], known: Index, ownership: Ownership) -> _Fates:
    fates = _Fates({}, [], [])
    for path, entry in known.entries.items():
        others = sorted(part for part in entry.parts if not ownership.answers_for(part))
        if not others:
            is_wanted = path in rendered or (
                path == output.KUSTOMIZATION and _wants_kustomization(target, known)
            )
            if not is_wanted:
                fates.orphans.append(path)
        elif path not in rendered and len(others) == len(entry.parts):
            fates.kept[path] = entry
        else:
            fates.findings.append(_other_parts(shown(target, path), others))
    return fates


def _other_parts(name: str, others: Sequence[Part]) -> Finding:
    first = f"{others[0].service} ({walk.printable(others[0].source) or 'standard input'})"
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    message = f"it also holds services of inputs that were not given now: {first}{more}"
    remedy = "render all inputs of the folder together, or use the layout `service`, which can be rendered in parts"
    return Finding("partial-render", ERROR, Location(name), "", "", message, remedy)


def _obstacles(target: Target, folder: str, listing: Mapping[str, bool]) -> list[Finding]:
    """What lies where the index and its journal go and is no file: neither could be read, or be put there."""
    message = "a folder, a link or a pipe is in the way: sedna-render keeps a file of its own here"
    return [
        Finding(
            FOREIGN, ERROR, Location(shown(target, name)), "", "", message, "move it elsewhere, or remove it"
        )
        for name in (index_file.NAME, JOURNAL)
        if name in listing and not folders.is_plain(folder, name)
    ]


def _collisions(files: Sequence[OutputFile]) -> list[Finding]:
    """Two services that ask for one file."""
    found = []
    for first, second in pairwise(files):
        if first.path == second.path:
            services = " and ".join(sorted({part.service for part in first.parts | second.parts}))
            source = min(part.source for part in second.parts) or walk.STDIN_NAME
            message = f"two objects ask for the output file {first.path}: {services}"
            found.append(
                Finding("name-collision", ERROR, Location(source), "", "", message, "rename one of them")
            )
    return found


def _differences(
    wanted: Iterable[OutputFile], known: Index, listing: Mapping[str, bool], folder: str
) -> Iterator[Change]:
    for file in wanted:
        present = folders.read(folder, file.path) if file.path in listing else b""
        if file.path not in listing:
            kind = MISSING
        elif present is None or (listing[file.path] and not same(present, file.content)):
            kind = FOREIGN  # a folder, a pipe, or a link, which its owner does not want replaced
        elif same(present, file.content):
            continue
        else:
            kind = _kind(present, known.entries.get(file.path))
        yield Change(kind, file.path, file.parts, file.content)


def _orphans(
    paths: Iterable[str], known: Index, listing: Mapping[str, bool], folder: str
) -> Iterator[Change]:
    for path in paths:
        if path in listing:
            present = folders.read(folder, path)
            entry = known.entries[path]
            ours = present is not None and not listing[path] and _kind(present, entry) == CHANGED
            yield Change(ORPHANED if ours else HAND_EDITED, path, entry.parts, None)


def _kind(present: bytes, entry: Entry | None) -> str:
    if entry is None:
        return FOREIGN
    if index_file.digest(present) in entry.digests or not present.strip(b"\0 \t\r\n"):
        return CHANGED  # an empty file is one that a power failure left: there is no edit to lose
    return HAND_EDITED


def _entries_after(
    wanted: Iterable[OutputFile], kept: Mapping[str, Entry], ownership: Ownership
) -> dict[str, Entry]:
    entries = {
        path: Entry(entry.digests, frozenset(map(ownership.moved, entry.parts)))
        for path, entry in kept.items()
    }
    for file in wanted:
        entries[file.path] = Entry(frozenset((index_file.digest(file.content),)), file.parts)
    return entries


class _Records(NamedTuple):
    """What the folder's index says, and its journal, when a run was interrupted."""

    stored: bytes | None
    known: Index
    healed: bytes | None
    findings: list[Finding]

    @property
    def exist(self) -> bool:
        return self.stored is not None or self.healed is not None


def _records(target: Target, folder: str) -> _Records:
    """Read the index; with a journal, both are read, and joined to a healed index."""
    index, journal = folders.read(folder, index_file.NAME), folders.read(folder, JOURNAL)
    known, findings = index_file.parse(_text(index), shown(target, index_file.NAME))
    if journal is None:
        return _Records(index, known, None, findings)
    planned, more = index_file.parse(_text(journal), shown(target, JOURNAL))
    known = index_file.merge(known, planned)
    return _Records(index, known, index_file.text(known).encode(), findings + more)


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")
