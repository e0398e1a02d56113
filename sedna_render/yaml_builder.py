"""Builds the data of YAML documents from libyaml's events, as Kubernetes would; records no positions. Pure.

The quick way for inputs that are right. On anything wrong it raises, without saying where:
:mod:`sedna_render.yaml_recorder` then reads the text again and words what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from sedna_render import yaml_scalars

try:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the types miss it
except ImportError as error:  # pragma: no cover - needs a PyYAML that was built without libyaml
    _MESSAGE = "PyYAML lacks its C extension (libyaml), without which sedna-render reads no YAML: reinstall PyYAML from a wheel"
    raise ImportError(_MESSAGE) from error

if TYPE_CHECKING:
    from collections.abc import Callable

#: How deep mappings and lists may lie in each other; Kubernetes' own objects stay below 30.
MAX_DEPTH = 100
#: How many values the aliases of one document may stand for, before it counts as a bomb.
MAX_ALIASED = 100_000
_CACHED_SCALARS = 8192

TOO_DEEP = f"mappings and lists lie in each other more than {MAX_DEPTH} deep"
NOT_MERGEABLE = "'<<' merges mappings, and this is not a mapping"
COMPLEX_KEY = "a field name must be a string, not a mapping, a list or an alias of a number"

#: Stands for the key ``<<``; compared by identity, since a quoted "<<" is an ordinary key.
MERGE = str(b"<<", "ascii")

_plain_values: dict[str, Any] = {}
_plain_keys: dict[str, str] = {}


class RejectedError(ValueError):
    """The text is not what Kubernetes accepts; the recorder knows why and where."""


def documents(text: bytes) -> list[Any]:
    """The data of the documents in a UTF-8 text that are not empty.

    :raises RejectedError: and ``yaml.YAMLError``, ``ScalarError``, when anything at all is wrong with the text.
    """
    # kubectl ends each line of its input with a newline, also the last: the last block scalar shows it.
    return _Builder(text if text.endswith(b"\n") else text + b"\n").documents()


class Aliases:
    """The anchors of one document, and how much its aliases have grown it."""

    __slots__ = ("_aliased", "_measures", "_values")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._measures: dict[int, tuple[int, int]] = {}
        self._aliased = 0

    def open(self, anchor: str) -> None:
        """Notes an anchor whose mapping or list has begun: it may not hold itself."""
        self._values[anchor] = self

    def define(self, anchor: str, value: Any) -> None:
        self._values[anchor] = value

    def resolve(self, anchor: str, depth: int) -> Any:
        """The value behind ``*anchor`` at this depth of nesting.

        :raises RejectedError: when it is unknown, holds itself, or makes the document too large or too deep.
        """
        if anchor not in self._values:
            # Not by its name: a password that begins with '*' is an alias too.
            msg = "there is no anchor of this name above the alias"
            raise RejectedError(msg)
        value = self._values[anchor]
        if value is self:
            msg = "the value behind this alias contains itself"
            raise RejectedError(msg)
        size, height = self._measure(value)
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            msg = f"the aliases of this document stand for more than {MAX_ALIASED:,} values"
            raise RejectedError(msg)
        if depth + height > MAX_DEPTH:
            raise RejectedError(TOO_DEEP)
        return value

    def _measure(self, value: Any) -> tuple[int, int]:
        """How many values it holds, and how deep they lie."""
        if not isinstance(value, dict | list):
            return 1, 0
        known = self._measures.get(id(value))
        if known is None:
            children = value.values() if isinstance(value, dict) else value
            measures = [self._measure(child) for child in children]
            known = (
                1 + sum(size for size, _ in measures),
                1 + max((height for _, height in measures), default=0),
            )
            self._measures[id(value)] = known
        return known


class _Builder:
    """Reads one text; each method takes the events of one value from the parser."""

    __slots__ = ("aliases", "next_event")

    def __init__(self, text: bytes) -> None:
        self.next_event: Callable[[], Any] = CParser(text).get_event
        self.aliases = Aliases()

    def documents(self) -> list[Any]:
        found: list[Any] = []
        next_event = self.next_event
        next_event()
        while True:
            event = next_event()
            if type(event) is not DocumentStartEvent:
                return found
            if event.version or event.tags:
                raise RejectedError
            self.aliases = Aliases()
            data = self.value(next_event(), 0)
            if data is not None:
                found.append(data)
            next_event()

    def value(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is MappingStartEvent:
            return self.anchored(event.anchor, self.mapping, depth + 1)
        if kind is SequenceStartEvent:
            return self.anchored(event.anchor, self.sequence, depth + 1)
        if kind is AliasEvent:
            return self.aliases.resolve(event.anchor, depth)
        value = scalar_value(event)
        if event.anchor is not None:
            self.aliases.define(event.anchor, value)
        return value

    def anchored(self, anchor: str | None, read: Callable[[int], Any], depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise RejectedError
        if anchor is None:
            return read(depth)
        self.aliases.open(anchor)
        value = read(depth)
        self.aliases.define(anchor, value)
        return value

    def sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while True:
            event = self.next_event()
            if type(event) is SequenceEndEvent:
                return items
            items.append(self.value(event, depth))

    def mapping(self, depth: int) -> dict[str, Any]:
        # Most keys and values are plain scalars without tag and anchor, read here in line: a call for each
        # of them takes a tenth of the whole time.
        next_event = self.next_event
        data: dict[str, Any] = {}
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent and event.tag is None and event.anchor is None:
                key = event.value
                if event.implicit[0]:
                    key = _plain_keys.get(key) or cached_plain_key(key)
            elif kind is MappingEndEvent:
                return data
            else:
                key = self.key(event)
            if key is MERGE:
                return self.merged_mapping(data, depth)
            if key in data:
                raise RejectedError
            event = next_event()
            if type(event) is ScalarEvent and event.tag is None and event.anchor is None:
                value = event.value
                if event.implicit[0]:
                    value = _plain_values[value] if value in _plain_values else cached_plain(value)
                data[key] = value
            else:
                data[key] = self.value(event, depth)

    def key(self, event: Any) -> str:
        kind = type(event)
        if kind is ScalarEvent:
            key = scalar_key(event)
            if event.anchor is not None:
                self.aliases.define(event.anchor, scalar_value(event))
            return key
        if kind is AliasEvent:
            return alias_key(self.aliases.resolve(event.anchor, 0))
        raise RejectedError

    def merged_mapping(self, data: dict[str, Any], depth: int) -> dict[str, Any]:
        """A mapping from its ``<<`` on: what was merged may be overridden, once."""
        own = set(data)
        for source in self.merge_sources(self.next_event(), depth):
            if own.intersection(source):
                raise RejectedError
            data.update(source)
        while True:
            event = self.next_event()
            if type(event) is MappingEndEvent:
                return data
            key = self.key(event)
            if key is MERGE or key in own:
                raise RejectedError
            own.add(key)
            data[key] = self.value(self.next_event(), depth)

    def merge_sources(self, event: Any, depth: int) -> list[dict[str, Any]]:
        """The mappings that ``<<`` names, the weakest first."""
        if type(event) is not SequenceStartEvent:
            return only_mappings([self.value(event, depth)])
        return only_mappings(self.value(event, depth))[::-1]


def only_mappings(sources: list[Any]) -> list[dict[str, Any]]:
    """The sources of a merge.

    :raises RejectedError: when one of them is not a mapping.
    """
    if all(isinstance(source, dict) for source in sources):
        return sources
    raise RejectedError(NOT_MERGEABLE)


def scalar_value(event: Any) -> Any:
    """The value of a scalar with whatever tag and style it has."""
    if event.tag is None:
        return cached_plain(event.value) if event.implicit[0] else event.value
    return yaml_scalars.tagged(event.tag, event.value)


def scalar_key(event: Any) -> str:
    """The field name that a scalar key stands for, or :data:`MERGE`."""
    text: str = event.value
    if event.tag is None:
        return cached_plain_key(text) if event.implicit[0] else text
    if text == "<<" and (event.implicit[0] or event.tag == yaml_scalars.MERGE_TAG):
        return MERGE
    return yaml_scalars.tagged_key(event.tag, text)


def alias_key(value: Any) -> str:
    """The field name that an alias used as a key stands for."""
    # Go would write a number as it was before JSON, which is lost here.
    if not isinstance(value, str | bool):
        raise RejectedError(COMPLEX_KEY)
    return yaml_scalars.as_key(value)


def cached_plain(text: str) -> Any:
    """The value of a plain scalar; remembered, since most scalars of a project are seen many times."""
    if text in _plain_values:
        return _plain_values[text]
    value = yaml_scalars.plain(text)
    if len(_plain_values) >= _CACHED_SCALARS:
        _plain_values.clear()
    _plain_values[text] = value
    return value


def cached_plain_key(text: str) -> str:
    """The field name that a plain scalar key stands for, or :data:`MERGE`; remembered."""
    if text in _plain_keys:
        return _plain_keys[text]
    key = MERGE if text == "<<" else yaml_scalars.plain_key(text)
    if len(_plain_keys) >= _CACHED_SCALARS:
        _plain_keys.clear()
    _plain_keys[text] = key
    return key
