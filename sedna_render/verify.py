"""What templates give, verified: the right fields, the right object, valid for the API. Pure.

A template may be the user's own: what comes out of it is data that has to prove itself, never trusted text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sedna_render import schema
from sedna_render.findings import ERROR, InputError
from sedna_render.inject import CONTRACT, PART_FIELDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sedna_render.findings import Path
    from sedna_render.manifests import Manifest
    from sedna_render.templates import Filled, Templates


def part(templates: Templates, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a worker template gives, verified."""
    filled = templates[name].fill(values)
    if filled.unverified:
        _verify_part(filled, CONTRACT.get(name, ()))
    return filled.data


def _verify_part(filled: Filled, contract: Collection[str]) -> None:
    unknown = [field for field in filled.data if field not in PART_FIELDS]
    if unknown:
        raise InputError(
            filled.error(
                (unknown[0],), f"unknown field {unknown[0]}", f"known here: {', '.join(PART_FIELDS)}"
            )
        )
    part = filled.data
    container = {"name": "worker", "env": part.get("env", []), "volumeMounts": part.get("volumeMounts", [])}
    # Each field of the part at its place in a pod, so that the pod's schema says what is wrong with it.
    spec = part.get("spec", {})
    pod = {**spec, "containers": [container]} if isinstance(spec, dict) else spec
    if isinstance(pod, dict):
        pod.update({field: part[field] for field in ("initContainers", "volumes") if field in part})
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": pod}
    problems = [
        filled.error(_path_in_part(violation.path), violation.message, violation.remedy)
        for violation in schema.check_manifest(manifest)
    ]
    given = [entry["name"] for entry in part.get("env", [])] if not problems else list(contract)
    problems += [
        filled.error(("env", index), f"the template gives {name} twice", "keep one of the entries")
        for index, name in enumerate(given)
        if name in given[:index]
    ]
    problems += [
        filled.error(
            ("env",),
            f"the template gives no {name}",
            f"keep the entry {name}: the worker cannot work without",
        )
        for name in contract
        if name not in given
    ]
    if problems:
        raise InputError(*problems)


def _path_in_part(path: Path) -> Path:
    if path[:3] == ("spec", "containers", 0):
        return path[3:]
    return path[1:] if len(path) > 1 and path[1] in PART_FIELDS else path


_IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


def manifest(templates: Templates, template: str, values: Mapping[str, Any], kind: str) -> Manifest:
    """The manifest that a template gives, verified: the expected kind, name and namespace, valid for the API."""
    filled = templates[template].fill(values)
    manifest = filled.data
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    found = (manifest.get("kind"), metadata.get("name"), metadata.get("namespace"))
    wanted = (kind, values["name"], values["namespace"])
    if found != wanted:
        raise InputError(
            filled.error(
                next(path for path, one, other in zip(_IDENTITY, found, wanted, strict=True) if one != other),
                f"the template gives {found[0]} {found[2]}/{found[1]} where {kind} {wanted[2]}/{wanted[1]} is wanted",
                "keep kind, metadata.name: {{ name }} and metadata.namespace: {{ namespace }}",
            )
        )
    if filled.unverified:
        problems = [
            filled.error(violation.path, violation.message, violation.remedy)
            for violation in schema.check_manifest(manifest)
            if violation.severity == ERROR
        ]
        if problems:
            raise InputError(*problems)
    return manifest
