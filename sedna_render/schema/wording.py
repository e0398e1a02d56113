"""What a departure from a schema is called, and how a person mends it: raw problems become rule, message and remedy.

Pure; reached only when something is wrong. No message holds a value that could be a secret.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sedna_render.findings import Path, field_text
from sedna_render.schema import closures, misplaced

if TYPE_CHECKING:
    from sedna_render.schema.closures import Node, Problem, Schema
    from sedna_render.schema.misplaced import Guess

#: A field with one of these above it may hold a password or a token.
_PRIVATE = frozenset(
    (
        "env",
        "envFrom",
        "args",
        "command",
        "annotations",
        "data",
        "stringData",
        "parameters",
        "value",
        "httpHeaders",
        "volumeAttributes",
        "options",
    )
)
_SHOWN = 40
_SHOWN_PRIVATE = 5
_LISTED = 20
_LARGEST = 1 << 53
_PLAIN_KEY = re.compile(r"[A-Za-z][\w./-]{0,62}\Z")
_WANTED = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "a map",
    "array": "a list",
}
#: What to write where the schema knows no more than a type.
_EXAMPLES = {
    "format": "pb (or onnx, ckpt, pt …: what the model is; nothing is decided by it)",
    "url": "/folder/file (of the node), or s3://bucket/key, https://host/path, pvc://claim/path",
    "hardExampleMining": "{name: IBT} (the library knows Threshold, CrossEntropy, IBT, Random, CloudOnly, EdgeOnly, "
    "BertRouter)",
    "template": "{spec: {containers: [{name: …, image: …}]}}",
}
_WORDS_OF = {True: "yes, on and y", False: "no, off and n"}

Words = tuple[str, str, str]


def words(top: Node, problem: Problem, guess: Guess | None) -> Words:
    """Rule, message and remedy for one problem in a document whose schema is `top`; `guess` is what was meant."""
    path = problem.path
    if problem.what == closures.UNKNOWN:
        return ("unknown-field", *_unknown(top, path, guess))
    if problem.what == closures.MISSING:
        return ("missing-field", *_missing(top, path, is_null=problem.value))
    return ("wrong-type", *_wrong(path, problem))


def shown(text: str, limit: int = _SHOWN) -> str:
    """A name or value in a message: quoted where that makes it clearer, one line, cut when long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return cut if _PLAIN_KEY.match(cut) else json.dumps(cut, ensure_ascii=not cut.isprintable())


def _is_private(path: Path) -> bool:
    return any(step in _PRIVATE for step in path)


# Unknown fields


def _unknown(top: Node, path: Path, guess: Guess | None) -> tuple[str, str]:
    name = shown(str(path[-1]))
    if guess is None:
        return f"there is no field {name} here", _known_fields(top, path[:-1])
    home = guess.path[:-1]
    if home == path[:-1]:
        return f"there is no field {name} here (did you mean {guess.name}?)", f"write {guess.name}"
    place = (
        f"a field of {field_text(home)}"
        if home
        else "a field of the object itself, beside apiVersion and kind"
    )
    message = f"there is no field {name} here (it is {place})"
    if home == path[:-2]:
        return message, f"it is indented one level too deep: move it out, beside {path[-2]}"
    return message, f"move it to {field_text(home)}" if home else "move it out to the beginning of the line"


def _known_fields(top: Node, parent: Path) -> str:
    names = sorted(name for name in misplaced.fields_at(top, parent) if name != "status")
    if not names:
        return "remove it: no fields are known here"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"remove it, or use a field that is known here: {', '.join(names[:_LISTED])}{more}"


# Missing fields


def _missing(top: Node, path: Path, *, is_null: bool) -> tuple[str, str]:
    name = str(path[-1])
    owner = field_text(path[:-1]) or "the object"
    if name == "template" and is_null:
        message = "template is null, which counts as missing: is spec below it not indented?"
        return message, "indent spec and what belongs to it two spaces more than template"
    message = (
        f"{name} is null, which counts as missing, and {owner} needs it"
        if is_null
        else f"{owner} needs {name}"
    )
    node = misplaced.node_at(top, path)
    return message, f"add {_example(name, node.schema if node else {})}"


def _example(name: str, schema: Schema) -> str:
    kind = schema.get("type")
    if "enum" in schema:
        return f"{name}: {schema['enum'][0]}"
    if name in _EXAMPLES:
        return f"{name}: {_EXAMPLES[name]}"
    if kind == "object":
        return f"{name}: with {_some_fields(schema)} below it"
    return f"{name}: …" if kind != "array" else f"{name}: with entries that start with a dash"


def _some_fields(schema: Schema) -> str:
    names = schema.get("required") or sorted(schema.get("properties", {}))[:3]
    return " and ".join(names) or "its fields"


# Values of a wrong type


def _wrong(path: Path, problem: Problem) -> tuple[str, str]:
    value, schema = problem.value, problem.schema
    if problem.what == closures.RANGE:
        bits = 32 if schema.get("format") == "int32" else 64
        limit = 1 << (bits - 1)
        return f"the number does not fit into {bits} bits", f"write a number from {-limit} to {limit - 1}"
    if problem.what == closures.ENUM:
        return _not_allowed(value, schema)
    if problem.what == closures.PATTERN:
        return _not_in_form(path, value, schema)
    wanted = _wanted(schema)
    message = f"{_found(path, value)} stands where {wanted} is wanted"
    return message, _remedy(path, value, schema)


def _not_allowed(value: str, schema: Schema) -> tuple[str, str]:
    allowed = schema["enum"]
    alike = [name for name in allowed if name.lower() == value.lower()]
    options = " or ".join((", ".join(allowed[:-1]), allowed[-1])) if len(allowed) > 1 else allowed[0]
    return f"{shown(value)} is not one of its values ({options})", f"write {alike[0] if alike else options}"


def _not_in_form(path: Path, value: str, schema: Schema) -> tuple[str, str]:
    text = "the text" if _is_private(path) else shown(value)
    if schema["type"] == "string":
        return (
            f"{text} has not the form {schema['pattern'].strip('^$')}",
            "write two whole numbers: 30000-32767",
        )
    return (
        f"{text} is not a quantity (a number and a unit)",
        "write it without blanks, with a unit of Kubernetes: 500m, 2, 64Mi, 1.5Gi",
    )


def _wanted(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "a quantity" if "pattern" in schema else "a whole number or a string"
    return _WANTED[str(kind)]


def _found(path: Path, value: Any) -> str:
    """What stands there: its type and, where that is harmless, the value."""
    if value is None:
        return "null"
    if value is True or value is False:
        return f"the boolean {_scalar(value)}"
    if isinstance(value, (int, float)):
        text = _number(path, value)
        return f"the number {text}" if text else "a number"
    if isinstance(value, str):
        return (
            "a string" if _is_private(path) else f"the string {json.dumps(_cut(value), ensure_ascii=False)}"
        )
    return "a list" if isinstance(value, list) else "a map"


def _cut(text: str) -> str:
    clean = text if text.isprintable() else json.dumps(text)[1:-1]
    return clean if len(clean) <= _SHOWN else clean[: _SHOWN - 1] + "…"


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _number(path: Path, value: float) -> str:
    """The number, or nothing where it is long or may be a secret."""
    if isinstance(value, int) and value.bit_length() > 128:  # noqa: PLR2004 - repr of a huge number raises
        return ""
    text = repr(value)
    limit = _SHOWN_PRIVATE if _is_private(path) else _SHOWN
    return text if len(text) <= limit else ""


def _remedy(path: Path, value: Any, schema: Schema) -> str:
    kind = schema.get("type")
    if kind == "object":
        return _as_map(value, schema)
    if kind == "array":
        return _as_list(path, value, schema)
    if kind == "string" or isinstance(kind, list):
        return _as_string(path, value, schema)
    return _unquoted(path, value, str(kind))


def _entry(path: Path, text: str) -> str:
    """The line to write: the field with its value, or a list's entry."""
    step = path[-1] if path else ""
    if isinstance(step, int):
        return f"- {text}"
    return f"{step}: {text}" if _PLAIN_KEY.match(step) else text


def _as_string(path: Path, value: Any, schema: Schema) -> str:
    kind = schema["type"]
    if value is None:
        empty = 'write "" for an empty string, or ' if kind == "string" else ""
        return f"{empty}leave the entry out"
    if isinstance(value, bool) and kind != "string":
        return f"write {_wanted(schema)}"
    if value is True or value is False:
        quoted = _entry(path, f'"{_scalar(value)}"')
        return f"write {quoted} (YAML reads {_WORDS_OF[value]} without quotes as {_scalar(value)} too: quote the word meant)"
    if isinstance(value, (int, float)):
        text = _number(path, value)
        if not text:
            return "put the number in quotes, as it stands in the file"
        return f"write {_entry(path, json.dumps(text))}"
    if isinstance(value, list):
        return "write one string, not a list"
    return "write one string; quote it if it starts with a brace or holds a colon and a blank"


def _unquoted(path: Path, value: Any, kind: str) -> str:
    if isinstance(value, str):
        text = value.strip().lower()
        if kind == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text) and not _is_private(path):
            return f"write {_entry(path, str(int(text)))} without quotes"
        if kind == "boolean" and text in {"true", "false"}:
            return f"write {_entry(path, text)} without quotes"
    if kind == "integer" and isinstance(value, float) and abs(value) < _LARGEST and value.is_integer():
        return f"write {_entry(path, str(int(value)))}"
    return f"write {_WANTED[kind]}"


def _as_map(value: Any, schema: Schema) -> str:
    if isinstance(value, list) and len(value) == 1:
        return "take away the dash: it is one map, not a list of them"
    if value is None:
        return "fill the entry in, or leave it out"
    fields = "" if "additionalProperties" in schema else f" ({_some_fields(schema)})"
    return f"write its fields{fields} on lines of their own, indented below it"


def _as_list(path: Path, value: Any, schema: Schema) -> str:
    items = schema["items"]
    if "$ref" in items:
        return "start each entry with a dash"
    if items.get("type") == "object":
        first = "name" if "name" in items.get("properties", {}) else (items.get("required") or ["…"])[0]
        return f"start each entry with a dash: - {first}: …"
    if isinstance(value, str) and value.isprintable() and not _is_private(path) and len(value) <= _SHOWN:
        return f"write a list of it: {_entry(path, f'[{json.dumps(value, ensure_ascii=False)}]')}"
    return "write a list: one entry a line, each after a dash"
