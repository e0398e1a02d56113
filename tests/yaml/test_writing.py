"""What we write: the same data for every reader, in a form that people like to review."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from sedna_render.yaml_reader import Source, read
from sedna_render.yaml_strings import inline
from sedna_render.yaml_writer import dump, dump_json

TEXT = st.text(st.characters(exclude_characters="\0"), max_size=40) | st.sampled_from(
    [
        "yes",
        "1e3",
        "0o14",
        "a\nb",
        "a\nb\n",
        "  a\nb",
        "a \nb",
        "<<",
        "-",
        "",
        "a\n\n",
        "#",
        "a: b",
        "\ta\nb",
        "a\n\tb",
        "x\r\ny",
    ]
)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)


def _as_read(value: Any) -> Any:
    """Lone surrogates cannot be written; Go has U+FFFD for them."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, list):
        return [_as_read(item) for item in value]
    if isinstance(value, dict):
        return {_as_read(key): _as_read(item) for key, item in value.items()}
    return pytest.approx(value, rel=1e-15) if isinstance(value, float) else value


def _has_unique_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return len(_as_read(value)) == len(value) and all(map(_has_unique_keys, value.values()))
    return not isinstance(value, list) or all(map(_has_unique_keys, value))


@given(DATA.filter(_has_unique_keys))
@example({"a": {"b": ["x\ny\n", {"c": "x\n\n  y"}]}})
@example([[["a\nb"]], [], {}, [[{}]]])
def test_what_is_written_is_read_again(data: Any) -> None:
    for text in (dump(data), dump_json({"v": data})):
        documents, findings = read(Source("written", text.encode()))
        assert findings == []
        values = [document.data for document in documents]
        expected = (
            []
            if data is None and text == "null\n"
            else [_as_read(data) if text == dump(data) else {"v": _as_read(data)}]
        )
        assert values == expected


@given(DATA)
def test_the_text_has_one_final_newline_no_carriage_return_and_no_blank_at_the_end_of_a_line(
    data: Any,
) -> None:
    text = dump(data)
    assert text.endswith("\n")
    assert "\r" not in text
    assert text == "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    assert not any(line.startswith("---") for line in text.split("\n"))


@given(TEXT | st.from_regex(r"[-+.0-9_a-zA-Z:~/]{1,12}", fullmatch=True))
@example("y")
@example("1_000")
@example("190:20:30")
@example("0o14")
@example("2024-01-01")
@example("2001-12-14t21:59:43.10-05:00")
def test_a_string_without_quotes_is_that_string_in_yaml_1_1_and_1_2(text: str) -> None:
    written = inline(text)
    if written.startswith('"'):
        return
    assert written == text
    assert yaml.load(f"v: {written}\n", yaml.CSafeLoader) == {"v": text}
    assert yaml.load(f"{written}: v\n", yaml.CSafeLoader) == {text: "v"}
    assert YAML(typ="safe", pure=True).load(f"v: {written}\n") == {"v": text}
    assert YAML(typ="safe", pure=True).load(f"{written}: v\n") == {text: "v"}


@given(DATA.filter(lambda data: isinstance(data, dict) and _has_unique_keys(data)))
def test_pyyaml_and_ruamel_read_the_same_document(data: Any) -> None:
    text = dump(data)
    assert yaml.load(text, yaml.CSafeLoader) == _as_read(data)
    assert YAML(typ="safe", pure=True).load(text) == _as_read(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            {"spec": 1, "kind": "a", "metadata": 2, "apiVersion": "v1"},
            "apiVersion: v1\nkind: a\nmetadata: 2\nspec: 1\n",
            id="top",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        "env": [{"value": "1", "name": "A"}],
                        "image": "i:1",
                        "args": ["--x=1", "-v"],
                        "name": "main",
                    }
                ]
            },
            'containers:\n- name: main\n  image: i:1\n  args:\n  - --x=1\n  - -v\n  env:\n  - name: A\n    value: "1"\n',
            id="container",
        ),
        pytest.param(
            {"volumes": [], "containers": [], "nodeName": "edge-1", "zeta": 1, "alpha": 2},
            "nodeName: edge-1\ncontainers: []\nvolumes: []\nalpha: 2\nzeta: 1\n",
            id="pod spec, unknown fields last and sorted",
        ),
        pytest.param(
            {"labels": {"name": "b", "app": "a", "kind": "c"}},
            "labels:\n  app: a\n  kind: c\n  name: b\n",
            id="labels are sorted",
        ),
        pytest.param({"a": "x\n  y\n\nz\n"}, "a: |\n  x\n    y\n\n  z\n", id="literal block"),
        pytest.param({"a": "x\ny"}, "a: |-\n  x\n  y\n", id="literal block without final newline"),
        pytest.param(["x\ny\n"], "- |\n  x\n  y\n", id="literal block in a list"),
        pytest.param({"a": "x \ny"}, 'a: "x \\ny"\n', id="blank at the end of a line"),
        pytest.param({"a": " x\ny"}, 'a: " x\\ny"\n', id="blank at the start of a block"),
        pytest.param({"a": "x\n\ty"}, 'a: "x\\n\\ty"\n', id="tab at the start of a line"),
        pytest.param({"a": "x\r\ny"}, 'a: "x\\r\\ny"\n', id="carriage return"),
        pytest.param({"a": "x\n\n"}, 'a: "x\\n\\n"\n', id="blank lines at the end"),
        pytest.param({"a": "h\u00e9 \U0001f680"}, 'a: "hé 🚀"\n', id="letters and emoji stay"),
        pytest.param(
            {"a": "\x7f\x85\u2028\ufeff\u200b\u202e"},
            'a: "\\u007f\\u0085\\u2028\\ufeff\\u200b\\u202e"\n',
            id="invisible characters show",
        ),
        pytest.param({"no": 1, "1": 2, "a b": 3, "<<": 4}, '"1": 2\n"<<": 4\na b: 3\n"no": 1\n', id="keys"),
        pytest.param(
            [1e23, 1e-7, 1.5, 10**18, -1, True, None, {}, []],
            "- 1.0e+23\n- 1.0e-07\n- 1.5\n- 1000000000000000000\n- -1\n- true\n- null\n- {}\n- []\n",
            id="others",
        ),
        pytest.param(
            [[1, [2]], [{"a": 1, "b": 2}]], "- - 1\n  - - 2\n- - a: 1\n    b: 2\n", id="lists in lists"
        ),
        pytest.param("x", "x\n", id="a bare string"),
    ],
)
def test_people_read(data: Any, expected: str) -> None:
    assert dump(data) == expected


def test_what_stands_at_two_places_is_written_twice() -> None:
    shared = {"app": "a"}
    assert dump({"labels": shared, "selector": shared}) == "labels:\n  app: a\nselector:\n  app: a\n"


def test_json_has_the_order_of_fields_of_yaml() -> None:
    assert (
        dump_json({"spec": {"z": 1, "name": "é"}, "kind": "K"})
        == '{\n  "kind": "K",\n  "spec": {\n    "name": "é",\n    "z": 1\n  }\n}\n'
    )


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")], ids=str)
@pytest.mark.parametrize("write", [dump, dump_json])
def test_what_json_cannot_hold_is_refused(value: float, write: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the words are json's own in one of the two
        write([value])


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="set is no type of JSON"):
        dump({"a": {1}})
