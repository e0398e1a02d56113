"""What a field that no schema knows was meant to be: a misspelt neighbour, or one that belongs elsewhere.

Pure; reached only when something is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_render.schema.closures import Node, child, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sedna_render.findings import Path

#: Likeness (of difflib) above which a neighbour is meant whatever other objects have a field of that very name.
_SURE = 0.85
_LIKELY = 0.6
_LONGEST = 80


class Guess(NamedTuple):
    """The field that was meant, and where it belongs."""

    path: Path

    @property
    def name(self) -> str:
        """The field's name."""
        return str(self.path[-1])


def node_at(top: Node, path: Path) -> Node | None:
    """The schema of the value at a path; None where the schema knows none."""
    node: Node | None = top
    for step in path:
        if node is None:
            return None
        node = child(node, step)
    return node


def fields_at(top: Node, path: Path) -> tuple[str, ...]:
    """The names of the fields of the object at a path."""
    node = node_at(top, path)
    return tuple(node.schema.get("properties", ())) if node else ()


def guess(top: Node, path: Path) -> Guess | None:
    """What the unknown field at `path` was meant to be; None when nothing is near."""
    name = str(path[-1])
    parent = path[:-1]
    neighbours = fields_at(top, parent)
    alike = [known for known in neighbours if _folded(known) == _folded(name)]
    if len(alike) == 1:
        return Guess((*parent, alike[0]))
    close, likeness = _closest(name, neighbours)
    if likeness >= _SURE:
        return Guess((*parent, close))
    homes = _homes(top, parent, name)
    if homes:
        return Guess((*homes[0], name)) if len(homes) == 1 else None
    return Guess((*parent, close)) if likeness >= _LIKELY else None


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _closest(name: str, known: tuple[str, ...]) -> tuple[str, float]:
    """The known name most like `name`, and how like it is."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only when an error is being worded

    best, likeness = "", 0.0
    if len(name) > _LONGEST:
        return best, likeness
    matcher = SequenceMatcher(b=name.lower())
    for other in sorted(known):
        matcher.set_seq1(other.lower())
        if matcher.ratio() > likeness:
            best, likeness = other, matcher.ratio()
    return best, likeness


def _homes(top: Node, parent: Path, name: str) -> list[Path]:
    """The objects near `parent` that have a field of that very name: above it, else below it, else beside it."""
    above = [parent[:end] for end in range(len(parent) - 1, -1, -1)]
    outer = [place for place in above if name in fields_at(top, place)]
    if outer and name != "name":  # nearly everything has a name
        return outer[:1]
    inner = [place for place in _below(top, parent, 2) if name in fields_at(top, place)]
    if inner:
        shortest = min(map(len, inner))
        return [place for place in inner if len(place) == shortest]
    beside = (
        [place for place in _below(top, parent[:-1], 1) if name in fields_at(top, place)] if parent else []
    )
    return [] if name == "name" else beside


def _below(top: Node, place: Path, depth: int) -> Iterator[Path]:
    """The objects (not in lists) up to `depth` fields below a place."""
    node = node_at(top, place)
    if node is None or depth == 0:
        return
    for name, sub in node.schema.get("properties", {}).items():
        if "properties" in resolve(Node(sub, node.file)).schema:
            yield (*place, name)
            yield from _below(top, (*place, name), depth - 1)
