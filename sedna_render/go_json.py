"""JSON text exactly as Go's encoding/json writes it, for values that Sedna's workers read.

Pure, and knows only strings and the list of parameters: enough for HEM_PARAMETERS.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPED = re.compile(r'[\x00-\x1f"\\<>&]')

# \b and \f as Go writes them since 1.22, which Sedna is built with today; before, it wrote
# \u0008 and \u000c. Every JSON reader takes both for the same characters.
_SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def parameters(pairs: Iterable[tuple[str, str]]) -> str:
    """HEM_PARAMETERS: the pairs in their order as Go writes ``[]{Key, Value}``; ``[]`` for none.

    Sedna writes ``null`` for none, and old versions of its library crash on that.

    >>> parameters([("threshold_box", "0.5")])
    '[{"key":"threshold_box","value":"0.5"}]'
    """
    return "[" + ",".join(f'{{"key":{string(key)},"value":{string(value)}}}' for key, value in pairs) + "]"


def string(text: str) -> str:
    """One JSON string with the HTML escapes of Go's encoder (``<>&``), all other text raw."""
    escaped = _ESCAPED.sub(_escape, text)
    return f'"{escaped if escaped.isascii() else _escape_beyond_ascii(escaped)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _escape_beyond_ascii(text: str) -> str:
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: as Go writes bytes that are no UTF-8
        return re.sub("[\ud800-\udfff]", r"\\ufffd", text)
    return text
