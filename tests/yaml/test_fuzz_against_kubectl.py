"""Thousands of made-up scalars, strings and keys, read back by kubectl in a few calls.

``SEDNA_RENDER_FUZZ=25000 pytest tests/yaml`` makes more of them; the seed is fixed, so a failure stays one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from random import Random  # noqa: TID251  # with a fixed seed it is the same every time
from typing import Any

import pytest

from sedna_render import yaml_scalars
from sedna_render.yaml_reader import Source, read
from sedna_render.yaml_writer import dump, dump_json

COUNT = int(os.environ.get("SEDNA_RENDER_FUZZ", "3000"))
BATCH = 500
KubectlValues = Callable[[list[bytes]], list[Any]]

_PIECES = (
    *"0123456789",
    *"+-._:,eExXoObB~=<",
    *(
        "0x",
        "0o",
        "0b",
        "00",
        "e+",
        "E-",
        "1e",
        "__",
        "._",
        ".5",
        "400",
        "yes",
        "no",
        "on",
        "y",
        "N",
        "null",
        "true",
    ),
    *(
        ".inf",
        ".nan",
        "2024-01-01",
        "T12:00:00Z",
        "12:30",
        "9223372036854775807",
        "18446744073709551615",
        "ff",
        "a",
        "Z",
    ),
)
_CHARACTERS = (
    *" \t\n\r:#-?,[]{}&*!|>'\"%@`\\/=~<.+_0189aeoxynN",
    *(
        "\x00",
        "\x07",
        "\x1b",
        "\x7f",
        "\x80",
        "\x85",
        "\xa0",
        "\xad",
        "é",
        "ß",
        "漢",
        "\u200b",
        "\u2028",
        "\u2029",
        "\u202e",
    ),
    *(
        "\ufeff",
        "\ufffd",
        "\ufffe",
        "\uffff",
        "🚀",
        "\U0001fffe",
        "\U0010ffff",
        "\n\n",
        "  ",
        ": ",
        " #",
        "---",
        "...",
        "\n---\n",
        "\n  ",
    ),
    *("yes", "null", "<<", "1e3", "0o14", "12:30", "$(X)", "{{ x }}", "text", "\u0300", "\ud7ff", "\ue000"),
)
#: Pieces of structure; what follows "..." or "---" is left out: kubectl drops it unless it begins a line alone.
_STRUCTURE = (
    *(
        "a: b\n",
        "- x\n",
        "  c: d\n",
        "  - y\n",
        "- ",
        "? ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "&a ",
        "*a ",
        "<<: ",
        "!!int ",
        "!x ",
        "|\n",
    ),
    *(
        "  text\n",
        ">-\n",
        "'",
        '"',
        "#c\n",
        " # c\n",
        "\n",
        "  ",
        "    ",
        "\t",
        "\r\n",
        "yes",
        "1",
        "~",
        "é",
        "\u2028",
        "\u0085",
    ),
    *(
        "k: v\n",
        "\n  - ",
        "\n    z: 1\n",
        "b",
        "? q\n",
        ": r\n",
        "\\n",
        "%",
        "|-",
        "\n\n",
        "<<: *a\n",
        "&b\n",
        "{a: b}",
        "[1, 2]",
    ),
)

_PLAIN = re.compile(r"(?:[^-:,=<]|-(?=[^:,]))[^\n]*(?<!:)\Z(?<!---)")


def _made_of(pieces: tuple[str, ...], random: Random, most: int) -> Iterator[str]:
    while True:
        yield "".join(random.choices(pieces, k=random.randint(1, most)))


def _plain_scalars(seed: int) -> list[str]:
    """Distinct texts that are one plain scalar to any parser, whatever they mean."""
    found: dict[str, None] = {}
    for text in _made_of(_PIECES, Random(seed), 6):  # noqa: S311
        if _PLAIN.match(text):
            found[text] = None
        if len(found) == COUNT:
            return list(found)
    raise AssertionError


def _strings(seed: int) -> list[str]:
    return [text for text, _ in zip(_made_of(_CHARACTERS, Random(seed), 8), range(COUNT), strict=False)]  # noqa: S311


def _batches(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def _accepted(read: Callable[[str], Any], texts: list[str]) -> dict[str, Any]:
    found = {}
    for text in texts:
        try:
            found[text] = read(text)
        except yaml_scalars.ScalarError:
            continue
    return found


def _different(sent: list[Any], received: list[Any]) -> list[tuple[Any, Any]]:
    pairs = zip(sent, received, strict=True)
    return [(ours, theirs) for ours, theirs in pairs if ours != theirs or type(ours) is not type(theirs)]


def test_plain_scalars_mean_what_kubectl_says(kubectl_values: KubectlValues) -> None:
    ours = _accepted(yaml_scalars.plain, _plain_scalars(seed=1))
    batches = _batches(list(ours))
    received = kubectl_values(
        ["".join(f"\n- {text}" for text in batch).encode() + b"\n" for batch in batches]
    )
    for batch, values in zip(batches, received, strict=True):
        assert _different([ours[text] for text in batch], values) == []


def test_plain_keys_become_the_names_that_kubectl_gives_them(kubectl_values: KubectlValues) -> None:
    ours = _accepted(yaml_scalars.plain_key, _plain_scalars(seed=2))
    batches = _batches(list(ours))
    fragments = [
        "".join(f"\n- {{{text} : 1}}" if "," not in text else "\n- {}" for text in batch) for batch in batches
    ]
    received = kubectl_values([fragment.encode() + b"\n" for fragment in fragments])
    for batch, values in zip(batches, received, strict=True):
        assert _different([{ours[text]: 1} if "," not in text else {} for text in batch], values) == []


@pytest.mark.parametrize("write", [dump, dump_json], ids=["YAML", "JSON"])
def test_kubectl_reads_back_every_string_we_write(
    write: Callable[[Any], str], kubectl_values: KubectlValues
) -> None:
    batches = _batches(_strings(seed=3))
    received = kubectl_values([_fragment(write, batch) for batch in batches])
    for batch, values in zip(batches, received, strict=True):
        assert _different(batch, values) == []


def test_kubectl_reads_back_every_key_we_write(kubectl_values: KubectlValues) -> None:
    batches = _batches(_strings(seed=4))
    sent = [{key: index for index, key in enumerate(batch)} for batch in batches]
    received = kubectl_values([_fragment(dump, batch) for batch in sent])
    assert _different(sent, received) == []


def test_kubectl_reads_back_keys_of_any_length_with_any_value(kubectl_values: KubectlValues) -> None:
    values: tuple[Any, ...] = (1, "a\nb\n", {"a": [1]}, [1, {"b": 2}], {}, [], None)
    sent = [
        {"k" * 400 + name * length: value, "z": 1}
        for value in values
        for length in (1, 700)
        for name in ("k", "é")
    ]
    received = kubectl_values([_fragment(dump, [item, {"in": item}]) for item in sent])
    assert _different([[item, {"in": item}] for item in sent], received) == []


def test_kubectl_reads_back_every_number_we_write(kubectl_values: KubectlValues) -> None:
    random = Random(5)  # noqa: S311
    floats = [random.uniform(-1, 1) * 10.0 ** random.randint(-300, 300) for _ in range(COUNT)]
    integers = [random.randint(-(1 << 63), (1 << 63) - 1) >> random.randint(0, 63) for _ in range(COUNT)]
    sent = [yaml_scalars.in_json(number) for number in (*floats, *integers)]
    assert _different([sent], kubectl_values([_fragment(dump, [*floats, *integers])])) == []


def test_structures_mean_what_kubectl_says(
    kubectl_values: KubectlValues, our_value: Callable[[bytes], Any]
) -> None:
    random = Random(6)  # noqa: S311
    made = zip(_made_of(_STRUCTURE, random, 9), range(COUNT), strict=False)
    fragments = list(dict.fromkeys(f"{(' ', chr(10))[number % 2]}{text}\n".encode() for text, number in made))
    differences = {
        fragment: (ours, theirs)
        for fragment, theirs in zip(fragments, kubectl_values(fragments), strict=True)
        if _different([ours := our_value(fragment)], [theirs]) and not _has_duplicates(fragment)
    }
    assert differences == {}


def _has_duplicates(fragment: bytes) -> bool:
    return {finding.rule for finding in read(Source("f", b"value:" + fragment))[1]} == {"duplicate-key"}


def _fragment(write: Callable[[Any], str], value: Any) -> bytes:
    """The value as it follows ``value:``."""
    return (
        write({"value": value}).removeprefix("value:").encode()
        if write is dump
        else f" {write(value)}".encode()
    )
