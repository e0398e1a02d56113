"""HEM_PARAMETERS is byte for byte what Go would write, but for the named deviations."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import go_json

HERE = os.path.dirname(__file__)
with open(os.path.join(HERE, "go_url_vectors.json"), encoding="utf-8") as stream:
    STRINGS: dict[str, str] = json.load(stream)["json"]
with open(os.path.join(HERE, "..", "golden", "seed_vectors.json"), encoding="utf-8") as stream:
    GOLDEN: list[str] = [vector["out"] for vector in json.load(stream)["hemParameters"]]


def test_strings_are_written_as_go_1_26_writes_them() -> None:
    assert {text: go_json.string(text) for text in STRINGS} == STRINGS


@pytest.mark.parametrize(
    "pairs, expected",
    [
        pytest.param([], "[]", id="none is [] where Sedna writes null"),
        pytest.param([], GOLDEN[1], id="an empty list"),
        pytest.param([("k", "v")], GOLDEN[2], id="one"),
        pytest.param(
            [("a<b>&'\"", "\u2028\u2029é\t\n\r\b\f\x01\\/")],
            # The golden data is from Go 1.19; since 1.22 Go writes \b and \f for the same characters.
            GOLDEN[3].replace("\\u0008\\u000c", "\\b\\f"),
            id="escapes",
        ),
        pytest.param([("模", "😀")], GOLDEN[4], id="beyond ASCII"),
        pytest.param([("bad", "\udcff")], GOLDEN[5], id="no text"),
        pytest.param(
            [("k", "1"), ("k", "2")], '[{"key":"k","value":"1"},{"key":"k","value":"2"}]', id="key twice"
        ),
    ],
)
def test_parameters_are_written_as_sedna_writes_them(pairs: list[tuple[str, str]], expected: str) -> None:
    assert go_json.parameters(pairs) == expected


def test_the_first_golden_vector_is_the_null_that_we_do_not_write() -> None:
    assert GOLDEN[0] == "null"


@given(st.lists(st.tuples(st.text(), st.text())))
def test_every_json_reader_gets_the_parameters_back(pairs: list[tuple[str, str]]) -> None:
    assert [(found["key"], found["value"]) for found in json.loads(go_json.parameters(pairs))] == pairs
