"""The lock file of a repository: where it belongs, what it says, and where an older one was left behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sedna_render import load, node_ports, walk
from sedna_render.findings import ERROR, WARNING, Finding, Location
from sedna_render.settings import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sedna_render.project import Project
    from sedna_render.yaml_reader import Source


def path_of(found: Project, output: str) -> str:
    """Beside the configuration, else in the output folder; "" when there is neither."""
    if found.source is not None:
        return os.path.join(os.path.dirname(found.source.name), node_ports.LOCK_FILE)
    return os.path.join(output, node_ports.LOCK_FILE) if output else ""


def misplaced(found: Project, output: str, sources: Sequence[Source]) -> list[Finding]:
    """A lock file where an earlier configuration had it: without it every service would get a new number."""
    lock_path = path_of(found, output)
    if not lock_path or os.path.lexists(lock_path):
        return []
    folders = {*filter(None, [output]), *(os.path.dirname(source.name) for source in sources)}
    places = {os.path.normpath(os.path.join(folder, node_ports.LOCK_FILE)) for folder in folders}
    misplaced = sorted(place for place in places if os.path.lexists(place) and not _has_configuration(place))
    if not misplaced:
        return []
    wanted = os.path.normpath(lock_path)
    where = "beside the configuration" if found.is_anchored else "in the output folder"
    message = "the NodePort numbers are recorded here, but the lock file belongs {}: {}"
    message = message.format(where, walk.printable(wanted))
    remedy = _move(misplaced[0], wanted) if len(misplaced) == 1 else _join(len(misplaced), wanted)
    severity = ERROR if output else WARNING  # what is only shown loses no number
    return [
        Finding("misplaced-lock-file", severity, Location(walk.printable(place)), "", "", message, remedy)
        for place in misplaced
    ]


def _has_configuration(lock_path: str) -> bool:
    """Whether a configuration lies beside the lock file, which then is that one's: it is where it belongs."""
    return os.path.lexists(os.path.join(os.path.dirname(lock_path), FILE_NAME))


def _move(place: str, wanted: str) -> str:
    import shlex  # noqa: PLC0415 - only when a lock file is misplaced

    folder = os.path.dirname(wanted) or "."
    first = "" if os.path.isdir(folder) else f"mkdir -p {shlex.quote(folder)} && "
    return walk.printable(f"move it: {first}git mv {shlex.quote(place)} {shlex.quote(wanted)}")


def _join(number: int, wanted: str) -> str:
    return f"join the lines of these {number} lock files into one, {walk.printable(wanted)}, and remove them"


def read(path: str) -> tuple[bytes | None, dict[str, int], list[Finding]]:
    """The lock file as it is, what it says, and what is wrong with it."""
    if not path or not os.path.lexists(path):
        return None, {}, []
    source = load.read_file(path)
    if isinstance(source, Finding):
        return None, {}, [source]
    return source.content, *node_ports.parse_lock(source.content.decode("utf-8", "replace"), path)
