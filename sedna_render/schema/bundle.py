"""The schemas as one self-contained JSON schema document, strict about unknown fields, for other tools.

Pure but for reading the package's own schema files through ``closures``.
"""

from __future__ import annotations

from typing import Any

from sedna_render.schema import closures
from sedna_render.schema.closures import OPEN, Node, Schema


def bundle(file: str) -> Schema:
    """The schema in `file` with all that it refers to under ``definitions``."""
    definitions: dict[str, Schema] = {}
    top = _closed(closures.root(file), definitions)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **top, "definitions": definitions}


def _closed(node: Node, definitions: dict[str, Schema]) -> Schema:
    """The schema with `additionalProperties: false` where unknown fields are refused and local references."""
    schema = node.schema
    if "$ref" in schema:
        return {"$ref": f"#/definitions/{_defined(node, definitions)}"}
    closed: dict[str, Any] = {key: value for key, value in schema.items() if key != OPEN}
    if "properties" in schema:
        closed["properties"] = {
            name: _closed(Node(sub, node.file), definitions) for name, sub in schema["properties"].items()
        }
        closed["additionalProperties"] = OPEN in schema
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            closed[key] = _closed(Node(schema[key], node.file), definitions)
    return closed


def _defined(node: Node, definitions: dict[str, Schema]) -> str:
    """The name of the definition that a reference leads to, put among the definitions if it is new."""
    file, _, pointer = node.schema["$ref"].partition("#/definitions/")
    file = file or node.file
    name = f"{file.removesuffix('.json')}.{pointer.replace('/', '.')}"
    if name not in definitions:
        definitions[name] = {}  # taken, before what lies below it is looked at
        definitions[name] = _closed(closures.resolve(Node(node.schema, node.file)), definitions)
    return name
