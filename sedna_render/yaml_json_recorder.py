"""Reads JSON a second time and records where everything stands, and everything that is wrong. Pure.

What :mod:`sedna_render.yaml_recorder` is for YAML.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sedna_render import yaml_json, yaml_wording
from sedna_render.yaml_builder import MAX_DEPTH, TOO_DEEP
from sedna_render.yaml_recorder import Entry, Marks, Recorded, Recording
from sedna_render.yaml_scalars import ScalarError, replace_surrogates
from sedna_render.yaml_text import Lines, Mark, Problem

if TYPE_CHECKING:
    from sedna_render.findings import Path

_TOKEN = re.compile(r'[ \t\r\n]*(?:[{}\[\],:]|("(?:[^"\\\x00-\x1f]|\\.)*")|[^\s{}\[\],:"]+)')
_LITERALS = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")


class NotJsonError(ValueError):
    """The text is not JSON: its position and the words for it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def problem(text: str, error: NotJsonError) -> Problem:
    """What is wrong with a text that was meant as JSON."""
    mark = Lines(text).mark(error.offset)
    return Problem(
        "not-yaml", mark, f"this is not JSON: {error}", "mend the JSON, for example with a JSON formatter"
    )


class _DocumentLostError(Exception):
    """The rest of the text cannot be read; its problem is noted already."""


def record(text: str, unreadable: list[Problem]) -> Recording:
    """Reads a decoded text, of which some characters are known to be *unreadable*.

    :raises NotJsonError: when it is not JSON.
    """
    recorder = _Recorder(text)
    found = recorder.documents() if not unreadable else []
    return Recording(found, unreadable + recorder.problems)


class _Recorder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)
        self._position = 0
        self._marks: Marks = {}
        self.problems: list[Problem] = []

    def documents(self) -> list[Recorded]:
        found = []
        try:
            while (position := yaml_json.gap(self._text, self._position)) < len(self._text):
                self._position = position
                self._marks = {}
                before = len(self.problems)
                start = self._lines.mark(position)
                data = self._value(self._token(), (), 0)
                if len(self.problems) == before and data is not None:
                    found.append(Recorded(data, start, self._marks))
        except _DocumentLostError:
            pass
        return found

    def _token(self) -> str:
        """The next token; leaves the position at its start, :meth:`_value` moves behind it."""
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise NotJsonError(self._position, "a value, a brace or a bracket is expected here")
        token = match.group().lstrip(" \t\r\n")
        self._position = match.end()
        self._start = match.end() - len(token)
        return token

    def _value(self, token: str, path: Path, depth: int) -> Any:
        if token in ("{", "["):
            if depth >= MAX_DEPTH:
                self._note(TOO_DEEP)
                raise _DocumentLostError
            read = self._object if token == "{" else self._array
            return read(path, depth + 1)
        if token[0] == '"':
            return self._string(token)
        if token in _LITERALS:
            return _LITERALS[token]
        if not _NUMBER.match(token):
            raise NotJsonError(self._start, "this is no value of JSON")
        try:
            return yaml_json.number(token)
        except ScalarError as error:
            self._note(str(error))
            return 0

    def _string(self, token: str) -> str:
        try:
            value = replace_surrogates(json.loads(token))
        except ValueError as error:
            raise NotJsonError(self._start, "this string holds an escape that JSON does not know") from error
        if "\0" in value:
            self._note(yaml_wording.NUL, "control-character")
        return value

    def _array(self, path: Path, depth: int) -> list[Any]:
        items: list[Any] = []
        marks = self._marks[id(items)] = {}
        token = self._token()
        while token != "]":
            mark = self._mark()
            items.append(self._value(token, (*path, len(items)), depth))
            marks[len(items) - 1] = Entry(mark, mark)
            token = self._after_item("]")
        return items

    def _object(self, path: Path, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        marks = self._marks[id(data)] = {}
        token = self._token()
        while token != "}":
            if token[0] != '"':
                raise NotJsonError(self._start, "a field name in double quotes is expected here")
            mark, key = self._mark(), self._string(token)
            if self._token() != ":":
                raise NotJsonError(self._start, "a ':' is expected after the field name")
            token = self._token()
            entry = Entry(mark, self._mark())
            value = self._value(token, (*path, key), depth)
            if key in data:
                self._note_duplicate((*path, key), marks[key].key, mark)
            else:
                data[key], marks[key] = value, entry
            token = self._after_item("}")
        return data

    def _after_item(self, end: str) -> str:
        """The first token of the next item, or the end itself."""
        token = self._token()
        if token == end:
            return token
        if token != ",":
            raise NotJsonError(self._start, f"a ',' or '{end}' is expected here")
        token = self._token()
        if token == end:
            raise NotJsonError(self._start, f"a ',' stands before '{end}'")
        return token

    def _mark(self) -> Mark:
        return self._lines.mark(self._start)

    def _note(self, message: str, rule: str = "not-yaml") -> None:
        self.problems.append(Problem(rule, self._mark(), message, yaml_wording.remedy(message)))

    def _note_duplicate(self, path: Path, first: Mark, second: Mark) -> None:
        self.problems.append(yaml_wording.duplicate(path, first, second))
