"""Parsed data with marks in it, made ready to be filled with values again and again. Pure.

Serves a template that is parsed once and one that Jinja2 printed alike: what comes out is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sedna_render.findings import field_text

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from sedna_render.findings import Path

    Fill = Callable[[Sequence[Any]], Any]


class NestedValueError(ValueError):
    """A list or a mapping is printed inside other text, or anything inside the name of a field."""

    def __init__(self, path: Path, *, in_key: bool = False) -> None:
        super().__init__(field_text(path))
        self.path = path
        self.in_key = in_key


def mark_for(*texts: str) -> str:
    """A text that occurs in none of the texts and that YAML reads as part of a plain string.

    Of private-use characters: no filter that changes case can make it out of a value, or break it.
    """
    mark = "\ue000"
    while any(mark in text for text in texts):
        mark += "\ue000"
    return mark


def text_of(value: Any, path: Path) -> str:
    """A value as it stands inside other text. Raises NestedValueError for a list or a mapping."""
    if isinstance(value, dict | list):
        raise NestedValueError(path)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def skeleton(data: Any, marks: re.Pattern[str]) -> Fill:
    """A function from the printed values to the data in which each mark is replaced by its value.

    marks: matches a mark; its group is the index of the value. A null leaves its field out; in ``env`` a null leaves
    the whole entry out. The data given back may share parts between calls: it is not to be changed.

    Raises NestedValueError, here or when filling.
    """
    node = _node(data, marks, ())
    return node.fill if node is not None else _Constant({}).fill


class _Constant:
    """Data without a mark."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def fill(self, _values: Sequence[Any]) -> Any:
        return self.data


class _Value:
    """A mark that is the whole value of its field: the value keeps its type."""

    def __init__(self, index: int) -> None:
        self.index = index

    def fill(self, values: Sequence[Any]) -> Any:
        return values[self.index]


class _Text:
    """Text with marks in it."""

    def __init__(self, parts: Sequence[str], path: Path) -> None:
        self._parts = parts
        self._path = path

    def fill(self, values: Sequence[Any]) -> str:
        return "".join(
            part if position % 2 == 0 else text_of(values[int(part)], self._path)
            for position, part in enumerate(self._parts)
        )


class _Mapping:
    """A mapping, its fields sorted by how much work they are."""

    def __init__(self, nodes: dict[str, _Node]) -> None:
        self.constants = {key: node.data for key, node in nodes.items() if isinstance(node, _Constant)}
        self.values = [(key, node.index) for key, node in nodes.items() if isinstance(node, _Value)]
        self.others = [
            (key, node.fill) for key, node in nodes.items() if not isinstance(node, _Constant | _Value)
        ]

    def fill(self, values: Sequence[Any]) -> dict[str, Any]:
        filled = self.constants.copy()
        for key, index in self.values:
            value = values[index]
            if value is not None:
                filled[key] = value
        for key, fill in self.others:
            value = fill(values)
            if value is not None:
                filled[key] = value
        return filled


class _List:
    """A list; an item that comes out as null is left out."""

    def __init__(self, fills: Sequence[Fill]) -> None:
        self._fills = fills

    def fill(self, values: Sequence[Any]) -> list[Any]:
        return [item for fill in self._fills if (item := fill(values)) is not None]


_Node = _Constant | _Value | _Text | _Mapping | _List


def _node(data: Any, marks: re.Pattern[str], path: Path) -> _Node | None:
    """The node of some data; None when it is null."""
    if data is None:
        return None
    if isinstance(data, dict):
        return _mapping(data, marks, path)
    if isinstance(data, list):
        return _list(data, marks, path)
    if isinstance(data, str) and marks.search(data):
        whole = marks.fullmatch(data)
        return _Value(int(whole[1])) if whole else _Text(marks.split(data), path)
    return _Constant(data)


def _mapping(data: dict[str, Any], marks: re.Pattern[str], path: Path) -> _Node:
    if any(marks.search(key) for key in data):
        raise NestedValueError(path, in_key=True)
    nodes = {key: _node(value, marks, (*path, key)) for key, value in data.items()}
    found = _Mapping({key: node for key, node in nodes.items() if node is not None})
    return found if found.values or found.others else _Constant(found.constants)


def _list(data: list[Any], marks: re.Pattern[str], path: Path) -> _Node:
    nodes = [
        (item, node)
        for index, item in enumerate(data)
        if (node := _node(item, marks, (*path, index))) is not None
    ]
    constants = [node.data for _, node in nodes if isinstance(node, _Constant)]
    if len(constants) == len(nodes):
        return _Constant(constants)
    if path and path[-1] == "env":
        return _List([_entry(node, _indexes(item, marks)) for item, node in nodes])
    return _List([node.fill for _, node in nodes])


def _entry(node: _Node, needs: Sequence[int]) -> Fill:
    """An env entry that prints a null is left out: it has no value to give."""
    if not needs:
        return node.fill
    if isinstance(node, _Mapping) and len(node.values) == 1 and not node.others:
        ((key, index),) = node.values
        constants = node.constants

        def fill_pair(values: Sequence[Any]) -> Any:
            value = values[index]
            return None if value is None else {**constants, key: value}

        return fill_pair

    def fill_entry(values: Sequence[Any]) -> Any:
        return None if any(values[index] is None for index in needs) else node.fill(values)

    return fill_entry


def _indexes(data: Any, marks: re.Pattern[str]) -> tuple[int, ...]:
    """The values that some data prints."""
    if isinstance(data, dict):
        return tuple(index for value in data.values() for index in _indexes(value, marks))
    if isinstance(data, list):
        return tuple(index for value in data for index in _indexes(value, marks))
    return tuple(int(index) for index in marks.findall(data)) if isinstance(data, str) else ()
