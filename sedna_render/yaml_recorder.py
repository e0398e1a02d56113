"""Reads YAML a second time and records where everything stands, and everything that is wrong. Pure.

Used only when :mod:`sedna_render.yaml_builder` has rejected a text or when somebody asks for a position,
so that the good path pays for neither. It must accept what the builder accepts, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the types miss it
from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from sedna_render import yaml_builder, yaml_text, yaml_wording
from sedna_render.yaml_builder import MERGE, Aliases, RejectedError
from sedna_render.yaml_scalars import ScalarError
from sedna_render.yaml_text import Mark, Problem

if TYPE_CHECKING:
    from sedna_render.findings import Path

#: After so many problems in one file the rest would only be noise.
MAX_PROBLEMS = 20


class Entry(NamedTuple):
    """Where one field, or one item of a list, stands: its key (for an item the value again) and its value."""

    key: Mark
    value: Mark


#: For each mapping and list, by its identity: where its children stand. Aliases share the identity.
Marks = dict[int, dict[str | int, Entry]]


class Recorded(NamedTuple):
    """One document, where it begins, and where all that it holds stands."""

    data: Any
    start: Mark
    marks: Marks

    def find(self, path: Path, *, key: bool) -> Mark:
        """The place of the value at the path or of its key; of the nearest parent's key when it is absent."""
        value = self.data
        entry = Entry(self.start, self.start)
        for step in path:
            children = self.marks.get(id(value), {})
            if step not in children:
                return entry.key
            entry = children[step]
            value = value[step]
        return entry.key if key else entry.value


class Recording(NamedTuple):
    """What one text holds: its documents that are right and not empty, and what is wrong with the others."""

    documents: list[Recorded]
    problems: list[Problem]


def record(text: str, unreadable: list[Problem]) -> Recording:
    """Reads a decoded text, of which some characters are known to be *unreadable*."""
    return _Recorder(text if text.endswith("\n") else text + "\n", unreadable).recording()


class _DocumentLostError(Exception):
    """The rest of this document cannot be read; its problem is noted already."""


class _Recorder:
    def __init__(self, text: str, unreadable: list[Problem]) -> None:
        self._text = text
        self._lines = yaml_text.Lines(text)
        self._offset = 0
        self._unreadable = [problem.mark for problem in unreadable]
        self._problems = list(unreadable)
        self._warnings: list[Problem] = []
        self._documents: list[Recorded] = []
        self._marks: Marks = {}
        self._aliases = Aliases()
        self._next_event: Any = None

    def recording(self) -> Recording:
        starts = yaml_text.separators(self._text)
        offset: int | None = 0
        while offset is not None and len(self._problems) < MAX_PROBLEMS:
            failed_at = self._segment(offset)
            after = len(self._text) if failed_at is None else max(failed_at, offset + 1)
            offset = next((start for start in starts if start >= after), None)
        return Recording(self._documents, self._problems + self._warnings)

    def _segment(self, offset: int) -> int | None:
        """Reads from an offset up to the first syntax error; returns the error's offset, None at the end."""
        self._offset = offset
        segment = self._text[offset:]
        self._next_event = CParser(segment.encode("utf-8", "replace")).get_event
        try:
            self._next_event()
            while type(event := self._next_event()) is DocumentStartEvent:
                self._document(event)
        except YAMLError as error:
            fault = yaml_wording.syntax_fault(segment, error)
            self._note("not-yaml", self._lines.mark(offset + fault.offset), fault.message, fault.remedy)
            return offset + fault.stopped_at
        return None

    def _document(self, event: Any) -> None:
        problems_before = len(self._problems)
        self._aliases, self._marks = Aliases(), {}
        if event.version or event.tags:
            self._note_event(event, yaml_wording.DIRECTIVE)
        root = self._next_event()
        start = self._mark(root)
        data = None
        try:
            data = self._value(root, (), 0)
        except _DocumentLostError:
            while type(end := self._next_event()) is not DocumentEndEvent:
                pass
        else:
            end = self._next_event()
        is_right = len(self._problems) == problems_before
        if data is not None and is_right and self._is_readable(self._mark(event), self._mark(end)):
            self._documents.append(Recorded(data, start, self._marks))

    def _is_readable(self, start: Mark, end: Mark) -> bool:
        return not any(start <= mark <= end for mark in self._unreadable)

    def _value(self, event: Any, path: Path, depth: int) -> Any:
        kind = type(event)
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            return self._container(event, path, depth + 1)
        if kind is AliasEvent:
            return self._alias(event, depth)
        value = self._scalar(event)
        if event.anchor is not None:
            self._aliases.define(event.anchor, value)
        return value

    def _scalar(self, event: Any) -> Any:
        try:
            value = yaml_builder.scalar_value(event)
        except ScalarError as error:
            self._note_event(event, str(error))
            return ""
        if isinstance(value, str) and "\0" in value:
            self._note_event(event, yaml_wording.NUL, "control-character")
        return value

    def _alias(self, event: Any, depth: int) -> Any:
        try:
            return self._aliases.resolve(event.anchor, depth)
        except RejectedError as error:
            self._note_event(event, str(error))
            raise _DocumentLostError from None

    def _container(self, event: Any, path: Path, depth: int) -> Any:
        if depth > yaml_builder.MAX_DEPTH:
            self._note_event(event, yaml_builder.TOO_DEEP)
            raise _DocumentLostError
        if event.anchor is not None:
            self._aliases.open(event.anchor)
        read = self._mapping if type(event) is MappingStartEvent else self._sequence
        value = read(path, depth)
        if event.anchor is not None:
            self._aliases.define(event.anchor, value)
        return value

    def _sequence(self, path: Path, depth: int) -> list[Any]:
        items: list[Any] = []
        marks = self._marks[id(items)] = {}
        while type(event := self._next_event()) is not SequenceEndEvent:
            mark = self._mark(event)
            index = len(items)
            items.append(self._value(event, (*path, index), depth))
            marks[index] = Entry(mark, mark)
        return items

    def _mapping(self, path: Path, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        marks = self._marks[id(data)] = {}
        own: dict[str, Mark] = {}
        merged_at: Mark | None = None
        while type(event := self._next_event()) is not MappingEndEvent:
            key, mark = self._key(event, depth), self._mark(event)
            event = self._next_event()
            if key is MERGE:
                if merged_at is not None:
                    self._note_duplicate((*path, "<<"), merged_at, mark)
                merged_at = mark
                self._merge(event, path, depth, data, own)
                continue
            value = self._value(event, (*path, key), depth)
            if key in own:
                self._note_duplicate((*path, key), own[key], mark)
                continue
            data[key], own[key], marks[key] = value, mark, Entry(mark, self._mark(event))
        return data

    def _key(self, event: Any, depth: int) -> str:
        kind = type(event)
        try:
            if kind is ScalarEvent:
                key = yaml_builder.scalar_key(event)
                if event.anchor is not None:
                    self._aliases.define(event.anchor, yaml_builder.scalar_value(event))
                if "\0" in key:
                    self._note_event(event, yaml_wording.NUL, "control-character")
                return key
            if kind is AliasEvent:
                return yaml_builder.alias_key(self._aliases.resolve(event.anchor, depth))
        except (ScalarError, RejectedError) as error:
            self._note_event(event, str(error))
            return f"(key {self._mark(event)})"
        self._note_event(event, yaml_builder.COMPLEX_KEY)
        raise _DocumentLostError

    def _merge(self, event: Any, path: Path, depth: int, data: dict[str, Any], own: dict[str, Mark]) -> None:
        """Takes over the fields of the mappings that ``<<`` names; like kubectl, over those given above it."""
        is_list = type(event) is SequenceStartEvent
        value = self._value(event, (*path, "<<"), depth)
        try:
            sources = yaml_builder.only_mappings(value[::-1] if is_list else [value])
        except RejectedError as error:
            self._note_event(event, str(error))
            return
        marks = self._marks[id(data)]
        for source in sources:
            for key in sorted(own.keys() & source.keys()):
                self._note_overridden((*path, key), own[key], self._mark(event))
            data.update(source)
            marks.update(self._marks[id(source)])

    def _mark(self, event: Any) -> Mark:
        return self._lines.mark(self._offset + event.start_mark.index)

    def _note(self, rule: str, mark: Mark, message: str, remedy: str, path: Path = ()) -> None:
        self._problems.append(Problem(rule, mark, message, remedy, path))

    def _note_event(self, event: Any, message: str, rule: str = "not-yaml") -> None:
        offset = self._offset + event.start_mark.index
        remedy = yaml_wording.remedy(message, self._text[max(0, offset - 1) : offset + 2])
        self._note(rule, self._mark(event), message, remedy)

    def _note_duplicate(self, path: Path, first: Mark, second: Mark) -> None:
        self._problems.append(yaml_wording.duplicate(path, first, second))

    def _note_overridden(self, path: Path, own: Mark, merge: Mark) -> None:
        self._warnings.append(yaml_wording.overridden(path, own, merge))
