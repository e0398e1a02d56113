"""The validator: schemas become closures, each made when a value first reaches it; what is wrong is raw data here.

Knows JSON Schema as Kubernetes' CRDs use it ("structural" schemas) and no kind; reads its own package's
``schemas`` folder and nothing else.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sedna_render.findings import Path

Schema = dict[str, Any]

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "schemas")
OPEN = "x-kubernetes-preserve-unknown-fields"

UNKNOWN = "unknown"
MISSING = "missing"
TYPE = "type"
RANGE = "range"
PATTERN = "pattern"
ENUM = "enum"

#: Classes of the values that a leaf without further conditions accepts.
_PLAIN = {"string": str, "boolean": bool}
_BITS = {"int32": 31, "int64": 63}
_UNITS = frozenset(("", "n", "u", "m", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti", "P", "Pi", "E", "Ei"))


class Node(NamedTuple):
    """A schema together with the file that its references are relative to."""

    schema: Schema
    file: str


class Problem(NamedTuple):
    """One thing that is wrong: the steps to it from the inside out (parents append theirs), what, and what was wanted."""

    steps: list[str | int]
    what: str
    schema: Schema
    value: Any

    @property
    def path(self) -> Path:
        """The steps from the top of the document."""
        return tuple(reversed(self.steps))


Check = Callable[[Any], "list[Problem] | None"]

_files: dict[str, Schema] = {}
_checks: dict[str, Check] = {}


def load(file: str) -> Schema:
    """The parsed schema file of that name, read once."""
    if file not in _files:
        with open(os.path.join(FOLDER, file), encoding="utf-8") as stream:
            _files[file] = json.load(stream)
    return _files[file]


def resolve(node: Node) -> Node:
    """The node itself or, if it is only a reference, the one that it leads to."""
    while "$ref" in node.schema:
        file, _, pointer = node.schema["$ref"].partition("#")
        schema = load(file or node.file)
        for step in pointer.split("/")[1:]:
            schema = schema[step]
        node = Node(schema, file or node.file)
    return node


def child(node: Node, step: str | int) -> Node | None:
    """The schema of a field or an item; None where the schema knows none."""
    schema = node.schema
    below = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
    if below is None and isinstance(step, str):
        below = schema.get("additionalProperties")
    return None if below is None else resolve(Node(below, node.file))


def root(file: str) -> Node:
    """The top of the schema in that file."""
    return resolve(Node(load(file), file))


def check(file: str, data: Any) -> list[Problem]:
    """Everything in which `data` departs from the schema in that file; never raises."""
    checker = _checks.get(file)
    if checker is None:
        checker = _checks[file] = prepare(root(file))
    return checker(data) or []


#: One closure for one schema, however many references lead to it.
_prepared: dict[int, Check] = {}


def prepare(node: Node) -> Check:
    """The closure that checks a value against a schema."""
    node = resolve(node)
    checker = _prepared.get(id(node.schema))  # schemas are never freed: see _files
    if checker is None:
        checker = _prepared[id(node.schema)] = _closure(node)
    return checker


def _closure(node: Node) -> Check:
    schema = node.schema
    kind = schema.get("type")
    if kind == "object":
        return _map(node) if "additionalProperties" in schema else _object(node)
    if kind == "array":
        return _list(node)
    if kind is None:
        return _anything
    if kind == "integer":
        return _integer(schema)
    if kind == ["integer", "string"]:
        return _integer_or_string(schema)
    return _leaf(schema, _PLAIN[kind])


def _anything(value: Any) -> None:
    del value


def _under(found: list[Problem] | None, step: str | int, problems: list[Problem]) -> list[Problem]:
    """The problems found so far and those of one value, told where that value lies."""
    for problem in problems:
        problem.steps.append(step)
    if found is None:
        return problems
    found += problems
    return found


def _plain_class(schema: Schema) -> type | None:
    """The class that is all a value needs to be right, if a class is all it takes."""
    if "enum" in schema or "pattern" in schema or not isinstance(schema.get("type"), str):
        return None
    return _PLAIN.get(schema["type"])


def _object(node: Node) -> Check:  # noqa: C901 - the hot loop: a function less to call
    schema = node.schema
    properties = schema.get("properties", {})
    wants = _wants(node, properties)
    want_of = wants.get
    required = tuple(schema.get("required", ()))
    is_open = OPEN in schema

    def check_object(value: Any) -> list[Problem] | None:
        if value.__class__ is not dict:
            return [Problem([], TYPE, schema, value)]
        found: list[Problem] | None = None
        for name, item in value.items():
            want = want_of(name)
            if want is item.__class__:
                continue
            if want is None:
                problems = None if is_open else [Problem([], UNKNOWN, schema, None)]
            elif item is None:  # a null field is an absent one
                continue
            elif want.__class__ is type:
                problems = [Problem([], TYPE, properties[name], item)]
            else:
                problems = want(item)
            if problems:
                found = _under(found, name, problems)
        for name in required:
            if value.get(name) is None:
                found = _under(found, name, [Problem([], MISSING, schema, name in value)])
        return found

    return check_object


def _wants(node: Node, properties: Schema) -> dict[str, Check | type]:
    """What each field has to be: of a class, or accepted by a closure that is made when first needed."""
    wants: dict[str, Check | type] = {}

    def on_demand(name: str) -> Check:
        def make_and_check(value: Any) -> list[Problem] | None:
            checker = wants[name] = prepare(Node(properties[name], node.file))
            return checker(value)

        return make_and_check

    for name, sub in properties.items():
        wants[name] = _plain_class(sub) or on_demand(name)
    return wants


def _map(node: Node) -> Check:
    schema = node.schema
    values = resolve(Node(schema["additionalProperties"], node.file))
    plain = _plain_class(values.schema)
    checker = prepare(values)

    def check_map(value: Any) -> list[Problem] | None:
        if value.__class__ is not dict:
            return [Problem([], TYPE, schema, value)]
        found: list[Problem] | None = None
        for name, item in value.items():
            if item.__class__ is not plain:
                problems = checker(item)
                if problems:
                    found = _under(found, name, problems)
        return found

    return check_map


def _list(node: Node) -> Check:
    schema = node.schema
    items = resolve(Node(schema["items"], node.file))
    plain = _plain_class(items.schema)
    checker = prepare(items)

    def check_list(value: Any) -> list[Problem] | None:
        if value.__class__ is not list:
            return [Problem([], TYPE, schema, value)]
        found: list[Problem] | None = None
        for index, item in enumerate(value):
            if item.__class__ is not plain:
                problems = checker(item)
                if problems:
                    found = _under(found, index, problems)
        return found

    return check_list


def _leaf(schema: Schema, wanted: type) -> Check:
    allowed = schema.get("enum")
    pattern = re.compile(schema["pattern"].removesuffix("$") + r"\Z") if "pattern" in schema else None

    def check_leaf(value: Any) -> list[Problem] | None:
        if value.__class__ is not wanted:
            return [Problem([], TYPE, schema, value)]
        if allowed is not None and value not in allowed:
            return [Problem([], ENUM, schema, value)]
        if pattern is not None and not pattern.match(value):
            return [Problem([], PATTERN, schema, value)]
        return None

    return check_leaf


def _integer(schema: Schema) -> Check:
    limit = 1 << _BITS.get(schema.get("format", ""), 63)

    def check_integer(value: Any) -> list[Problem] | None:
        if value.__class__ is not int:
            return [Problem([], TYPE, schema, value)]
        return None if -limit <= value < limit else [Problem([], RANGE, schema, value)]

    return check_integer


def _integer_or_string(schema: Schema) -> Check:
    source = schema.get("pattern")
    limit = 1 << 63

    def check_integer_or_string(value: Any) -> list[Problem] | None:
        if value.__class__ is str:
            if source is None or _is_simple_quantity(value) or _matches(source, value):
                return None
            return [Problem([], PATTERN, schema, value)]
        if value.__class__ is not int:
            return [Problem([], TYPE, schema, value)]
        return None if -limit <= value < limit else [Problem([], RANGE, schema, value)]

    return check_integer_or_string


def _is_simple_quantity(text: str) -> bool:
    """Whether the text is digits and a unit, as nearly every quantity is; spares compiling the pattern (0.5 ms)."""
    digits = text.rstrip("EGKMPTikmnu")
    return digits.isdecimal() and digits.isascii() and text[len(digits) :] in _UNITS


def _matches(pattern: str, text: str) -> bool:
    return re.match(pattern.removesuffix("$") + r"\Z", text) is not None
