"""Bytes of an input to documents, with the meaning that Kubernetes gives YAML and JSON. Pure; never raises.

The good path records no positions: :meth:`Document.locate` reads the text a second time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from yaml.error import YAMLError

from sedna_render import yaml_builder, yaml_json, yaml_text
from sedna_render.findings import Finding, Location, field_text
from sedna_render.yaml_scalars import ScalarError

if TYPE_CHECKING:
    from sedna_render.findings import Path
    from sedna_render.yaml_recorder import Recording

#: What is neither JSON nor YAML is spoken of as JSON when it begins so.
_WORD = re.compile(r"[\w.+-]+(?=[ \t,\]}]|$)")
_FIRST_FIELD_OF_JSON = re.compile(r'\s*\{\s*"[^"\n]*"\s*:')


class Source(NamedTuple):
    """One input: its name as people see it (a POSIX path, ``-`` for standard input) and its bytes."""

    name: str
    content: bytes


class Document(NamedTuple):
    """One document of an input, or one object inside it that was unwrapped from a list."""

    source: Source
    #: Counted from 0 among the documents of the source that are right and not empty.
    index: int  # type: ignore[assignment]  # nobody asks a document for tuple.index
    #: dict, list, str, bool, int, float or None; the keys of mappings are always strings. May hold one
    #: object at several places (aliases), so it must not be changed.
    data: Any
    #: Where the data stands in the document: empty, or for example ``("items", 3)``.
    base: Path = ()

    def locate(self, path: Path, *, key: bool = False) -> Location:
        """The place of the value at *path*, or of its *key* (for an item of a list: of the item).

        When nothing is there, the key of the nearest parent that exists. What came by ``<<`` or an alias
        is located where it is written. Takes as long as reading the source once more, the first time.
        """
        documents = _recording(self.source.content).documents
        if self.index >= len(documents):
            return Location(self.source.name)
        return Location(self.source.name, *documents[self.index].find((*self.base, *path), key=key))

    def written(self, path: Path) -> str:
        """The value at *path* as it is written, when that is one word without quotes; else ""."""
        place = self.locate(path)
        lines = yaml_text.decode(self.source.content)[0].splitlines()
        if not 0 < place.line <= len(lines):
            return ""
        word = _WORD.match(lines[place.line - 1], place.column - 1)
        return word[0] if word else ""

    def inner(self, path: Path) -> Document:
        """The document for the value at a path, for example for one item of a ``List``."""
        data = self.data
        for step in path:
            data = data[step]
        return Document(self.source, self.index, data, (*self.base, *path))


def read(source: Source) -> tuple[list[Document], list[Finding]]:
    """The documents of a source that are right and not empty, and findings about all others.

    Any bytes will do; a syntax error in one document leaves those before and after it.
    """
    try:
        values = _quick_values(source.content)
        findings = []
    except (ValueError, YAMLError, RecursionError):
        recording = _recording(source.content)
        values = [document.data for document in recording.documents]
        findings = [_finding(source, problem) for problem in recording.problems]
    return [Document(source, index, data) for index, data in enumerate(values)], findings


def _quick_values(content: bytes) -> list[Any]:
    if not yaml_text.is_simple(content):
        raise yaml_builder.RejectedError
    if not yaml_json.looks_like_json(content):
        return yaml_builder.documents(content)
    text = content.decode()
    if yaml_text.has_forbidden(text):
        raise yaml_builder.RejectedError
    try:
        return yaml_json.documents(text)
    except ValueError as error:
        # What is JSON, but not for Kubernetes, is not read as YAML; the recorder says what is wrong with it.
        if isinstance(error, yaml_builder.RejectedError | ScalarError):
            raise
        return yaml_builder.documents(content)


class _Recordings:
    """The places in texts, kept because findings of many files come mixed; the one not asked for longest goes first."""

    #: Bytes of text at most; a recording takes some twenty times as much memory.
    most = 4_000_000

    def __init__(self) -> None:
        self._kept: dict[bytes, Recording] = {}
        self._bytes = 0

    def of(self, content: bytes) -> Recording:
        recording = self._kept.pop(content, None)
        if recording is None:
            recording = _record(content)
            self._bytes += len(content)
        self._kept[content] = recording
        while self._bytes > self.most and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._bytes -= len(oldest)
        return recording


_recording = _Recordings().of


def _record(content: bytes) -> Recording:
    from sedna_render import yaml_json_recorder, yaml_recorder  # noqa: PLC0415 - only when something is wrong

    text, unreadable = yaml_text.decode(content)
    if not yaml_json.looks_like_json(text.encode("utf-8", "replace")):
        return yaml_recorder.record(text, unreadable)
    try:
        return yaml_json_recorder.record(text, unreadable)
    except yaml_json_recorder.NotJsonError as error:
        recording = yaml_recorder.record(text, unreadable)
        if recording.problems and not unreadable and _FIRST_FIELD_OF_JSON.match(text):
            return recording._replace(problems=[yaml_json_recorder.problem(text, error)])
        return recording


def _finding(source: Source, problem: yaml_text.Problem) -> Finding:
    location = Location(source.name, *problem.mark)
    field = field_text(problem.path) if problem.path else ""
    return Finding(problem.rule, problem.severity, location, "", field, problem.message, problem.remedy)
