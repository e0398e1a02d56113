"""Data to YAML and JSON text for people: fields in Kubernetes' order, one way to write each value. Pure."""

from __future__ import annotations

import json
from typing import Any

from sedna_render import yaml_strings
from sedna_render.yaml_field_order import FREE_KEYS, ordered
from sedna_render.yaml_scalars import replace_surrogates

#: A longer key than this must be written after a "?", or no reader takes it for a key.
_LONGEST_PLAIN_KEY = 512
_CACHED = 8192

_texts: dict[str, str] = {}
_orders: dict[tuple[str, ...], list[tuple[str, str]]] = {}
_free_orders: dict[tuple[str, ...], list[tuple[str, str]]] = {}


def dump(data: Any) -> str:
    """One document of block-style YAML: LF, a final newline, no ``---``, no aliases, no folded lines.

    :param data: dict, list, str, bool, int, finite float or None; keys must be strings.
    :raises ValueError: for infinities and NaN.
    :raises TypeError: for any other type.
    """
    out: list[str] = []
    if isinstance(data, dict) and data:
        _mapping(data, "", "", out, free=False)
    elif isinstance(data, list) and data:
        _sequence(data, "", out)
    else:
        out.append(_scalar(data) + "\n")
    return "".join(out)


def dump_json(data: Any) -> str:
    """One JSON document, indented by two, its fields in the same order as in YAML.

    :raises ValueError: for infinities and NaN.
    """
    text = json.dumps(_in_order(data, free=False), indent=2, ensure_ascii=False, allow_nan=False)
    return yaml_strings.escape_invisible(text) + "\n"


def _in_order(data: Any, *, free: bool) -> Any:
    if isinstance(data, dict):
        names = sorted(data) if free else ordered(tuple(data))
        return {replace_surrogates(name): _in_order(data[name], free=name in FREE_KEYS) for name in names}
    if isinstance(data, list):
        return [_in_order(item, free=False) for item in data]
    return replace_surrogates(data) if isinstance(data, str) else data


def _mapping(data: dict[str, Any], first: str, indent: str, out: list[str], *, free: bool) -> None:
    """Appends the lines of a mapping: *first* begins its first line, *indent* all others."""
    orders = _free_orders if free else _orders
    names = tuple(data)
    order = orders.get(names) or _order(names, orders, indent, free=free)
    for name, lead in order:
        value = data[name]
        if type(value) is str:
            text = _texts.get(value)
            if text is None:
                text = _string(value, indent)
            out.append(f"{first}{lead} {text}\n")
        elif value and type(value) is dict:
            out.append(f"{first}{lead}\n")
            _mapping(value, indent + "  ", indent + "  ", out, free=name in FREE_KEYS)
        elif value and type(value) is list:
            out.append(f"{first}{lead}\n")
            _sequence(value, indent, out)
        else:
            out.append(f"{first}{lead} {_scalar(value)}\n")
        first = indent


def _sequence(items: list[Any], indent: str, out: list[str]) -> None:
    """Appends the lines of a list, its dashes at the indent of the field that holds it, like kubectl."""
    first, inner = indent + "- ", indent + "  "
    for item in items:
        if type(item) is str:
            out.append(f"{first}{_texts.get(item) or _string(item, indent)}\n")
        elif item and type(item) is dict:
            _mapping(item, first, inner, out, free=False)
        elif item and type(item) is list:
            nested: list[str] = []
            _sequence(item, inner, nested)
            nested[0] = first + nested[0][len(inner) :]
            out += nested
        else:
            out.append(f"{first}{_scalar(item)}\n")


def _string(text: str, indent: str) -> str:
    """A string as the value of a field or as an item; those of one line are remembered."""
    if "\n" in text:
        lines = yaml_strings.block_lines(text)
        if lines is not None:
            return "\n".join([lines[0], *(f"{indent}  {line}" if line else "" for line in lines[1:])])
    written = yaml_strings.inline(text)
    if len(_texts) >= _CACHED:
        _texts.clear()
    _texts[text] = written
    return written


def _scalar(value: Any) -> str:
    """A value that fits on one line."""
    if isinstance(value, str):
        return yaml_strings.inline(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict | list) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    msg = f"{type(value).__name__} is no type of JSON"
    raise TypeError(msg)


def _float(value: float) -> str:
    """The fewest digits that read back as the number; with a dot, without which PyYAML sees a string."""
    text = repr(value)
    if "n" in text:
        msg = "neither infinity nor NaN can be written: JSON has no number for it"
        raise ValueError(msg)
    return text if "." in text else text.replace("e", ".0e")


def _order(
    names: tuple[str, ...], orders: dict[tuple[str, ...], list[tuple[str, str]]], indent: str, *, free: bool
) -> list[tuple[str, str]]:
    """The fields in order, each with the text that leads its value; remembered, since objects look alike."""
    order = [(name, _lead(name, indent)) for name in (sorted(names) if free else ordered(names))]
    # The lead of a very long key depends on the indent.
    if not any("\n" in lead for _, lead in order):
        if len(orders) >= _CACHED:
            orders.clear()
        orders[names] = order
    return order


def _lead(name: str, indent: str) -> str:
    written = yaml_strings.inline(name)
    return f"{written}:" if len(written) <= _LONGEST_PLAIN_KEY else f"? {written}\n{indent}:"
