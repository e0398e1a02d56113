"""Where values stand: found on demand, also through merges, aliases and unwrapped lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render.findings import Path
from sedna_render.yaml_reader import Document, Source, read
from sedna_render.yaml_writer import dump, dump_json

TEXT = """\
base: &base
  image: a
  env: [{name: X}]
list:
- one
- <<: *base
  own: 1
alias: *base
empty:
"two words" : "x"
"""


def _document(text: str) -> Document:
    documents, findings = read(Source("f.yaml", text.encode()))
    assert findings == []
    return documents[0]


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        pytest.param((), "1:1", "1:1", id="root"),
        pytest.param(("base",), "1:7", "1:1", id="anchored mapping"),
        pytest.param(("base", "image"), "2:10", "2:3", id="field"),
        pytest.param(("base", "env", 0, "name"), "3:16", "3:10", id="flow"),
        pytest.param(("list", 0), "5:3", "5:3", id="item"),
        pytest.param(("list", 1), "6:3", "6:3", id="item that is a mapping"),
        pytest.param(("list", 1, "image"), "2:10", "2:3", id="merged field"),
        pytest.param(("list", 1, "env", 0, "name"), "3:16", "3:10", id="inside a merged field"),
        pytest.param(("list", 1, "own"), "7:8", "7:3", id="field beside a merge"),
        pytest.param(("alias",), "8:8", "8:1", id="alias"),
        pytest.param(("alias", "image"), "2:10", "2:3", id="inside an alias"),
        pytest.param(("empty",), "9:7", "9:1", id="empty value"),
        pytest.param(("two words",), "10:15", "10:1", id="quoted key"),
        pytest.param(("list", 1, "absent", "x"), "6:3", "6:3", id="absent field of an item"),
        pytest.param(("base", "absent"), "1:1", "1:1", id="absent field"),
        pytest.param(("list", 9), "4:1", "4:1", id="absent item"),
        pytest.param(("base", "image", "deeper"), "2:3", "2:3", id="field of a string"),
    ],
)
def test_locate(path: Path, value: str, key: str) -> None:
    document = _document(TEXT)
    assert str(document.locate(path)) == f"f.yaml:{value}"
    assert str(document.locate(path, key=True)) == f"f.yaml:{key}"


def test_an_unwrapped_document_knows_where_it_stands() -> None:
    outer = _document("kind: List\nitems:\n- a: 1\n- b:\n    c: 2\n")
    inner = outer.inner(("items", 1))
    assert inner.data == {"b": {"c": 2}}
    assert str(inner.locate(("b", "c"))) == "f.yaml:5:8"
    assert str(inner.locate(())) == "f.yaml:4:3"
    assert str(inner.inner(("b",)).locate(("c",), key=True)) == "f.yaml:5:5"


def test_lines_are_counted_as_editors_count_them() -> None:
    document = _document('\ufeffa: "x\u2028y\u0085z"\r\nb: 1\r\n')
    assert str(document.locate(("a",))) == "f.yaml:1:4"
    assert str(document.locate(("b",))) == "f.yaml:2:4"


def test_documents_are_counted_without_the_empty_ones() -> None:
    documents, _ = read(Source("f.yaml", b"# c\n---\n---\na: 1\n---\nnull\n---\nb: 1\n"))
    assert [(document.index, str(document.locate(()))) for document in documents] == [
        (0, "f.yaml:4:1"),
        (1, "f.yaml:8:1"),
    ]


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict | list) and value:
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, step), value
            yield from _leaves(child, (*path, step))
    else:
        yield path, value


_WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
_DATA: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 99) | _WORDS | st.just([]) | st.just({}),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4) | st.dictionaries(_WORDS, inner, min_size=1, max_size=4)
    ),
    max_leaves=20,
)


@given(_DATA, st.sampled_from([dump, dump_json]))
def test_the_text_of_every_value_stands_at_its_place(data: Any, write: Any) -> None:
    data = {"v": data}
    text = write(data)
    lines = text.split("\n")
    document = _document(text)
    for path, value in _leaves(data):
        if isinstance(value, dict | list) and value:
            continue
        place = document.locate(path)
        here = lines[place.line - 1][place.column - 1 :]
        written = write(value).rstrip("\n")
        assert here in (written, f"{written},") or here.startswith("|")
        if path and isinstance(path[-1], str):
            key = document.locate(path, key=True)
            written_key = (
                write(path[-1]).rstrip("\n") if write is dump_json else dump({path[-1]: 1}).rpartition(":")[0]
            )
            assert lines[key.line - 1][key.column - 1 :].startswith(f"{written_key}:")
