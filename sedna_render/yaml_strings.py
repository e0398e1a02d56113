"""Writes strings as YAML so that every reader gets the same string back. Pure.

Readers differ about ``yes``, ``0o14``, ``1e3``, ``12:30``, dates and more, so a string stays without quotes
only where none of them (YAML 1.1, YAML 1.2, Go, PyYAML, Kubernetes) could take it for something else.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring

#: A word that begins so cannot be a number or a date in any YAML; more is asked of the rest of it.
_WORD_START = r"(?:--?(?=[A-Za-z])|\.{1,2}(?=/)|[A-Za-z_/$])"
_CHARACTER = r"[A-Za-z0-9_./@%+=,;~^$()-]"
#: A colon ends a key before a space, a hash begins a comment after one.
_SAFE = re.compile(rf"{_WORD_START}(?:{_CHARACTER}|:(?={_CHARACTER})|(?<! )[ #](?={_CHARACTER}))*\Z")
#: Quantities such as 500m and 1.5Gi, and IPv4 addresses.
_SAFE_WITH_DIGIT = re.compile(
    r"[1-9][0-9]{0,17}(?:\.[0-9]{1,9})?(?:m|k|[MGTP]|[KMGTPE]i)\Z|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z"
)
_KEYWORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"))
#: What JSON leaves raw and YAML forbids or folds, or what no eye can see: C1, line and paragraph separators,
#: invisible and direction marks, byte order marks, and characters that Unicode will never assign.
_ESCAPED = re.compile(
    "[\x7f-\xa0\xad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufdd0-\ufdef\ufeff\ufff0-\uffff\ud800-\udfff]"
)
#: Multi-line text that survives as a literal block: it neither begins with a blank nor has blanks at the end
#: of a line, holds no tab at the start of one, and ends with at most one newline.
_BLOCK = re.compile(r"(?![ \t\n])(?:[^\n]*[^ \t\n]\n+(?!\t))+(?:[^\n]*[^ \t\n])?\Z")
_NOT_IN_BLOCK = re.compile(f"{_ESCAPED.pattern}|[\\x00-\\x08\\x0b-\\x1f\U000e0000-\U000e007f]")


def quoted(text: str) -> str:
    r"""The string in double quotes, with the escapes that JSON and YAML share.

    >>> print(quoted('a "b"'), quoted("é"), quoted("x\x85"))
    "a \"b\"" "é" "x\u0085"
    """
    return escape_invisible(encode_basestring(text))


def escape_invisible(written: str) -> str:
    """JSON text with the escapes that YAML needs too, so that readers of both read it."""
    return _ESCAPED.sub(_escape, written)


def inline(text: str) -> str:
    """The string on one line: as it is where that is safe, else in double quotes.

    >>> [inline(text) for text in ("a b", "no", "1e3", "http://$(IP):80/x", "500m")]
    ['a b', '"no"', '"1e3"', 'http://$(IP):80/x', '500m']
    """
    if _SAFE.match(text):
        return quoted(text) if text.lower() in _KEYWORDS else text
    return text if _SAFE_WITH_DIGIT.match(text) else quoted(text)


def block_lines(text: str) -> list[str] | None:
    """The header and the lines of a literal block, or None where a block could change the text."""
    if not _BLOCK.match(text) or _NOT_IN_BLOCK.search(text) or text.endswith("\n\n"):
        return None
    if text.endswith("\n"):
        return ["|", *text[:-1].split("\n")]
    return ["|-", *text.split("\n")]


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    # A lone surrogate is no character: Go writes U+FFFD for it, and no UTF-8 file could hold it.
    return "\\ufffd" if "\ud800" <= character <= "\udfff" else f"\\u{ord(character):04x}"
