"""The case table: every line is read by kubectl and by us, and must mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sedna_render.yaml_reader import Source, read

#: Scalars as they follow ``value: `` on one line.
SCALARS = r"""
yes Yes YES no No NO on On ON off Off OFF y Y n N true True TRUE false False FALSE tRUE yEs oN
~ null Null NULL nULL none None
0 -0 +0 1 -1 +1 00 007 014 0777 08 09 0o14 0O14 0o8 0o -0o14 +0o14 0x1F 0X1f 0xg -0x1f 0b101 0B11 0b2 -0b11 0b-11 0b+1
1_000 1__0 _1 1_ 0x_ff 0b_ -_ +_1 0_7 0o_7 1_000.5 1_0e1_0
1.0 1. .5 -.5 +.5 .5e1 +.5e1 .7_9 ._5 .5_ .5__5 .e1 . .. - + 1.5 1.50 1.5e3 1e3 1E5 1e+1 1e-1 1e 1e+ e1 1e400 -1e400 .1e400 1e-400
0.1 100.25 1e21 1e20 1e19 1e18 1e-6 1e-7 123456789012345678 6063e25 0x1p4 0x1.8 infinity inf nan NaN Inf -inf +inf
9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
18446744073709551615 18446744073709551616 +18446744073709551615 0xFFFFFFFFFFFFFFFF +0xFFFFFFFFFFFFFFFF 0xfffffffffffffffffff
0777777777777777777777777777 4611686018427387904.0 9223372036854775808.0 -4611686018427387904.0
.inf .Inf .INF +.inf -.inf .nan .NaN .NAN .iNF
12:30 12:30:45 1:2 190:20:30.15 2024-01-01 2024-1-1 2024-02-30 2022-04-18T11:12:47 2022-04-18T11:12:47Z 2001-12-14t21:59:43.10-05:00
= << <<x !a !!str !!str@ ! !<tag:yaml.org,2002:str>x
a:b a#b a'b a"b a,b a]b a}b a[b {} [] [1] {a} {a:b} {a:1} {"a":1} {a,b} [a:b] [?a] [a?] [-] [-a] {?a} {-a} {a:,b:} {a:[]} [a,] [,] {,}
'' "" 'a' "a" "yes" 'no' "1" '~' "\x41" "\u00e9" "\U0001F600" "\ud83d\ude00" "\e" "\_" "\N" "\L" "\/" "\q" "\'" 'it''s' "a\tb" "\0"
@a `a %a *a &a &a,b |a >a ?a :a -a #a !a,b a%b a@b a*b a&b ?
- --- ---a ... ...a
""".split()  # noqa: SIM905  # the table is read as it would stand in YAML
LINES = (
    *(
        "a b",
        "a #b",
        "a: b",
        "a:  b",
        "a : b",
        "- a",
        "-  a",
        "? a",
        "yes no",
        "1 2",
        "1 # c",
        "'a' b",
        '"a" b',
        "'a' # c",
    ),
    *(
        "!!int 12",
        '!!int "12"',
        "!!int a",
        "!!int 1.5",
        '!!int ""',
        "!!float 1",
        "!!float 1.5",
        "!!float 0x10",
        "!!float a",
    ),
    *(
        "!!float 1e400",
        "!!float 18446744073709551615",
        "!!bool yes",
        '!!bool "on"',
        "!!bool 1",
        "!!null ''",
        "!!null x",
        "!!null ~",
    ),
    *(
        "!!str 12",
        "!!str yes",
        "!!str ~",
        "!!str",
        "!!str {a: 1}",
        "!foo x",
        "!foo 12",
        "!foo [1]",
        "! 12",
        '! "12"',
        "! yes",
    ),
    *(
        "!!binary aGVsbG8=",
        "!!binary 4oI=",
        "!!binary /w==",
        "!!binary aGVsbG8",
        "!!binary a b",
        '!!binary ""',
        "!!binary YQB=",
        "!!binary =YQ=",
    ),
    *(
        "!!timestamp 2024-01-01",
        "!!timestamp 2024-02-30",
        "!!timestamp x",
        "!!timestamp 2001-12-14 21:59:43.10",
        "!!timestamp 12",
    ),
    *(
        "!!set {a, b}",
        "!!omap [a: 1]",
        "!!pairs [a: 1]",
        "!!map x",
        "!!seq x",
        "!!merge x",
        "!!unknown x",
        "!e!foo x",
        "!<x> y",
        "!!float .inf",
    ),
    *(
        "{1: a}",
        "{1.50: a}",
        "{1e6: a}",
        "{1e-5: a}",
        "{1.23456789: a}",
        "{1e39: a}",
        "{-1e39: a}",
        "{0.1: a}",
        "{-0.0: a}",
        "{.inf: a}",
        "{.nan: a}",
    ),
    *(
        "{yes: a}",
        "{n: a}",
        "{~: a}",
        "{null: a}",
        "{: a}",
        '{"": a}',
        "{0x10: a}",
        "{014: a}",
        "{1_0: a}",
        "{2024-01-01: a}",
        "{12:30: a}",
    ),
    *(
        "{18446744073709551615: a}",
        "{18446744073709551616: a}",
        "{9223372036854775807: a}",
        "{123456.5: a}",
        "{1234567.5: a}",
        "{16777217.0: a}",
    ),
    *(
        "{[a]: b}",
        "{{a: b}: c}",
        "{{ x }}",
        "{? a : b}",
        "{? a, b}",
        "{!!str 1: a}",
        "{!!int '1': a}",
        "{!!binary YQ==: b}",
        "{!foo 1: a}",
        "{'<<': 1}",
        '{"<<": {a: 1}}',
    ),
    *(
        "[1, [2, {a: [3]}]]",
        "[a, b: c]",
        "[a: b, c]",
        "[? a : b]",
        "[a b, c d]",
        "[a\n b]",
        "{a: b\n  c}",
        "{a: b, }",
        "[a,,b]",
        "[a",
        "{a",
        "[a]]",
        "{a}}",
        "[a}",
    ),
    *(
        "{url: http://x:1/}",
        "{a:b: c}",
        '{"a":b}',
        "{'a':b}",
        "{a: -}",
        "{a: - b}",
        "[a: ]",
        "{a: 'b', \"c\": d}",
        "{a: !!int 1}",
        "[!!str 1]",
        "{a: b:c}",
        "{a :b}",
    ),
)
BLOCKS = (
    *(
        "|\n  a\n",
        "|\n  a",
        "|-\n  a\n",
        "|+\n  a\n\n",
        "|\n  a\n\n",
        ">\n  a\n  b\n",
        ">-\n  a\n\n  b\n",
        ">+\n  a\n",
        "|2\n  a\n",
        "|2-\n    a\n",
        "|-2\n   a\n",
        "|9\n  a\n",
    ),
    *(
        "|\n\n  a\n",
        "|\n   a\n  b\n",
        "|\n  a\n   b\n",
        ">\n  a\n   b\n  c\n",
        "|\n",
        "|-\n",
        "|\n\n",
        "| # c\n  a\n",
        "|x\n  a\n",
        "|\n  ---\n  a\n",
        "|\n  a\t\n",
        "|\n\ta\n",
        "|0\n  a\n",
    ),
    *(
        "\n  a\n  b\n",
        "\n  a\n\n  b\n",
        "\na\n",
        "\n  a: 1\n",
        "\n- a\n- b\n",
        "\n  - a\n  -\n  - b\n",
        "\n  - - a\n    - b\n",
        "\n  - a: 1\n    b: 2\n",
        "\n  -\ta\n",
        "\n  a:\t1\n",
        "\n\ta: 1\n",
    ),
    *(
        "\n  ? a\n  : b\n",
        "\n  ? a\n",
        "\n  ? [a]\n  : b\n",
        "\n  ? - a\n  : b\n",
        "\n  ? |\n    a\n  : b\n",
        "\n  ? a\n  :\n  - b\n",
        "\n  a:\n  - b\n  c:\n    - d\n",
        "\n  a:\n  b:\n",
    ),
    *(
        "\n  a: &x 1\n  b: *x\n",
        "\n  a: &x {b: 1}\n  c: {<<: *x, d: 2}\n",
        "\n  a: &x {b: 1}\n  c:\n    <<: *x\n    b: 2\n",
        "\n  a: &x {b: 1}\n  c: {b: 2, <<: *x}\n",
    ),
    *(
        "\n  a: &x {b: 1, c: 1}\n  d: &y {b: 2}\n  e: {<<: [*x, *y]}\n",
        "\n  a: &x {b: 1}\n  e: {<<: [{b: 3}, *x]}\n",
        "\n  a: &x {b: 1}\n  e: {!!merge <<: *x}\n",
        "\n  a: {<<: {b: {c: 1}}, d: 1}\n",
    ),
    *(
        "\n  a: &x [1]\n  b: {<<: *x}\n",
        "\n  a: {<<: 1}\n",
        "\n  a: {<<: }\n",
        "\n  a: {<<: [1]}\n",
        "\n  a: {<<: []}\n",
        "\n  a: &x [{b: 1}]\n  c: {<<: *x}\n",
        "\n  a: {! '<<': {b: 1}}\n",
        "\n  a: {<<: [[{b: 1}]]}\n",
    ),
    *(
        "\n  a: *x\n",
        "\n  a: &x [*x]\n",
        "\n  a: &x 1\n  b: &x 2\n  c: *x\n",
        "\n  &x a: 1\n  b: *x\n",
        "\n  &x a: 1\n  *x : 2\n",
        "\n  a: &x b\n  *x : 2\n",
        "\n  a: &x yes\n  *x : 2\n",
        "\n  a: &x ~\n  *x : 2\n",
    ),
    *(
        "\n  a: &x\n  b: *x\n",
        "\n  a: &x\n    b: 1\n  c: *x\n",
        "\n  a: &x !!str 1\n  b: *x\n",
        "\n  a: !!str &x 1\n  b: *x\n",
        "\n  a: &x &y 1\n",
        "\n  a: &x-1.y 1\n  b: *x-1.y\n",
        "\n  a: &x:y 1\n  b: *x:y\n",
        "\n  - &x a\n  - *x\n",
    ),
    *(
        "\n  a: 'x\n    y'\n",
        '\n  a: "x\n    y"\n',
        '\n  a: "x\\\n    y"\n',
        '\n  a: "x\n\n    y"\n',
        "\n  a: x\n    y\n",
        "\n  a: x\n  y\n",
        "\n  a: x\n    - y\n",
        "\n  a: x\n    b: y\n",
        '\n  a: "x\ny"\n',
        "\n  a: 'x\n---\n  y'\n",
    ),
    *(
        "\n  a: - b\n",
        "\n  - a\n b: c\n",
        "\n  a: 1\n b: 2\n",
        "\n  a: 1\n   b: 2\n",
        "\n  a:b\n  c: d\n",
        "\n  a\n  b: c\n",
        "\n  a: [1,\n2]\n",
        "\n  a: [1,\n  2]\n",
        "\n  a: {b: 1,\n  c: 2}\n",
        "\n  - a\n  b: c\n",
    ),
    *(
        " \t1\n",
        " 1\t\n",
        " 1\r\n",
        "\r\n  a: 1\r\n  b: |\r\n    x\r\n    y\r\n",
        " 'a\r\n  b'\r\n",
        "\r  a: 1\r",
        "\n  # c\n  a: 1 # d\n  # e\n",
        " # c\n  a\n",
        "\n  a: é 🚀\n",
        "\n  é: 1\n",
        "\n  a: x\u2028y\n",
        "\n  a: x\u0085y\n",
    ),
    *(
        "\n  a: \u00a0\n",
        "\n  a: \ufeffb\n",
        "\n\ufeff  a: 1\n",
        "\n  a: \u200bb\n",
        "\n  a: \ufffd\n",
        "\n  a: \uffff\n",
        "\n  a: \U0001ffff\n",
        "\n  a: \u007f\n",
        "\n  a: \u0080\n",
        "\n  a: \u001b\n",
        "\n  a: \x00\n",
        "\n  a: x\u2029  y\n",
    ),
    "\n  " + "k" * 1000 + ": v\n",
    "\n  " + "k" * 1030 + ": v\n",
    "\n  ? " + "k" * 1030 + "\n  : v\n",
    "\n  '" + "k" * 1030 + "': v\n",
)
FRAGMENTS = tuple(
    dict.fromkeys(
        [*(f" {text}\n" for text in (*SCALARS, *LINES)), *(b if b[0] in "\r\n " else f" {b}" for b in BLOCKS)]
    )
)

OBJECT = "apiVersion: v1\nkind: Probe\nmetadata:\n  name: a\n"
OTHER = OBJECT.replace("name: a", "name: b")
JSON = '{"apiVersion": "v1", "kind": "Probe", "metadata": {"name": "j"}'
STREAMS = {
    "one document": OBJECT,
    "two documents": f"{OBJECT}---\n{OTHER}",
    "leading separator": f"---\n{OBJECT}",
    "trailing separator": f"{OBJECT}---\n",
    "empty documents": f"# c\n---\n---\n\n---\n{OBJECT}---\n---\n# d\n---\n{OTHER}---\n",
    "separator with a comment": f"--- # one\n{OBJECT}--- # two\n{OTHER}",
    "separator with blanks": f"---  \t\n{OBJECT}---   \n{OTHER}",
    "null documents": f"null\n---\n~\n---\n{OBJECT}---\nnull\n",
    "document end": f"{OBJECT}...\n---\n{OTHER}...\n",
    "CRLF": f"{OBJECT}---\n{OTHER}".replace("\n", "\r\n"),
    "byte order mark": f"\ufeff{OBJECT}",
    "byte order mark after separator": f"\ufeff{OBJECT}---\n\ufeff{OTHER}",
    "separator in block scalar": f"{OBJECT}text: |\n  a\n  ---\n  b\n",
    "three dashes in a string": f'{OBJECT}text: "a --- b"\n',
    "YAML directive 1.1": f"%YAML 1.1\n---\n{OBJECT}",
    "YAML directive 1.2": f"%YAML 1.2\n---\n{OBJECT}",
    "TAG directive": f"%TAG !e! tag:e,2000:\n---\n{OBJECT}",
    "unknown directive": f"%FOO\n---\n{OBJECT}",
    "no final newline": OBJECT.rstrip("\n"),
    "nothing": "",
    "only a comment": "# c\n",
    "only separators": "---\n---\n",
    "JSON": JSON + "}",
    "JSON with numbers": JSON
    + ', "v": [1.0, 1e3, -0, 18446744073709551615, 123456789012345678901, 0.5, 1e-7, 1E400]}',
    "JSON with integers": JSON
    + ', "v": [1.0, 1e3, -0, 18446744073709551615, 123456789012345678901, 0.5, 4611686018427387904.0]}',
    "JSON with surrogate escapes": JSON + ', "v": "\\ud83d\\ude00 \\ud800 \\udc00x", "\\ud800": 1}',
    "JSON with tabs": JSON.replace(" ", "\t").replace(",", ",\n\t") + "\n}",
    "JSON with a byte order mark": "\ufeff" + JSON + "}",
    "JSON with escapes": JSON + ', "v": "\\/\\b\\f\\n\\r\\t\\u00e9\\u0085\\u001f"}',
    "JSON with an unknown escape": JSON + ', "v": "\\x41"}',
    "JSON with a raw tab": JSON + ', "v": "a\tb"}',
    "JSON with a raw DEL": JSON + ', "v": "a\x7fb"}',
    "JSON twice": f"{JSON}}}\n{JSON}}}",
    "JSON with a separator": f"{JSON}}}\n---\n{JSON}}}\n---\n",
    "JSON then YAML": f"{JSON}}}\n---\n{OBJECT}",
    "YAML then JSON": f"{OBJECT}---\n{JSON}}}",
    "JSON with a comma too many": JSON + ",}",
    "JSON with NaN": JSON + ', "v": NaN}',
    "JSON with a YAML word": JSON + ', "v": yes}',
    "JSON cut short": JSON,
    "flow mapping": "{apiVersion: v1, kind: Probe, metadata: {name: f}, v: yes}",
    "JSON with a long key": JSON + ', "' + "k" * 2000 + '": 1}',
    "JSON with a comment": JSON + "} # c",
}
#: Where we refuse on purpose what kubectl takes.
STRICTER = {
    b' "\\0"\n': "NUL can stand in no Kubernetes object, file name or environment variable",
    b"\n  &x a: 1\n  *x : 2\n": "a duplicate key, by way of an alias",
    b" {a:,b:}\n": "libyaml 0.2 sees no plain scalar in 'a:,'; nobody writes this",
    b' "\\\'"\n': "no escape of YAML; goyaml is more lenient than any standard",
    b" !a,b\n": "a tag may not hold a comma; the tag would be thrown away",
    "JSON with a raw DEL": "a raw control character in an input is an error, in JSON too",
}
#: Where we read on purpose what kubectl refuses or drops; there is one meaning it can have.
MORE_LENIENT = {
    b" [a?]\n": "YAML 1.2 allows the question mark",
    b' "\\/"\n': "YAML 1.2 and JSON have this escape",
    "\n\ufeff  a: 1\n".encode(): "kubectl counts the byte order mark as indentation and drops the value",
    "JSON with a comment": "kubectl has read the object when it stumbles over the comment",
}


def test_every_fragment_means_what_kubectl_says(
    kubectl_values: Callable[[list[bytes]], list[Any]], our_value: Callable[[bytes], Any], refused: object
) -> None:
    fragments = [text.encode() for text in FRAGMENTS]
    expected = kubectl_values(fragments)
    differences = {
        fragment: (ours, theirs)
        for fragment, theirs in zip(fragments, expected, strict=True)
        if (ours := our_value(fragment)) != theirs or type(ours) is not type(theirs)
    }
    known = {*STRICTER, *MORE_LENIENT}
    assert {fragment: pair for fragment, pair in differences.items() if fragment not in known} == {}
    assert {fragment for fragment, (ours, _) in differences.items() if ours is refused} == _fragments(
        STRICTER
    )
    assert differences.keys() == _fragments(STRICTER) | _fragments(MORE_LENIENT)


def _fragments(differences: dict[Any, str]) -> set[bytes]:
    return {fragment for fragment in differences if isinstance(fragment, bytes)}


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_holds_the_documents_that_kubectl_finds(
    name: str, kubectl_documents: Callable[[bytes], Any], refused: object
) -> None:
    content = STREAMS[name].encode()
    documents, findings = read(Source("stream.yaml", content))
    ours = refused if findings else [document.data for document in documents]
    theirs = kubectl_documents(content)
    if name in STRICTER:
        assert ours is refused
        assert theirs is not refused
    elif name in MORE_LENIENT:
        assert ours is not refused
        assert theirs is refused
    else:
        # kubectl knows no input without objects; for us that is for the caller to judge.
        assert ours == ([] if theirs == refused and ours == [] else theirs)
