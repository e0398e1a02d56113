"""Models, Nodes, Secrets, the configuration and what is rendered: each kind against its own schema."""

from __future__ import annotations

from typing import Any

import pytest

from sedna_render import schema
from sedna_render.findings import Path

MODEL = {"apiVersion": "sedna.io/v1alpha1", "kind": "Model", "metadata": {"name": "m"}}
CONFIG = {"apiVersion": "render.sedna.io/v1alpha1", "kind": "RenderConfig"}
POD_SPEC = {"containers": [{"name": "main", "image": "example/a:v1"}]}
MANIFESTS: dict[str, dict[str, Any]] = {
    "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD_SPEC},
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
        },
    },
    "Service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "labels": {"a": "b"}},
        "spec": {
            "type": "NodePort",
            "selector": {"a": "b"},
            "ports": [
                {"name": "tcp-0", "port": 5000, "targetPort": 5000, "nodePort": 30000, "protocol": "TCP"}
            ],
        },
    },
    "HorizontalPodAutoscaler": {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "maxReplicas": 2,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "value": 1}},
                }
            ],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "tolerance": "0.1"}},
        },
    },
}


def summary(found: list[schema.Violation]) -> list[tuple[Path, str, str]]:
    return [(violation.path, violation.rule, violation.severity) for violation in found]


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param({"url": "/a/b", "format": "pb"}, [], id="url and format"),
        pytest.param(
            {"url": "", "format": "", "credentialName": "c"}, [], id="empty strings: another rule's matter"
        ),
        pytest.param({"url": "/a", "format": "pb", "device_soc_versions": ["310"]}, [], id="every field"),
        pytest.param({"url": "/a"}, [(("spec", "format"), "missing-field", "error")], id="no format"),
        pytest.param(
            {"url": 5, "format": "pb"},
            [(("spec", "url"), "wrong-type", "error")],
            id="a url that is a number",
        ),
        pytest.param(
            {"url": "/a", "format": "pb", "description": "x"},
            [(("spec", "description"), "unknown-field", "error")],
            id="a field of somebody's own",
        ),
        pytest.param(
            {"URL": "/a", "format": "pb"},
            [(("spec", "URL"), "unknown-field", "error")],
            id="url in upper case, once",
        ),
    ],
)
def test_models(spec: dict[str, Any], expected: list[Any]) -> None:
    assert summary(schema.check_model(MODEL | {"spec": spec, "status": {"anything": 1}})) == expected


@pytest.mark.parametrize(
    "part, expected",
    [
        pytest.param({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "x": 1}}, [], id="plain"),
        pytest.param({"spec": {"podCIDR": 5, "taints": [{"key": "a", "effect": "NoExecute", "timeAdded": 5}]}}, [], id="other fields"),
        pytest.param({"status": {"capacity": {"cpu": "four"}}}, [(("status", "capacity", "cpu"), "wrong-type", "error")], id="a capacity that is none"),
        pytest.param({"status": {"addresses": [{"address": "10.0.0.1"}]}}, [(("status", "addresses", 0, "type"), "missing-field", "error")], id="an address without a type"),
        pytest.param({"spec": {"unschedulable": "true"}}, [(("spec", "unschedulable"), "wrong-type", "error")], id="a boolean in quotes"),
    ],
)  # fmt: skip
def test_nodes_are_checked_only_where_they_are_read(part: dict[str, Any], expected: list[Any]) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": 5}} | part

    assert summary(schema.check_node(node)) == expected


@pytest.mark.parametrize(
    "part, expected",
    [
        pytest.param({"data": {"key": 5, "other": None, "third": ["x"]}}, [], id="values are not looked at"),
        pytest.param({"immutable": True, "whatever": 1}, [], id="other fields"),
        pytest.param({"data": "hunter2"}, [(("data",), "wrong-type", "error")], id="data that is no map"),
        pytest.param({"metadata": {}}, [(("metadata", "name"), "missing-field", "error")], id="no name"),
    ],
)
def test_secrets_are_checked_without_their_values(part: dict[str, Any], expected: list[Any]) -> None:
    found = schema.check_secret({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}} | part)

    assert summary(found) == expected
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "key, value",
    [
        ("workload", "Deployment"),
        ("expose", "EdgeMesh"),
        ("nodePortRange", "30000-32767"),
        ("nodeAddresses", {"node-1": "10.0.0.1"}),
        ("s3UseHttps", False),
        ("layout", "object"),
        ("labels", None),
    ],
)
def test_a_setting_of_the_configuration_is_accepted(key: str, value: Any) -> None:
    assert schema.check_config(CONFIG | {key: value}) == []


@pytest.mark.parametrize(
    "key, value, rule, message, remedy",
    [
        pytest.param("workload", "pod", "wrong-type", "pod is not one of its values (Pod or Deployment)", "write Pod", id="case"),
        pytest.param("expose", "Ingress", "wrong-type", "(NodePort, EdgeMesh or External)", "or External", id="not allowed"),
        pytest.param("nodePortRange", "30000", "wrong-type", "has not the form", "30000-32767", id="half a range"),
        pytest.param("nodePortRange", 30000, "wrong-type", "the number 30000", '"30000"', id="a range that is a number"),
        pytest.param("edgeAutonomy", "yes", "wrong-type", "true or false is wanted", "write true or false", id="yes in quotes"),
        pytest.param("nodeaddresses", {}, "unknown-field", "did you mean nodeAddresses?", "write", id="a misspelt key"),
        pytest.param("target", "flux", "unknown-field", "no field target", "remove it", id="a key not acted on yet"),
    ],
)  # fmt: skip
def test_a_setting_of_the_configuration_is_refused(
    key: str, value: Any, rule: str, message: str, remedy: str
) -> None:
    (found,) = schema.check_config(CONFIG | {key: value})

    assert (found.path, found.rule, found.severity) == ((key,), rule, "error")
    assert message in found.message
    assert remedy in found.remedy


def test_the_configuration_of_another_program_is_refused() -> None:
    found = schema.check_config({"apiVersion": "v1"})

    assert summary(found) == [
        (("apiVersion",), "wrong-type", "error"),
        (("kind",), "missing-field", "error"),
    ]
    assert found[1].remedy == "add kind: RenderConfig"


@pytest.mark.parametrize("kind", sorted(MANIFESTS))
def test_rendered_manifests_are_accepted(kind: str) -> None:
    assert schema.check_manifest(MANIFESTS[kind]) == []


@pytest.mark.parametrize("kind", sorted(MANIFESTS))
def test_an_unknown_field_of_a_manifest_is_an_error(kind: str) -> None:
    (found,) = schema.check_manifest(MANIFESTS[kind] | {"stauts": {}})

    assert (found.path, found.rule, found.severity) == (("stauts",), "unknown-field", "error")


@pytest.mark.parametrize(
    "kind, spec, expected",
    [
        pytest.param("Pod", {"fromTheFuture": 1}, [(("spec", "fromTheFuture"), "unknown-field", "warning")], id="pod"),
        pytest.param("Pod", {"containers": None}, [(("spec", "containers"), "missing-field", "error")], id="no containers"),
        pytest.param("Deployment", {"template": {"spec": POD_SPEC | {"x": 1}}}, [(("spec", "template", "spec", "x"), "unknown-field", "warning")], id="pod template"),
        pytest.param("Deployment", {"selector": None}, [(("spec", "selector"), "missing-field", "error")], id="no selector"),
        pytest.param("Deployment", {"strategy": {"type": "recreate"}}, [(("spec", "strategy", "type"), "wrong-type", "error")], id="strategy"),
        pytest.param("Service", {"ports": [{"port": "80"}]}, [(("spec", "ports", 0, "port"), "wrong-type", "error")], id="port"),
        pytest.param("HorizontalPodAutoscaler", {"maxReplicas": None}, [(("spec", "maxReplicas"), "missing-field", "error")], id="maximum"),
        pytest.param("HorizontalPodAutoscaler", {"replicas": 1}, [(("spec", "replicas"), "unknown-field", "error")], id="replicas"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_is_found(kind: str, spec: dict[str, Any], expected: list[Any]) -> None:
    manifest = MANIFESTS[kind]

    assert summary(schema.check_manifest(manifest | {"spec": manifest["spec"] | spec})) == expected


def test_a_kind_that_is_not_rendered_is_not_checked() -> None:
    assert schema.check_manifest({"kind": "ConfigMap", "anything": 1}) == []
