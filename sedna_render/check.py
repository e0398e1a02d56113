"""Drift: is the committed output what would be rendered? Words a plan as what a reviewer needs. Changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_render import folder, index_file, walk
from sedna_render import plan as plans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sedna_render.plan import Change, Plan

INDEX = "index"
LOCK = "lock"

_DETAILS = {
    plans.MISSING: "would be written, but is not there",
    plans.CHANGED: "is not what the inputs give now",
    plans.ORPHANED: "is no part of the output any more",
    plans.HAND_EDITED: "was edited by hand",
    plans.FOREIGN: "was not written by sedna-render, and is in the way",
}


class Drift(NamedTuple):
    """One file that is not what would be rendered, and the service that it is about."""

    kind: str
    #: As it is shown: the folder as given, and the name.
    path: str
    #: ``namespace/name``; "" for a file about several services.
    service: str
    #: The service's file, relative to the project's root; "" when unknown, several, or standard input.
    source: str
    detail: str
    #: The change behind it; None for the index and the lock file.
    change: Change | None = None


def drifts(plan: Plan) -> list[Drift]:
    """What differs, sorted by path, the lock file and the index last. Empty exactly when render would write nothing."""
    found = [_drift(plan, change) for change in plan.changes]
    if plan.lock_differs:
        found += _lock_drifts(plan)
    if plan.index_differs and not found:
        kind = plans.MISSING if plan.index_before is None else plans.CHANGED
        found.append(
            Drift(kind, plans.shown(plan.target, index_file.NAME), "", "", "the index is out of date")
        )
    return found


def difference(plan: Plan, drift: Drift) -> str:
    """The unified diff from what is there to what would be rendered; "" when there is nothing to show."""
    if drift.change is None:
        return ""
    present = folder.read(plan.folder, drift.change.path)
    before = _lines(present)
    after = _lines(drift.change.content)
    import difflib  # noqa: PLC0415 - only when a difference is shown

    return "".join(
        difflib.unified_diff(
            before,
            after,
            "/dev/null" if present is None else drift.path,
            "/dev/null" if drift.change.content is None else drift.path,
        )
    )


def _lines(content: bytes | None) -> list[str]:
    """Lines that all end, so that a diff of them reads well."""
    text = index_file.fold(content or b"").decode("utf-8", "replace")
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _drift(plan: Plan, change: Change) -> Drift:
    services = sorted({part.service for part in change.parts})
    sources = sorted({part.source for part in change.parts})
    detail = _DETAILS[change.kind]
    if len(services) > 1:
        detail += f" (holds {len(services)} services)"
    return Drift(
        change.kind,
        plans.shown(plan.target, change.path),
        services[0] if len(services) == 1 else "",
        sources[0] if len(sources) == 1 else "",
        detail,
        change,
    )


def _lock_drifts(plan: Plan) -> Iterator[Drift]:
    """A drift for each line of the lock file that render would add or take out."""
    if plan.target.lock_read is None:
        path = walk.printable(walk.shown(plan.target.lock_path))
        yield Drift(plans.MISSING, path, "", "", _DETAILS[plans.MISSING])
        return
    before = set(_lines(plan.target.lock_read))
    after = set(_lines(plan.target.lock_text.encode()))
    path = walk.printable(walk.shown(plan.target.lock_path))
    wording = {True: "lacks the line: {}", False: "has a line too many: {}"}
    changed = sorted((line.strip(), line in after) for line in before ^ after)
    for line, added in changed:
        service = line.split(" ", 1)[0] if not line.startswith("#") else ""
        yield Drift(LOCK, path, service, "", wording[added].format(line))
    if not changed:
        yield Drift(LOCK, path, "", "", "render -o would put its lines in order")
