"""What `kubectl apply -k deploy/...` would send: which objects, all of them valid, none that belongs to somebody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from sedna_render import __version__

Manifest = dict[str, Any]
Build = Callable[[Path], list[Manifest]]

PROGRAM = [
    "Deployment sedna-reconciler/sedna-reconciler",
    "NetworkPolicy sedna-reconciler/sedna-reconciler",
    "PodDisruptionBudget sedna-reconciler/sedna-reconciler",
    "Role sedna-reconciler/sedna-reconciler-lease",
    "RoleBinding sedna-reconciler/sedna-reconciler-lease",
    "Service sedna-reconciler/sedna-reconciler",
    "ServiceAccount sedna-reconciler/sedna-reconciler",
]
ALONE = {
    "base": PROGRAM,
    "overlays/cluster-wide": [
        *PROGRAM,
        "ClusterRole sedna-reconciler",
        "ClusterRoleBinding sedna-reconciler",
        "Namespace sedna-reconciler",
    ],
    "overlays/namespaced": [*PROGRAM, "Role site/sedna-reconciler", "RoleBinding site/sedna-reconciler"],
    "watched-namespace": ["Role sedna-reconciler", "RoleBinding sedna-reconciler"],
}
NO_MODEL_OF = {"ServiceMonitor"}  # not Kubernetes' own


def _title(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    place = "/".join(filter(None, [metadata.get("namespace"), metadata["name"]]))
    return f"{manifest['kind']} {place}"


def _check(manifest: Manifest) -> None:
    """Against the official client's models, which know every field of every kind and refuse others."""
    version = manifest["apiVersion"].rpartition("/")[2]
    model = getattr(client, f"{version[0].upper()}{version[1:]}{manifest['kind']}")
    model.model_validate(manifest)


@pytest.mark.parametrize("folder", ALONE)
def test_a_folder_builds_these_objects_and_no_others(folder: str, deploy: Path, kustomize: Build) -> None:
    assert sorted(map(_title, kustomize(deploy / folder))) == sorted(ALONE[folder])


@pytest.mark.parametrize("folder", ALONE)
def test_every_object_is_valid_down_to_unknown_fields(folder: str, deploy: Path, kustomize: Build) -> None:
    for manifest in kustomize(deploy / folder):
        _check(manifest)


def test_the_check_of_validity_notices_a_misspelt_field(deploy: Path, kustomize: Build) -> None:
    (deployment,) = [one for one in kustomize(deploy / "base") if one["kind"] == "Deployment"]
    deployment["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(ValueError, match="readynessProbe"):
        _check(deployment)


@pytest.mark.parametrize("overlay", ["cluster-wide", "namespaced"])
def test_components_add_their_object_and_change_nothing_else(
    overlay: str, deploy: Path, kustomize: Build, kustomize_with: Callable[..., list[Manifest]]
) -> None:
    built = kustomize_with(overlay, "crd", "servicemonitor")
    without = kustomize(deploy / "overlays" / overlay)
    added = [one for one in built if one not in without]
    assert sorted(map(_title, added)) == [
        "CustomResourceDefinition jointinferenceservices.sedna.io",
        "ServiceMonitor sedna-reconciler/sedna-reconciler",
    ]
    assert len(built) == len(without) + len(added)
    for manifest in added:
        if manifest["kind"] not in NO_MODEL_OF:
            _check(manifest)


def test_sednas_definition_comes_only_when_asked_for(deploy: Path, kustomize: Build) -> None:
    for folder in ALONE:
        assert "CustomResourceDefinition" not in {one["kind"] for one in kustomize(deploy / folder)}


def test_another_namespace_is_one_line_of_an_overlay(
    kustomize_with: Callable[..., list[Manifest]],
) -> None:
    built = kustomize_with("cluster-wide", "servicemonitor", namespace="sedna")
    assert {one["metadata"].get("namespace", "sedna") for one in built} == {"sedna"}
    assert [one["metadata"]["name"] for one in built if one["kind"] == "Namespace"] == ["sedna"]
    subjects = [subject for one in built for subject in one.get("subjects", [])]
    assert {subject["namespace"] for subject in subjects} == {"sedna"}


def test_another_image_is_one_entry_of_an_overlay(kustomize_with: Callable[..., list[Manifest]]) -> None:
    image = {"name": "sedna-reconciler", "newName": "registry.example.com/reconciler", "newTag": "1"}
    built = kustomize_with("cluster-wide", images=[image])
    (deployment,) = [one for one in built if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/reconciler:1"


def test_the_image_is_of_this_version(deploy: Path, kustomize: Build) -> None:
    (deployment,) = [one for one in kustomize(deploy / "base") if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"sedna-reconciler:{__version__}"


def test_what_selects_the_pods_selects_them_all_and_alike(deploy: Path, kustomize: Build) -> None:
    by_kind = {one["kind"]: one["spec"] for one in kustomize(deploy / "base") if "spec" in one}
    labels = by_kind["Deployment"]["template"]["metadata"]["labels"]
    selectors = [
        by_kind["Deployment"]["selector"]["matchLabels"],
        by_kind["Service"]["selector"],
        by_kind["PodDisruptionBudget"]["selector"]["matchLabels"],
        by_kind["NetworkPolicy"]["podSelector"]["matchLabels"],
    ]
    assert all(selector and selector.items() <= labels.items() for selector in selectors)


def test_prometheus_finds_the_port_by_its_name(
    kustomize_with: Callable[..., list[Manifest]],
) -> None:
    built = {one["kind"]: one for one in kustomize_with("cluster-wide", "servicemonitor")}
    monitor, service = built["ServiceMonitor"]["spec"], built["Service"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    assert [endpoint["port"] for endpoint in monitor["endpoints"]] == [port["name"]]
    (container,) = built["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert port["targetPort"] in {one["name"] for one in container["ports"]}


@pytest.mark.parametrize("folder", ALONE)
def test_no_object_is_built_twice(folder: str, deploy: Path, kustomize: Build) -> None:
    counted = Counter(map(_title, kustomize(deploy / folder)))
    assert set(counted.values()) == {1}
