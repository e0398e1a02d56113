"""What the reader says about inputs that are wrong: where, what, and how to mend it."""

from __future__ import annotations

import time  # noqa: TID251  # bombs must be refused quickly
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sedna_render.yaml_reader import Source, read

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(96 + n)}: &{chr(96 + n)} [{', '.join(['*' + chr(95 + n)] * 9)}]\n" for n in range(2, 12)
)
MERGE_BOMB = "a: &a {k0: 1}\n" + "".join(
    f"m{n}: &{chr(96 + n)} {{l{n}: [{', '.join(['*' + chr(95 + n)] * 9)}]}}\n" for n in range(2, 12)
)
CHAIN = "v0: &v0 [x]\n" + "".join(f"v{n}: &v{n} [*v{n - 1}]\n" for n in range(1, 3000))


@pytest.mark.parametrize(
    ("text", "rule", "place", "words"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n",
            "duplicate-key",
            "3:1",
            "given twice in one mapping: here and at line 1, column 1",
            id="duplicate",
        ),
        pytest.param(
            "a:\n  b: {c: 1, c: 2}\n",
            "duplicate-key",
            "2:13",
            "a.b.c: is given twice",
            id="duplicate names the field",
        ),
        pytest.param("1: a\n'1': b\n", "duplicate-key", "2:1", "line 1", id="a number and its string"),
        pytest.param("yes: a\non: b\n", "duplicate-key", "2:1", "line 1", id="two words for true"),
        pytest.param("<<: {a: 1}\n<<: {b: 1}\n", "duplicate-key", "2:1", "line 1", id="a second merge"),
        pytest.param("<<: {a: 1}\na: 1\na: 2\n", "duplicate-key", "3:1", "line 2", id="an override twice"),
        pytest.param(
            '{"a": 1,\n "a": 2}', "duplicate-key", "2:2", "at line 1, column 2", id="duplicate in JSON"
        ),
        pytest.param("a: b\nEOF\n", "not-yaml", "2:1", "delete the line 'EOF'", id="stray EOF"),
        pytest.param(
            "a:\n  b: c\nEOF\n", "not-yaml", "3:1", "delete the line 'EOF'", id="stray EOF after a block"
        ),
        pytest.param("a:\n\tb: c\n", "not-yaml", "2:1", "indent with spaces", id="tab"),
        pytest.param("a:\n  b: c\n\td: e\n", "not-yaml", "3:1", "indent with spaces", id="tab later"),
        pytest.param(
            "image:foo\nb: c\n",
            "not-yaml",
            "1:1",
            "no space follows the colon",
            id="no space after a colon",
        ),
        pytest.param(
            "a: 1\nimage:foo\nb: c\n", "not-yaml", "2:1", "no space follows the colon", id="no space later"
        ),
        pytest.param('a: "x\nb: c\n', "not-yaml", "1:4", "close the quote", id="open quote"),
        pytest.param("a: 'it's'\n", "not-yaml", "1:8", "write '' for a quote", id="quote inside quotes"),
        pytest.param('a: "C:\\d"\n', "not-yaml", "1:7", "single quotes", id="backslash"),
        pytest.param("a: b: c\n", "not-yaml", "1:5", "double quotes", id="two colons"),
        pytest.param("a: - b\n", "not-yaml", "1:4", "line of its own", id="item behind a field"),
        pytest.param("a: [1, 2\nb: 3\n", "not-yaml", "2:2", "close the brackets", id="open bracket"),
        pytest.param("a: {b: 1\n", "not-yaml", "2:1", "close the braces", id="open brace"),
        pytest.param("a: 1\n b: 2\n", "not-yaml", "2:3", "indent", id="indented too far"),
        pytest.param(
            "a:\n  b: 1\n c: 2\n",
            "not-yaml",
            "3:2",
            "indent fields of one mapping alike",
            id="indented too little",
        ),
        pytest.param("a:\n- b\nc\n", "not-yaml", "3:1", "add the missing ':'", id="no colon"),
        pytest.param("a: @x\n", "not-yaml", "1:4", "double quotes", id="at sign"),
        pytest.param("a: *.pb\n", "not-yaml", "1:5", "double quotes", id="asterisk"),
        pytest.param("a: *x\n", "not-yaml", "1:4", "no anchor of this name", id="unknown alias"),
        pytest.param("a: !e!x y\n", "not-yaml", "1:4", "is a tag to YAML", id="unknown tag handle"),
        pytest.param("a: {{ .Values.x }}\n", "not-yaml", "1:5", "this is a template", id="template"),
        pytest.param(
            "a: |x\n  b\n", "not-yaml", "1:5", "begin the block on the next line", id="text behind a block"
        ),
        pytest.param(
            "%YAML 1.2\n---\na: 1\n",
            "not-yaml",
            "1:1",
            "delete the line that begins with '%'",
            id="directive",
        ),
        pytest.param("a: .inf\n", "not-yaml", "1:4", "finite", id="infinity"),
        pytest.param("~: 1\n", "not-yaml", "1:1", "field's name before the colon", id="null key"),
        pytest.param("? [a]\n: b\n", "not-yaml", "1:3", "must be a string", id="complex key"),
        pytest.param(
            "a: !!int x\n", "not-yaml", "1:4", "the tag says !!int, but the value is a string", id="tag"
        ),
        pytest.param("a: !!binary x\n", "not-yaml", "1:4", "not base64", id="not base64"),
        pytest.param("a: {<<: 1}\n", "not-yaml", "1:9", "not a mapping", id="merge of a number"),
        pytest.param("a: &a [*a]\n", "not-yaml", "1:8", "contains itself", id="recursion"),
        pytest.param('{"a": 1', "not-yaml", "1:8", "this is not JSON", id="JSON cut short"),
        pytest.param('{"a": 1e400}', "not-yaml", "1:7", "finite", id="number too large for JSON"),
        pytest.param('a: "\\0"\n', "control-character", "1:4", "NUL", id="NUL escape"),
        pytest.param('{"a": "\\u0000"}', "control-character", "1:7", "NUL", id="NUL escape in JSON"),
        pytest.param("a: x\x07y\n", "control-character", "1:5", "U+0007", id="control character"),
        pytest.param('{"a": "\x7f"}', "control-character", "1:8", "U+007F", id="control character in JSON"),
    ],
)
def test_the_finding_says_where_and_what(text: str, rule: str, place: str, words: str) -> None:
    documents, findings = read(Source("f.yaml", text.encode()))
    assert documents == []
    assert [finding.rule for finding in findings] == [rule]
    assert f"f.yaml:{place}: " in findings[0].text()
    assert words in findings[0].text()
    assert findings[0].remedy


def test_a_byte_that_is_not_utf8_has_its_place() -> None:
    _, findings = read(Source("f.yaml", b"a: 1\nb: \xc3\xa9\xff\n"))
    assert findings[0].text().startswith("f.yaml:2:5: error[invalid-utf8]: the byte 0xFF is not UTF-8")


@pytest.mark.parametrize(
    "broken",
    ["a: [1\n", "a: 1\na: 2\n", "a: .inf\n", "a: \x07\n", "\ta: 1\n", "a: 'x\n", "%FOO\n", "a: *x\n"],
)
def test_what_is_wrong_in_one_document_leaves_the_others(broken: str) -> None:
    text = f"one: 1\n---\n{broken}---\nthree: 3\n"
    documents, findings = read(Source("f.yaml", text.encode()))
    assert [document.data for document in documents] == [{"one": 1}, {"three": 3}]
    assert next(finding.location.line for finding in findings if finding.is_error) >= 3
    assert str(documents[1].locate(("three",))) == f"f.yaml:{text.count(chr(10))}:8"


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGE_BOMB,
        CHAIN,
        "[" * 100_000,
        '{"a":' * 100_000,
        "{a: " * 500,
        "- " * 5000,
        "a: " + "[" * 300 + "]" * 300,
        "[" * 150 + "]" * 150,
        "&a " * 5000,
    ],
    ids=["laughs", "merges", "chain", "brackets", "JSON", "braces", "items", "closed", "short", "anchors"],
)
def test_bombs_are_refused_quickly(text: str) -> None:
    started = time.perf_counter()
    documents, findings = read(Source("bomb.yaml", text.encode()))
    assert time.perf_counter() - started < 2
    assert (documents, {finding.rule for finding in findings}) == ([], {"not-yaml"})


@pytest.mark.parametrize("depth", [100, 101])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]"), ('{"a":[', "]}"), ("- ", "")])
def test_a_hundred_levels_are_the_limit_in_yaml_and_json(depth: int, opening: str, closing: str) -> None:
    times = depth // len(closing) if len(closing) > 1 else depth
    text = opening * times + "1" + closing * times
    if times * len(closing or " ") < depth:
        text = f'{{"a":{text}}}'
    documents, findings = read(Source("deep", text.encode()))
    assert (len(documents), len(findings)) == ((1, 0) if depth == 100 else (0, 1))
    for document in documents:
        path: tuple[str | int, ...] = ()
        data: Any = document.data
        while data != 1:
            step: str | int = "a" if isinstance(data, dict) else 0
            path, data = (*path, step), data[step]
        assert document.locate(path).column == text.index("1") + 1


def test_json_with_many_braces_need_not_be_deep() -> None:
    documents, findings = read(Source("wide", b'{"a": [' + b"{}, " * 500 + b"[]]}"))
    assert (len(documents[0].data["a"]), findings) == (501, [])


def test_many_aliases_are_no_bomb() -> None:
    text = "base: &b {x: [1, 2, 3]}\n" + "".join(f"k{n}: {{<<: *b, w: *b}}\n" for n in range(1000))
    documents, findings = read(Source("f.yaml", text.encode()))
    assert findings == []
    assert documents[0].data["k999"] == {"x": [1, 2, 3], "w": {"x": [1, 2, 3]}}


def test_a_merge_below_a_field_overrides_it_as_in_kubectl_and_is_warned_of() -> None:
    documents, findings = read(Source("f.yaml", b"a: &a {x: 1}\nb:\n  x: 2\n  <<: *a\n"))
    assert documents[0].data["b"] == {"x": 1}
    assert [(finding.severity, str(finding.location), finding.field) for finding in findings] == [
        ("warning", "f.yaml:3:3", "b.x")
    ]


def test_no_value_is_repeated_in_a_finding() -> None:
    secret = "hunter2"
    for text in (
        f"a: !!int {secret}",
        f"password:{secret}\nb: c",
        f"a: '{secret}' {secret}",
        f"a: b\n{secret}\n",
        f"{secret}: *{secret[0]}",
    ):
        _, findings = read(Source("f.yaml", text.encode()))
        assert findings
        assert all(secret not in finding.text() for finding in findings)


_SNIPPETS = (
    *(
        "a: b\n",
        "- ",
        "? ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "!x ",
        "|\n",
        ">-\n",
        "'",
        '"',
        "#",
        "---\n",
        "...\n",
    ),
    *(
        "%YAML 1.1\n",
        "\n",
        "  ",
        "\t",
        "\r\n",
        "\ufeff",
        "\x00",
        "\\u0000",
        "yes",
        "1e400",
        ".inf",
        "~",
        "é",
        "\u2028",
        '{"a": ',
        "\ud83d",
    ),
)


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from(_SNIPPETS), max_size=25).map(
        lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
    )
)
@example(b'{"a": 1,}')
@example(b"\xff\xfe\x00")
@example(b"\xff\xfea\x00")
@example(b"\x00\x00\xfe\xff\xff\xff\xff\xff")
@example(b"{" + b"9" * 5000 + b": 1}")
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example(b"2024-02-30: 0b_\n")
@example(b"a: 0x_\n")
def test_any_bytes_give_documents_or_findings_and_places_of_both_agree(content: bytes) -> None:
    source = Source("any", content)
    documents, findings = read(source)
    for document in documents:
        assert document.locate(()).line > 0
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[:4] == b"\x00\x00\xfe\xff"
    if not is_wide and not any(finding.is_error for finding in findings):
        read_again = read(Source("again", content + b"\n"))
        assert read_again[1] == [
            finding._replace(location=finding.location._replace(file="again")) for finding in findings
        ]


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le", "utf-8-sig", "utf-8"]
)
def test_every_encoding_of_unicode_is_read_when_it_is_marked(encoding: str) -> None:
    mark = "\ufeff" if encoding.endswith("e") else ""
    documents, findings = read(Source("f.yaml", f"{mark}a: é\r\n---\r\n{{b: 🚀}}\r\n".encode(encoding)))
    assert ([document.data for document in documents], findings) == ([{"a": "é"}, {"b": "🚀"}], [])
    assert str(documents[1].locate(("b",))) == "f.yaml:3:5"
