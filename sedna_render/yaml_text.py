"""Bytes of an input to text: encodings, byte order marks, and the characters that no YAML may hold. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from sedna_render.findings import ERROR

BOM = "\ufeff"
_BOM_BYTES = BOM.encode()
#: The longer marks first: that of UTF-32-LE begins with that of UTF-16-LE.
_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_NUL_ESCAPE = re.compile(rb"\\(?:0|x00|u0000|U00000000)")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BOM_AT_LINE_START = re.compile("^" + BOM, re.MULTILINE)
_SEPARATOR = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOT_UTF8_MARK = re.compile("[\udc80-\udcff]")


class Mark(NamedTuple):
    """A line and a column of a text, both counted from 1."""

    line: int
    column: int


class Problem(NamedTuple):
    """One thing that is wrong with a text; becomes a Finding when the file's name is known."""

    rule: str
    mark: Mark
    message: str
    remedy: str
    path: tuple[str | int, ...] = ()
    severity: str = ERROR


class Lines:
    """Lines and columns of the offsets into one text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\r\n|\r|\n", text))]

    def mark(self, offset: int) -> Mark:
        line = bisect_right(self._starts, offset)
        return Mark(line, offset - self._starts[line - 1] + 1)

    def start(self, line: int) -> int:
        """Where a line (from 1) begins; the end of the last one for a line behind it."""
        return self._starts[min(line, len(self._starts)) - 1]


def is_simple(content: bytes) -> bool:
    """Whether libyaml can be given the bytes as they are: UTF-8 without marks, and no NUL that is escaped."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[:4] == b"\x00\x00\xfe\xff":
        return False
    if _BOM_BYTES in content:
        return False
    return b"\\" not in content or _NUL_ESCAPE.search(content) is None


def has_forbidden(text: str) -> bool:
    """Whether a character stands in the text that may not."""
    return _FORBIDDEN.search(text) is not None


def decode(content: bytes) -> tuple[str, list[Problem]]:
    """The text, without byte order marks, each character that may not stand in it as U+FFFD; and those."""
    for mark, encoding in _ENCODINGS:
        if content.startswith(mark):
            return _decoded(content[len(mark) :], encoding)
    return _checked(content.decode("utf-8", "surrogateescape"))


def _decoded(content: bytes, encoding: str) -> tuple[str, list[Problem]]:
    try:
        return _checked(content.decode(encoding))
    except UnicodeDecodeError as problem:
        before = content[: problem.start].decode(encoding)
        text, problems = _checked(content.decode(encoding, "replace"))
        name = encoding.rpartition("-")[0].upper()
        mark = Lines(before).mark(len(before))
        return text, [
            Problem("invalid-utf8", mark, f"the bytes are not {name}", "save the file as UTF-8"),
            *problems,
        ]


def separators(text: str) -> list[int]:
    """The offsets of the lines that begin a document with ``---``."""
    return [match.start() for match in _SEPARATOR.finditer(text)]


def _checked(text: str) -> tuple[str, list[Problem]]:
    text = _BOM_AT_LINE_START.sub("", text)
    found = list(_FORBIDDEN.finditer(text))
    if not found:
        return text, []
    lines = Lines(text)
    problems = [_forbidden(match.group(), lines.mark(match.start())) for match in found[:20]]
    return _FORBIDDEN.sub("\ufffd", text), problems


def _forbidden(character: str, mark: Mark) -> Problem:
    if _NOT_UTF8_MARK.match(character):
        return Problem(
            "invalid-utf8",
            mark,
            f"the byte 0x{ord(character) - 0xDC00:02X} is not UTF-8",
            "save the file as UTF-8",
        )
    return Problem(
        "control-character",
        mark,
        f"the control character U+{ord(character):04X} must not stand in YAML",
        'remove it, or write it as an escape in double quotes, such as "\\x1b"',
    )
