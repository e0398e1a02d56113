"""The Python interface: plain data in, manifests out, by the same steps as the command line. No files but templates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sedna_render import pipeline, settings, template_files, yaml_reader
from sedna_render.findings import InputError, in_order
from sedna_render.inventory import Inventory
from sedna_render.templates import Templates
from sedna_render.worker import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sedna_render.findings import Finding


def render(
    objects: Iterable[Mapping[str, Any]], config: Mapping[str, Any], node_ports: Mapping[str, int]
) -> list[dict[str, Any]]:
    """See ``sedna_render.render``."""
    _check_numbers(node_ports)
    findings: list[Finding] = []
    effective = settings.Settings()
    documents, problems = _documents(
        {"apiVersion": settings.API_VERSION, "kind": settings.KIND, **config}, "config"
    )
    findings += problems
    for document in documents:
        effective, problems = settings.from_document(document)
        findings += problems
    texts, problems = template_files.read(effective["templates"])
    findings += problems
    inventory = Inventory(effective["namespace"])
    for number, data in enumerate(objects):
        documents, problems = _documents(data, f"objects[{number}]")
        findings += problems
        for document in documents:
            inventory.add(document)
    findings += inventory.findings
    decisions = pipeline.decide(inventory, effective, node_ports)
    findings += decisions.findings
    world = World(effective, inventory, Templates(texts), lambda _: "")
    rendered = [
        manifest for service in pipeline.render(world, decisions, findings) for manifest in service.manifests
    ]
    errors = [finding for finding in in_order(findings) if finding.is_error]
    if errors:
        raise InputError(*errors)
    return rendered


def _check_numbers(node_ports: Mapping[Any, Any]) -> None:
    """Raise TypeError for what the types of the interface do not allow: it would keep no service's number."""
    for key, number in node_ports.items():
        if not isinstance(key, str) or key.count("/") != 1 or type(number) is not int:
            raise TypeError(f'node_ports: "namespace/name" and an int are wanted, not {key!r} and {number!r}')


def _documents(data: Mapping[str, Any], name: str) -> tuple[list[yaml_reader.Document], list[Finding]]:
    """Data as a document, read as if it had come from a file: the same checks, and places in its JSON."""
    # Escaped: data in memory may hold what may not stand in a file as it is, U+007F and C1 among them.
    content = json.dumps(data, indent=2).replace("\x7f", "\\u007f").encode()
    return yaml_reader.read(yaml_reader.Source(name, content))
