"""A real API server takes everything that is rendered, and finds in it what was meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.controlplane import api
from tests.controlplane.plane import Answer, ControlPlane

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
# Manifests that a strict API server must refuse, and what it says: the case is about just that.
REFUSED_WHEN_STRICT = {
    "unknown-podspec-field": (
        'unknown field "spec.containers[0].checkpointing"',
        'unknown field "spec.thermalPolicy"',
    ),
}


class Manifest(NamedTuple):
    """One document of a stream: its text as rendered, and what PyYAML reads in it."""

    text: str
    data: dict[str, Any]


class Documents(NamedTuple):
    """The manifests of a snapshot, and what a strict API server must say to them."""

    manifests: list[Manifest]
    expected: tuple[str, ...]


def rendered() -> list[Path]:
    """Every snapshot that holds manifests; the messages before them are comments."""
    files = sorted([*SNAPSHOTS.glob("*.yaml"), *SNAPSHOTS.glob("*.txt")])
    return [file for file in files if re.search(r"^kind: ", file.read_text(), re.MULTILINE)]


@pytest.fixture(scope="module")
def namespaces(control_plane: ControlPlane) -> set[str]:
    """Those that there are."""
    return {item["metadata"]["name"] for item in control_plane.items("Namespace")}


def differences(meant: Any, stored: Any, path: str = "") -> list[str]:
    """What of the rendered is not in the stored object, or is there as something else."""
    if isinstance(meant, Mapping) and isinstance(stored, Mapping):
        return [found for key in meant for found in differences(meant[key], stored.get(key), f"{path}.{key}")]
    if isinstance(meant, list) and isinstance(stored, list) and len(meant) <= len(stored):
        # Admission appends (a default toleration); it never puts anything first.
        return [found for i, one in enumerate(meant) for found in differences(one, stored[i], f"{path}[{i}]")]
    # A zero value is left out, and a number where a quantity belongs becomes one.
    same = (
        meant == stored
        or (stored is None and meant in (False, ""))
        or (".limits." in path and str(meant) == stored)
    )
    return [] if same else [f"{path}: {meant!r} became {stored!r}"]


def test_there_is_something_to_try() -> None:
    assert len(rendered()) >= 50


@pytest.fixture(params=[pytest.param(file, id=file.stem) for file in rendered()])
def documents(request: pytest.FixtureRequest, control_plane: ControlPlane, namespaces: set[str]) -> Documents:
    """The manifests of a snapshot, their namespaces made, and what a strict API server must complain of."""
    file: Path = request.param
    texts = re.split(r"^---$", file.read_bytes().decode(), flags=re.MULTILINE)[1:]
    found = [Manifest(text, yaml.safe_load(text)) for text in texts]
    for name in {one.data["metadata"]["namespace"] for one in found} - namespaces:
        control_plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        namespaces.add(name)
    return Documents(found, REFUSED_WHEN_STRICT.get(file.stem, ()))


def complaints(documents: Documents, send: Callable[[Manifest], Answer]) -> str:
    """What the API server says to the manifests that it refuses; those it takes must be as meant."""
    said = ""
    for manifest in documents.manifests:
        answer = send(manifest)
        if answer.status < 400:
            assert differences(manifest.data, answer.body) == []
        else:
            said += f"{manifest.data['kind']}: {answer.status}: {answer.message}\n"
    return said


STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


def test_it_is_created_strictly(control_plane: ControlPlane, documents: Documents) -> None:
    def send(manifest: Manifest) -> Answer:
        return control_plane.api(
            "POST", api.path_of(manifest.data, collection=True), manifest.text, query=STRICT
        )

    said = complaints(documents, send)

    assert bool(said) == bool(documents.expected), said
    assert [text for text in documents.expected if text not in said] == []


def test_it_is_applied_strictly(control_plane: ControlPlane, documents: Documents) -> None:
    query = {**STRICT, "fieldManager": "tests"}

    def send(manifest: Manifest) -> Answer:
        target = api.path_of(manifest.data)
        return control_plane.api("PATCH", target, manifest.text, content_type=api.APPLY, query=query)

    said = complaints(documents, send)

    # Server-side apply complains of the first field only that is in no schema.
    assert bool(said) == bool(documents.expected), said


def test_its_services_are_created_in_earnest(control_plane: ControlPlane, documents: Documents) -> None:
    # A dry run allocates no node port, so it would neither see a clash nor a number out of range.
    services = [one.data for one in documents.manifests if one.data["kind"] == "Service"]

    answers = [control_plane.api("POST", api.path_of(one, collection=True), one) for one in services]

    for one in services:
        control_plane.delete("Service", one["metadata"]["namespace"], one["metadata"]["name"])
    assert [answer.message for answer in answers if answer.status >= 400] == []
