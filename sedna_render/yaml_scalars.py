"""What a YAML scalar means to Kubernetes: the rules of Go's yaml.v2, then of Go's JSON decoder. Pure.

Not those of any Python library: ``yes`` is a boolean, ``0o14`` is 12, ``12:30`` and a date are strings,
and a float without a fraction is an integer, since the value passes through JSON on its way.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from math import isnan
from struct import pack, unpack
from typing import Any

TAG = "tag:yaml.org,2002:"
MERGE_TAG = TAG + "merge"

#: The whole numbers that stay whole; Kubernetes' JSON decoder makes floats of all others.
INT_MIN, INT_MAX, UINT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


def _spellings(*words: str) -> tuple[str, ...]:
    return tuple(form for word in words for form in (word, word.capitalize(), word.upper()))


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_spellings("y", "yes", "true", "on"), True),
    **dict.fromkeys(_spellings("n", "no", "false", "off"), False),
    **dict.fromkeys(("", "~", *_spellings("null")), None),
}
_NOT_FINITE: dict[str, float] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]{0,19})\Z")
#: Go strips ``0b`` and parses the rest once more, sign and all.
_SIGN_AFTER_PREFIX = re.compile(r"0b[-+][01]+\Z")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_DOTTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?\Z")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))"
    r"|(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?))?\Z"
)
_NUMBER_STARTS = frozenset("+-.0123456789")
_BASES = {"0x": 16, "0b": 2, "0o": 8}
_TYPE_NAMES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}


#: Python writes whole floats below this with all their digits, and they are exact.
_DIGITS_END = 1e16
_BEYOND_INT64 = 1e19


class ScalarError(ValueError):
    """A scalar that Kubernetes refuses; the text says why and never repeats the scalar (it may be secret)."""


def plain(text: str) -> Any:
    """The value of an unquoted scalar without a tag: str, bool, int, float or None.

    :raises ScalarError: for infinities and NaN, which JSON, and so Kubernetes, cannot hold.

    >>> plain("yes"), plain("0o14"), plain("1e3"), plain("12:30"), plain("6063e25")
    (True, 12, 1000, '12:30', 6.063e+28)
    """
    return in_json(_resolve(text))


def tagged(tag: str, text: str) -> Any:
    """The value of a scalar with the long form of a tag, such as ``tag:yaml.org,2002:int``.

    :raises ScalarError: where the tag does not fit the text.
    """
    return in_json(_resolve_tagged(tag, text))


def plain_key(text: str) -> str:
    """The field name that an unquoted mapping key becomes: numbers and booleans turn into strings.

    :raises ScalarError: for null and for whole numbers over 63 bits.

    >>> plain_key("1"), plain_key("on"), plain_key("1.50"), plain_key("1e6")
    ('1', 'true', '1.5', '1e+06')
    """
    return as_key(_resolve(text))


def tagged_key(tag: str, text: str) -> str:
    """The field name that a mapping key with a tag becomes.

    :raises ScalarError: as :func:`plain_key` and :func:`tagged`.
    """
    return as_key(_resolve_tagged(tag, text))


def in_json(value: Any) -> Any:
    """A resolved value as Kubernetes holds it after JSON: an int64 where it is whole and fits, else a float.

    :raises ScalarError: for infinities and NaN.
    """
    if type(value) is float:
        return _float_in_json(value)
    if type(value) is int and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def _float_in_json(number: float) -> int | float:
    if number - number != 0:
        msg = "infinity and NaN are numbers that JSON, and so Kubernetes, cannot hold"
        raise ScalarError(msg)
    if not number.is_integer() or abs(number) > _BEYOND_INT64:
        return number
    whole = int(number) if abs(number) < _DIGITS_END else _shortest_whole(number)
    return whole if INT_MIN <= whole <= INT_MAX else number


def _shortest_whole(number: float) -> int:
    """The fewest digits that read back as *number*, filled up with zeros: what Go writes into JSON."""
    mantissa, _, exponent = repr(number).partition("e+")
    before, _, after = mantissa.partition(".")
    return int(before + after) * int(10 ** (int(exponent) - len(after)))


def _resolve(text: str) -> Any:
    """The value in Go, before JSON: unsigned 64-bit numbers, infinities and NaN are still possible."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    digits = text.replace("_", "")
    if text[0] == ".":
        return _finite(digits) if _DOTTED.match(text) else None
    if _INTEGER.match(digits):
        integer = _integer(digits)
        if integer is not None:
            return integer
    if _DECIMAL.match(digits):
        return _finite(digits)
    if _SIGN_AFTER_PREFIX.match(digits):
        value = int(digits.removeprefix("0b"), 2)  # base 0 would allow no sign there
        return value if INT_MIN <= value <= INT_MAX else None
    return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if number - number == 0 else None


def _integer(digits: str) -> int | None:
    signed = digits[0] in "+-"
    body = digits[1:] if signed else digits
    base = _BASES.get(body[:2].lower())
    value = int(body[2:], base) if base else int(body, 8 if body[0] == "0" else 10)
    if digits[0] == "-":
        value = -value
    fits = INT_MIN <= value <= (INT_MAX if signed else UINT_MAX)
    return value if fits else None


def _resolve_tagged(tag: str, text: str) -> Any:
    short = tag.removeprefix(TAG) if tag.startswith(TAG) else ""
    if short == "binary":
        return _decode_base64(text)
    if short not in ("bool", "int", "float", "null", "timestamp"):
        return text
    if short == "timestamp" and _is_timestamp(text):
        return text
    value = _resolve(text)
    found = _TYPE_NAMES[type(value)]
    if found == short:
        return value
    if short == "float" and found == "int" and value <= INT_MAX:
        return float(value)
    msg = f"the tag says !!{short}, but the value is {_KIND_IN_WORDS[found]}"
    raise ScalarError(msg)


_KIND_IN_WORDS = {
    "bool": "a boolean",
    "int": "a whole number",
    "float": "a number with a fraction",
    "str": "a string",
    "null": "empty",
}


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.match(text)
    if not match:
        return False
    year, month, day, *clock = (int(part) for part in match.groups() if part is not None)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (0, 31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    in_calendar = 1 <= month < len(days) and 1 <= day <= days[month]
    return in_calendar and all(part < limit for part, limit in zip(clock, (24, 60, 60), strict=False))


def _decode_base64(text: str) -> str:
    try:
        content = a2b_base64(text.replace("\r", "").replace("\n", ""), strict_mode=True)
    except (Base64Error, ValueError):
        msg = "the tag says !!binary, but the value is not base64"
        raise ScalarError(msg) from None
    # Go's JSON encoder writes U+FFFD for each byte that is not UTF-8.
    return replace_surrogates(content.decode("utf-8", "surrogateescape"))


def replace_surrogates(text: str) -> str:
    """The text with each lone surrogate as U+FFFD, as Go's JSON decoder and encoder have it."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def as_key(value: Any) -> str:
    """The field name that a resolved scalar becomes."""
    if isinstance(value, str):
        return value
    if value is None:
        msg = "a field name is missing: the key is null"
        raise ScalarError(msg)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_key(value)
    if value > INT_MAX:
        msg = "a whole number of more than 63 bits cannot be a field name unless it is quoted"
        raise ScalarError(msg)
    return str(value)


def _float_key(value: float) -> str:
    """Go's ``strconv.FormatFloat(value, 'g', -1, 32)``: keys go through 32 bits."""

    def in_32_bits(number: float) -> float:
        return float(unpack("f", pack("f", number))[0])

    if isnan(value):
        return ".nan"
    try:
        single = in_32_bits(value)
    except OverflowError:
        single = value * float("inf")
    if single - single != 0:
        return ".inf" if single > 0 else "-.inf"
    shortest = next(
        text for text in (f"{single:.{digits}e}" for digits in range(17)) if in_32_bits(float(text)) == single
    )
    mantissa, _, exponent = shortest.partition("e")
    if int(exponent) in range(-4, 6):
        return _without_exponent(mantissa, int(exponent))
    return f"{mantissa}e{exponent}"


def _without_exponent(mantissa: str, exponent: int) -> str:
    decimals = max(0, len(mantissa.lstrip("-").replace(".", "")) - 1 - exponent)
    return f"{float(mantissa + 'e' + str(exponent)):.{decimals}f}"
