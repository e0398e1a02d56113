"""Names, labels, selectors, replicas, autoscalers: what stands around a worker's pod."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import sedna_render

Render = Callable[..., Any]

ADDRESS = {"cloudAddress": "192.0.2.1"}
NAME = "jointinferenceservice.sedna.io/name"
TYPE = "jointinferenceservice.sedna.io/worker-type"
MANAGED = {"app.kubernetes.io/managed-by": "sedna-render"}
SOURCE = {"render.sedna.io/source": "in/objects.json"}
HPA = {"minReplicas": 2, "maxReplicas": 4}
METRICS = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
]


def selector(worker: str, name: str = "helmet") -> dict[str, str]:
    return {NAME: name, TYPE: worker}


def named(got: Any) -> list[tuple[str, str]]:
    return [(manifest["kind"], manifest["metadata"]["name"]) for manifest in got.manifests]


@pytest.mark.parametrize("expose", ["NodePort", "EdgeMesh", "External"])
def test_the_pod_profile_has_two_pods_and_a_service(expose: str, render: Render) -> None:
    got = render(annotations={"expose": expose, "big-model-address": "big.example.com"})

    assert named(got) == [("Service", "helmet-cloud"), ("Pod", "helmet-cloud"), ("Pod", "helmet-edge")]


@pytest.mark.parametrize("expose", ["NodePort", "EdgeMesh", "External"])
def test_the_deployment_profile_has_two_deployments_and_a_service(expose: str, render: Render) -> None:
    got = render(
        annotations={"expose": expose, "big-model-address": "big.example.com", "workload": "Deployment"}
    )

    assert named(got) == [
        ("Service", "helmet-cloud"),
        ("Deployment", "helmet-deployment-cloud"),
        ("Deployment", "helmet-deployment-edge"),
    ]


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_labels_and_selectors_are_exact(workload: str, render: Render) -> None:
    got = render(annotations={"workload": workload}, config={**ADDRESS})

    service = got.of_kind("Service")[0]
    assert service["spec"]["selector"] == selector("cloud")
    assert service["metadata"]["labels"] == {**selector("cloud"), **MANAGED}
    for worker in ("cloud", "edge"):
        manifest = got.workload(worker)
        assert manifest["metadata"]["labels"] == {**selector(worker), **MANAGED}
        assert manifest["metadata"]["annotations"] == SOURCE
        if workload == "Deployment":
            assert manifest["spec"]["selector"] == {"matchLabels": selector(worker)}
            assert manifest["spec"]["template"]["metadata"] == {"labels": {**selector(worker), **MANAGED}}


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_labels_of_the_configuration_go_on_objects_and_ours_win(workload: str, render: Render) -> None:
    config = {
        **ADDRESS,
        "workload": workload,
        "labels": {"team": "vision", NAME: "stolen", **dict.fromkeys(MANAGED, "someone")},
        "annotations": {"example.com/owner": "vision@example.com", "render.sedna.io/source": "stolen"},
    }

    got = render(config=config, cloud_worker={"hpa": HPA} if workload == "Deployment" else {})

    for manifest in got.manifests:
        assert manifest["metadata"]["labels"].items() >= {"team": "vision", NAME: "helmet", **MANAGED}.items()
        assert manifest["metadata"]["annotations"] == {"example.com/owner": "vision@example.com", **SOURCE}
        inside = json.dumps(manifest["spec"])
        assert "vision" not in inside
        assert "stolen" not in inside


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_metadata_of_the_template_reaches_the_pod_and_ours_win(workload: str, render: Render) -> None:
    metadata = {
        "labels": {"app": "big", NAME: "stolen", TYPE: "edge"},
        "annotations": {"example.com/note": "text", "render.sedna.io/source": "stolen"},
        "finalizers": ["example.com/hold"],
    }
    pod_spec = {"containers": [{"name": "main", "image": "example.com/main:1"}]}

    got = render(
        annotations={"workload": workload},
        cloud_worker={"template": {"metadata": metadata, "spec": pod_spec}},
    )

    manifest = got.workload("cloud")
    pod = manifest["metadata"] if workload == "Pod" else manifest["spec"]["template"]["metadata"]
    assert pod["labels"] == {"app": "big", **selector("cloud"), **MANAGED}
    assert pod["annotations"]["example.com/note"] == "text"
    assert pod["finalizers"] == ["example.com/hold"]
    assert "template-metadata" in got.rules
    if workload == "Pod":
        assert pod["annotations"].items() >= SOURCE.items()
    else:
        assert manifest["metadata"]["labels"] == {**selector("cloud"), **MANAGED}
        assert manifest["metadata"]["annotations"] == SOURCE


def test_the_templates_labels_stand_before_the_configurations(render: Render) -> None:
    template = {
        "metadata": {"labels": {"team": "own"}},
        "spec": {"containers": [{"name": "m", "image": "a/b:1"}]},
    }

    got = render(cloud_worker={"template": template}, config={**ADDRESS, "labels": {"team": "vision"}})

    assert got.workload("cloud")["metadata"]["labels"]["team"] == "own"
    assert got.workload("edge")["metadata"]["labels"]["team"] == "vision"


def test_labels_and_annotations_of_the_service_itself_are_not_copied(render: Render) -> None:
    got = render(annotations={"example.com/note": "of the service"})

    assert "of the service" not in got.stdout


@pytest.mark.parametrize(
    ("cloud_hpa", "edge_hpa", "cloud", "edge"),
    [
        pytest.param(False, False, (1, "Recreate"), (1, "Recreate"), id="none"),
        pytest.param(True, False, (None, None), (1, "Recreate"), id="cloud"),
        pytest.param(False, True, (1, "Recreate"), (None, "Recreate"), id="edge"),
        pytest.param(True, True, (None, None), (None, "Recreate"), id="both"),
    ],
)
def test_replicas_are_the_autoscalers_where_there_is_one(
    cloud_hpa: bool, edge_hpa: bool, cloud: Any, edge: Any, render: Render
) -> None:
    got = render(
        annotations={"workload": "Deployment"},
        cloud_worker={"hpa": HPA} if cloud_hpa else {},
        edge_worker={"hpa": HPA} if edge_hpa else {},
    )

    for worker, expected in (("cloud", cloud), ("edge", edge)):
        spec = got.workload(worker)["spec"]
        assert (spec.get("replicas"), (spec.get("strategy") or {}).get("type")) == expected
        assert (("HorizontalPodAutoscaler", f"hpa-helmet-deployment-{worker}") in named(got)) == (
            expected[0] is None
        )


def test_an_autoscaler_is_carried_over_whole(render: Render) -> None:
    hpa = {**HPA, "metrics": METRICS, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}

    [scaler] = render(annotations={"workload": "Deployment"}, cloud_worker={"hpa": hpa}).of_kind(
        "HorizontalPodAutoscaler"
    )

    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "helmet-deployment-cloud"}
    assert scaler["apiVersion"] == "autoscaling/v2"
    assert scaler["spec"] == {"scaleTargetRef": target, **hpa}


def test_an_autoscaler_of_a_pod_is_not_rendered_and_that_is_said(render: Render) -> None:
    got = render(cloud_worker={"hpa": HPA})

    assert got.of_kind("HorizontalPodAutoscaler") == []
    assert got.finding("hpa-on-pod")["field"] == "spec.cloudWorker.hpa"


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_the_longest_name_gives_names_of_63_characters_and_a_warning(workload: str, render: Render) -> None:
    name = "a" + "b" * 62

    got = render(
        name=name, annotations={"workload": workload, "expose": "EdgeMesh"}, cloud_worker={"hpa": HPA}
    )

    names = {manifest["metadata"]["name"] for manifest in got.manifests}
    assert all(len(found) == 63 for found in names)
    assert all(manifest["metadata"]["labels"][NAME] == name for manifest in got.manifests)
    service = got.of_kind("Service")[0]["metadata"]["name"]
    assert got.env("edge")["BIG_MODEL_IP"] == f"{service}.default"
    assert "name-shortened" in got.rules
    if workload == "Deployment":
        [scaler] = got.of_kind("HorizontalPodAutoscaler")
        assert scaler["spec"]["scaleTargetRef"]["name"] == got.workload("cloud")["metadata"]["name"]


def test_a_name_that_just_fits_is_left_alone(render: Render) -> None:
    name = "a" * (63 - len("-cloud"))

    got = render(name=name)

    assert f"{name}-cloud" in dict(named(got)).values()
    assert "name-shortened" not in got.rules


@pytest.mark.parametrize("name", ["", "A", "1a", "a.b", "a_b", "a-", "a" * 64, "é"])
def test_a_service_name_that_is_no_label_is_refused(name: str, render: Render) -> None:
    assert render(name=name).status == 2


def test_objects_of_one_name_and_another_kind_are_no_collision(run: Render, make: Any) -> None:
    services = [make.service("a", annotations={"workload": "Deployment"}), make.service("a-deployment")]

    got = run(*services, *make.models(), config=ADDRESS)

    assert got.status == 0
    names = named(got)
    assert len(names) == len(set(names)) == 6


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_nothing_that_git_cannot_know_is_rendered(workload: str, render: Render) -> None:
    text = render(annotations={"workload": workload}, cloud_worker={"hpa": HPA}).stdout

    for forbidden in (
        "externalIPs",
        "ownerReferences",
        "uid",
        "generateName",
        "creationTimestamp",
        "status",
        "0.1.0",
    ):
        assert forbidden not in text


def test_standard_input_leaves_no_source(make: Any) -> None:
    import sedna_render

    manifests = sedna_render.render([make.service(), *make.models()], config=ADDRESS)

    assert all("annotations" not in manifest["metadata"] for manifest in manifests)


@pytest.mark.parametrize(
    "node_ports", [{"helmets": 30050}, {"a/b": "30050"}, {"a/b": True}, {"a/b/c": 30050}], ids=str
)
def test_the_python_interface_takes_numbers_by_namespace_and_name_only(node_ports: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="namespace/name"):
        sedna_render.render([], node_ports=node_ports)
