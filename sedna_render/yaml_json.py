"""Reads inputs that are JSON as JSON, whose escapes are not YAML's; records no positions. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from sedna_render.yaml_builder import MAX_DEPTH, TOO_DEEP, RejectedError
from sedna_render.yaml_scalars import ScalarError, in_json, replace_surrogates

_START = re.compile(rb"\s*\{")
#: Between two documents: white space, and the lines that separate documents of YAML.
_GAP = re.compile(r"(?:[ \t\r\n]|^---[ \t]*(?:#[^\n]*)?$)*", re.MULTILINE)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
#: No whole number of 64 bits has more digits; Python refuses to parse very long ones.
_MOST_DIGITS = 20


def looks_like_json(content: bytes) -> bool:
    """Whether the first character is a brace: what Kubernetes reads as JSON first, and then as YAML."""
    return _START.match(content) is not None


def documents(text: str) -> list[Any]:
    """The data of the JSON documents in a text.

    :raises ValueError: when it is not JSON, or not what Kubernetes accepts.
    :raises RecursionError: when it is nested too deeply.
    """
    found = []
    position = gap(text, 0)
    while position < len(text):
        data, position = _DECODER.raw_decode(text, position)
        found.append(data)
        position = gap(text, position)
    if text.count("{") + text.count("[") > MAX_DEPTH:
        check_depth(found)
    return [without_surrogates(data) for data in found] if _SURROGATE_ESCAPE.search(text) else found


def gap(text: str, position: int) -> int:
    """The offset of the next document, at or after the position."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def number(text: str) -> int | float:
    """A JSON number as Kubernetes holds it.

    :raises ScalarError: when it is too large for a float of 64 bits.
    """
    is_whole = text.lstrip("-").isdigit() and len(text) <= _MOST_DIGITS
    value: int | float = in_json(int(text) if is_whole else float(text))
    return value


def without_surrogates(value: Any) -> Any:
    """The value with each lone surrogate in its strings as U+FFFD, as Go has it."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def check_depth(values: list[Any]) -> None:
    """Walks down level by level, without recursion.

    :raises RejectedError: when the values of a list lie too deep in each other.
    """
    level = values
    for _ in range(MAX_DEPTH):
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    if any(isinstance(value, dict | list) for value in level):
        raise RejectedError(TOO_DEEP)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise RejectedError
    return data


def _refuse(constant: str) -> Any:
    raise ScalarError(constant)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=number, parse_float=number, parse_constant=_refuse
)
