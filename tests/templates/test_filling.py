"""A template gives the same data whether it is filled from its skeleton or rendered by Jinja2; values are never YAML."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sedna_render import template_files, yaml_writer
from sedna_render.findings import InputError
from sedna_render.templates import Templates, TemplateText

SHIPPED, _PROBLEMS = template_files.read()
HOSTILE = [
    "",
    " ",
    "x: {y}",
    "a\n- b\nc: d",
    "{{ 7*7 }}",
    "{% raw %}",
    "{#",
    "*alias",
    "&anchor",
    "!!python/object:os.system x",
    "<<",
    "# no comment",
    "'\"\\",
    "---",
    "...",
    "null",
    "yes",
    "0x10",
    "1e3",
    "\ue000",
    "\ue0000.",
    "\ue000\ue0001.",
    "\\ue0000.",
    "\u2028\x85\ufeff",
    "\t",
    "${HOME} $(x)",
    "🚀",
]

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), texts)
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def variables(text: str) -> list[str]:
    return sorted(set(re.findall(r"\{\{ (\w+) \}\}", text)))


def templates(**files: str) -> Templates:
    """Templates from texts; ``name`` stands for ``name.yaml``."""
    return Templates(
        {f"{key}.yaml": TemplateText(f"{key}.yaml", f"mine/{key}.yaml", text) for key, text in files.items()}
    )


def both(name: str, text: str, values: dict[str, Any]) -> tuple[Any, Any]:
    """What the two ways give: data, or the messages of the error."""

    def attempt(way: str) -> Any:
        template = Templates({**SHIPPED, name: TemplateText(name, f"mine/{name}", text)})[name]
        try:
            return getattr(template, way)(values).data
        except InputError as problem:
            return [finding.message for finding in problem.findings]

    return attempt("fill"), attempt("render")


def test_the_templates_that_ship_are_read_without_a_finding() -> None:
    assert _PROBLEMS == []
    assert {"pod.yaml", "deployment.yaml", "service.nodeport.yaml", "worker.edge.yaml"} <= SHIPPED.keys()


@pytest.mark.parametrize("name", sorted(SHIPPED))
@given(data=st.data())
def test_both_ways_give_the_same_bytes_for_what_ships(name: str, data: st.DataObject) -> None:
    text = SHIPPED[name].text
    values = {variable: data.draw(nested, label=variable) for variable in variables(text)}

    filled, rendered = both(name, text, values)

    assert filled == rendered
    assert json.dumps(filled) == json.dumps(rendered)  # the order of fields too


KEYS = st.sampled_from(["a", "b", "spec", "env", "name", "value"])
LEAVES = st.sampled_from(
    [
        "plain",
        "{{ one }}",
        "{{two}}",
        "{{- one -}}",
        '"{{ one }}"',
        "'{{ two }}'",
        "x{{ one }}y",
        '"{{ one }}: {{ two }} # {{ one }}"',
        "null",
        "5",
        "[]",
        "{}",
        "[{{ one }}, {{ two }}]",
        "{a: {{ one }}}",
        "|\n{indent}text {{ one }}\n{indent}more",
    ]
)


def written(tree: Any, indent: str = "") -> str:
    """A tree of mappings, lists and leaves as the text of a template."""
    if isinstance(tree, dict):
        return (
            "".join(f"\n{indent}{key}: {written(value, indent + '  ')}" for key, value in tree.items())
            or "{}"
        )
    if isinstance(tree, list):
        return "".join(f"\n{indent}- {written(value, indent + '  ')}" for value in tree) or "[]"
    return str(tree).replace("{indent}", indent or "  ")


trees = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: (
            st.dictionaries(KEYS, inner, min_size=1, max_size=3) | st.lists(inner, min_size=1, max_size=3)
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


@given(tree=trees, one=nested, two=nested)
def test_both_ways_give_the_same_data_for_any_template_of_plain_variables(
    tree: Any, one: Any, two: Any
) -> None:
    filled, rendered = both("pod.yaml", f"{written(tree).lstrip()}\n", {"one": one, "two": two})

    assert filled == rendered


@given(values=st.lists(texts, min_size=2, max_size=2, unique=True))
def test_a_value_comes_back_as_it_is_whatever_it_holds(values: list[str]) -> None:
    first, second = values
    text = 'a: {{ one }}\nb: "{{ one }}"\nc: [{{ two }}]\nd: {e: {{ one }}}\nf: {{ one }} and {{ two }}\n'

    for way in both("pod.yaml", text, {"one": first, "two": second}):
        assert way == {
            "a": first,
            "b": first,
            "c": [second],
            "d": {"e": first},
            "f": f"{first} and {second}",
        }


@given(value=nested)
def test_a_value_keeps_its_type(value: Any) -> None:
    assume(value is not None)

    for way in both("pod.yaml", "a: {{ one }}\n", {"one": value}):
        assert way == {"a": value}
        assert type(way["a"]) is type(value)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_cannot_bring_a_field_of_its_own_into_the_output(value: str) -> None:
    for way in both("pod.yaml", "spec:\n  name: {{ one }}\n  other: 1\n", {"one": value}):
        assert way == {"spec": {"name": value, "other": 1}}
        assert yaml_writer.dump(way).count("other: 1") >= 1


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        pytest.param("a: {{ one }}\nb: 1\n", None, {"b": 1}, id="null-field-is-left-out"),
        pytest.param("a: [{{ one }}, 1]\n", None, {"a": [1]}, id="null-item-is-left-out"),
        pytest.param("a: x{{ one }}\n", None, {"a": "x"}, id="null-in-text-is-empty"),
        pytest.param("a: x{{ one }}\n", True, {"a": "xtrue"}, id="boolean-in-text"),
        pytest.param("a: x{{ one }}\n", 5, {"a": "x5"}, id="number-in-text"),
        pytest.param(
            "env: [{name: A, value: {{ one }}}, {name: B}]\n", None, {"env": [{"name": "B"}]}, id="env-entry"
        ),
        pytest.param(
            "env: [{name: A, valueFrom: {secretKeyRef: {name: {{ one }}, key: k}}}]\n",
            None,
            {"env": []},
            id="env-reference",
        ),
        pytest.param("a: {{ one }}\n", None, {}, id="nothing-left"),
    ],
)
def test_a_null_leaves_out_what_it_stands_for(text: str, value: Any, expected: Any) -> None:
    assert both("pod.yaml", text, {"one": value}) == (expected, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: {% if flag %}yes-text{% else %}no-text{% endif %}\n", {"a": "yes-text"}, id="if"),
        pytest.param(
            "a:\n{% for item in items %}\n  - {{ item }}\n{% endfor %}\n", {"a": ["x: {y}", "2"]}, id="for"
        ),
        pytest.param(
            "a:\n{% for item in items %}\n  - name: n{{ loop.index }}\n    value: {{ item }}\n{% endfor %}\n",
            {"a": [{"name": "n1", "value": "x: {y}"}, {"name": "n2", "value": "2"}]},
            id="loop-index",
        ),
        pytest.param(
            "{% macro pair(name, value) %}{name: {{ name }}, value: {{ value }}}{% endmacro %}a: {{ pair('n', text) }}\n",
            {"a": "{name: n, value: x: {y}\n}"},
            id="macro-is-text",
        ),
        pytest.param("{% set whole = text %}a: {{ whole }}\n", {"a": "x: {y}\n"}, id="set"),
        pytest.param("a: {{ text | upper }}\n", {"a": "X: {Y}\n"}, id="filter"),
        pytest.param("a: {{ items | length }}\n", {"a": 2}, id="filter-keeps-the-type"),
        pytest.param("a: {{ items | join(', ') }}\n", {"a": "x: {y}, 2"}, id="join"),
        pytest.param("a: {{ nothing | default('d', true) }}\n", {"a": "d"}, id="default"),
        pytest.param("a: {{ mapping.k }}\nb: {{ mapping['k'] }}\n", {"a": "v", "b": "v"}, id="attribute"),
        pytest.param("a: {{ items[0] ~ '!' }}\n", {"a": "x: {y}!"}, id="concatenation"),
        pytest.param(
            "{% set whole %}{{ text }}|{{ nothing }}|{{ flag }}{% endset %}a: {{ whole }}\n",
            {"a": "x: {y}\n||true"},
            id="captured",
        ),
        pytest.param(
            "a: {{ marks[0] }}\nb: {{ marks[1] }}\nc: {{ marks[1] | upper }}\n",
            {"a": "\ue0000.", "b": "\ue0000.", "c": "\ue0000."},
            id="marks",
        ),
        pytest.param(
            "{% set w %}{{ marks[0] }}-{{ marks[1] }}{% endset %}a: {{ w }}\n",
            {"a": "\ue0000.-\ue0000."},
            id="captured-marks",
        ),
        pytest.param("{# a comment\n with lines #}a: 1\n", {"a": 1}, id="comment"),
        pytest.param("a: {{ {'k': items} }}\n", {"a": {"k": ["x: {y}", "2"]}}, id="literal"),
        pytest.param("{% include 'other.yaml' %}\n", {"b": "x: {y}\n"}, id="include"),
    ],
)
def test_the_language_of_jinja2_works_and_values_stay_values(text: str, expected: Any) -> None:
    values: dict[str, Any] = {
        "flag": True,
        "items": ["x: {y}", "2"],
        "text": "x: {y}\n",
        "nothing": None,
        "mapping": {"k": "v"},
    }
    values["marks"] = ["\ue0000.", "\ue0000."]

    got = templates(mine=text, other="b: {{ text }}")["mine.yaml"].fill(values).data

    assert got == expected
    assert json.loads(json.dumps(got)) == expected  # plain types only, no Markup, no lazy strings


def test_a_jinja2_template_is_filled_anew_for_every_service() -> None:
    template = templates(mine="a: {% if n %}{{ n }}{% else %}none{% endif %}\n")["mine.yaml"]

    assert [template.fill({"n": n}).data for n in (1, 0, "x")] == [{"a": 1}, {"a": "none"}, {"a": "x"}]


def test_filling_twice_does_not_share_what_the_first_caller_may_change() -> None:
    template = templates(mine="a: {{ n }}\nb: {c: [1]}\n")["mine.yaml"]

    first, second = template.fill({"n": 1}).data, template.fill({"n": 2}).data

    assert (first["a"], second["a"]) == (1, 2)


@pytest.mark.parametrize(
    "expression",
    [
        "''.__class__.__mro__",
        "''.__class__",
        "items.append('x')",
        "mapping.update({'a': 1})",
        "mapping.__init__.__globals__",
        "self.__init__.__globals__",
        "cycler.__init__.__globals__.os.system('true')",
        "''|attr('__class__')|attr('__mro__')",
        "items.__iter__.__func__",
        "'{0.__class__}'.format(text)",
        "range(10**9)|list",
    ],
)
def test_the_sandbox_lets_no_expression_out(expression: str) -> None:
    values = {"items": ["1"], "mapping": {"k": "v"}, "text": "t"}

    with pytest.raises(InputError) as raised:
        templates(mine=f"b: 1\na: {{{{ {expression} }}}}\n")["mine.yaml"].fill(values)

    [finding] = raised.value.findings
    assert finding.location.line == 2
    assert values == {"items": ["1"], "mapping": {"k": "v"}, "text": "t"}


@pytest.mark.parametrize("expression", ["[1, 2]|random", "lipsum()"])
def test_nothing_of_chance_is_there(expression: str) -> None:
    with pytest.raises(InputError):
        templates(mine=f"a: {{{{ {expression} }}}}\n")["mine.yaml"].fill({})
