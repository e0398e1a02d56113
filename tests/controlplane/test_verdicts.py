"""What the renderer refuses about pods, and what a real API server says to the same: why each rule is there.

Where it accepts, the fault would show on a node, or in a ReplicaSet that never makes a pod, or nowhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.controlplane import api
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import Answer, ControlPlane, Object, wait_until

INVALID = Path(__file__).parents[2] / "fixtures" / "invalid"
ACCEPTED = ""


class Verdict(NamedTuple):
    """A case of fixtures/invalid and its worker, and words of the API server's refusal by kind of workload."""

    case: str
    worker: str
    pod: str
    deployment: str
    remark: str = ""


VERDICTS = [
    Verdict(
        "host-port-mismatch",
        "edge",
        "hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is true",
        "hostPort: Invalid value: 80: must match `containerPort` when `hostNetwork` is true",
    ),
    Verdict(
        "host-port-twice",
        "edge",
        "containers[1].ports[0].hostPort: Duplicate value",
        ACCEPTED,
        "with a warning; its ReplicaSet never makes a pod",
    ),
    Verdict(
        "duplicate-container",
        "edge",
        "containers[1].name: Duplicate value",
        "containers[1].name: Duplicate value",
    ),
    Verdict(
        "duplicate-container-init",
        "edge",
        "initContainers[0].name: Duplicate value",
        "initContainers[0].name: Duplicate value",
    ),
    Verdict(
        "image-missing", "edge", "containers[0].image: Required value", "containers[0].image: Required value"
    ),
    Verdict(
        "image-empty", "edge", "containers[0].image: Required value", "containers[0].image: Required value"
    ),
    Verdict("no-containers", "cloud", "spec.containers: Required value", "spec.containers: Required value"),
    Verdict("invalid-name-container", "edge", "a lowercase RFC 1123 label", "a lowercase RFC 1123 label"),
    Verdict(
        "ephemeral-containers",
        "edge",
        "cannot be set on create",
        "ephemeral containers not allowed in pod template",
    ),
    Verdict(
        "deployment-restart-policy",
        "edge",
        ACCEPTED,
        'restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "a warning of the renderer in the Pod profile",
    ),
    Verdict(
        "deployment-active-deadline",
        "cloud",
        ACCEPTED,
        "activeDeadlineSeconds in ReplicaSet is not Supported",
        "a Pod may end so",
    ),
    Verdict(
        "wrong-type-env-number", "edge", "json: cannot unmarshal number", "json: cannot unmarshal number"
    ),
    Verdict(
        "wrong-type-null-in-list",
        "edge",
        "containers[1].name: Required value",
        "containers[1].name: Required value",
    ),
    Verdict(
        "host-network-hostname-override",
        "edge",
        "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        "hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
    ),
    Verdict(
        "host-network-host-users",
        "edge",
        "hostNetwork: Forbidden: when `hostUsers` is false",
        "hostNetwork: Forbidden: when `hostUsers` is false",
    ),
    Verdict(
        "host-network-sysctls",
        "edge",
        "sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
        "sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
    ),
    Verdict(
        "mount-path-clash-user", "edge", ACCEPTED, ACCEPTED, "one of the two volumes is hidden by the other"
    ),
    Verdict(
        "mount-without-volume",
        "edge",
        'volumeMounts[0].name: Not found: "output"',
        'volumeMounts[0].name: Not found: "output"',
    ),
    Verdict(
        "mount-path-empty",
        "edge",
        "volumeMounts[0].mountPath: Required value",
        "volumeMounts[0].mountPath: Required value",
    ),
    Verdict(
        "port-range",
        "edge",
        "containerPort: Invalid value: 80800: must be between 1 and 65535, inclusive",
        "containerPort: Invalid value: 80800: must be between 1 and 65535, inclusive",
    ),
    Verdict("port-zero", "edge", "containerPort: Required value", "containerPort: Required value"),
    Verdict(
        "port-protocol", "edge", 'protocol: Unsupported value: "tcp"', 'protocol: Unsupported value: "tcp"'
    ),
    Verdict("port-name", "edge", "must be no more than 15 characters", "must be no more than 15 characters"),
    Verdict(
        "port-name-twice",
        "edge",
        'ports[1].name: Duplicate value: "http"',
        'ports[1].name: Duplicate value: "http"',
    ),
    Verdict("env-name-empty", "edge", "env[0].name: Required value", "env[0].name: Required value"),
    Verdict(
        "env-name-equals",
        "edge",
        "printable ASCII characters other than '='",
        "printable ASCII characters other than '='",
    ),
    Verdict(
        "env-value-and-source",
        "edge",
        "may not be specified when `value` is not empty",
        "may not be specified when `value` is not empty",
    ),
    Verdict(
        "env-without-source",
        "edge",
        'valueFrom: Invalid value: "": must specify one of',
        'valueFrom: Invalid value: "": must specify one of',
    ),
    Verdict(
        "env-two-sources",
        "edge",
        "may not have more than one field specified at a time",
        "may not have more than one field specified at a time",
    ),
    Verdict(
        "restart-policy-case",
        "edge",
        'restartPolicy: Unsupported value: "always"',
        'restartPolicy: Unsupported value: "always"',
    ),
    Verdict(
        "dns-policy-unknown",
        "edge",
        'dnsPolicy: Unsupported value: "ClusterFirstHostNet"',
        'dnsPolicy: Unsupported value: "ClusterFirstHostNet"',
    ),
    Verdict(
        "image-pull-policy-case",
        "edge",
        'imagePullPolicy: Unsupported value: "ifnotpresent"',
        'imagePullPolicy: Unsupported value: "ifnotpresent"',
    ),
    Verdict(
        "toleration-effect-case",
        "edge",
        'effect: Unsupported value: "noSchedule"',
        'effect: Unsupported value: "noSchedule"',
    ),
    Verdict(
        "toleration-without-key",
        "edge",
        "operator must be Exists when `key` is empty",
        "operator must be Exists when `key` is empty",
    ),
    Verdict("image-blank", "edge", ACCEPTED, ACCEPTED, "no node can fetch it"),
    Verdict("wrong-type-null-quantity", "edge", ACCEPTED, ACCEPTED, "the limit becomes 0"),
]


def pod_spec(case: str, worker: str) -> Object:
    """The pod of the case as it would be rendered, but for what concerns models and env."""
    service = yaml.safe_load((INVALID / case / "service.yaml").read_text())
    spec: Object = service["spec"][f"{worker}Worker"]["template"]["spec"]
    return {**spec, "hostNetwork": True} if worker == "edge" else spec


def pod(spec: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tried", "namespace": "default"},
        "spec": spec,
    }


def deployment(spec: Object, namespace: str = "default") -> Object:
    labels = {"app": "tried"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "tried", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def service(namespace: str, name: str, **port: Any) -> Object:
    spec = {"type": "NodePort", "selector": {"app": "tried"}, "ports": [{"port": 5000, **port}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def create(plane: ControlPlane, manifest: Object, *, dry: bool = True) -> Answer:
    query = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry else {})}
    return plane.api("POST", api.path_of(manifest, collection=True), manifest, query=query)


@pytest.mark.parametrize("verdict", [pytest.param(one, id=one.case) for one in VERDICTS])
def test_the_api_server_judges_as_the_table_says(control_plane: ControlPlane, verdict: Verdict) -> None:
    spec = pod_spec(verdict.case, verdict.worker)

    for manifest, said in ((pod(spec), verdict.pod), (deployment(spec), verdict.deployment)):
        answer = create(control_plane, manifest)
        assert (answer.status >= 400) == (said != ACCEPTED), (manifest["kind"], answer.message)
        assert said in answer.message
    # Where it refuses nothing, the table says why the renderer does.
    assert verdict.remark or ACCEPTED not in (verdict.pod, verdict.deployment)


def test_a_pod_that_no_replica_set_can_make_is_accepted_in_a_deployment(
    busy_control_plane: ControlPlane, namespace: str
) -> None:
    create(busy_control_plane, deployment(pod_spec("host-port-twice", "edge"), namespace), dry=False).ok()

    failure = wait_for_condition(busy_control_plane, namespace, "ReplicaFailure")

    assert "containers[1].ports[0].hostPort: Duplicate value" in failure["message"]
    assert busy_control_plane.items("Pod", namespace) == []


def wait_for_condition(plane: ControlPlane, namespace: str, kind: str) -> Object:
    def found() -> Object | None:
        (stored,) = plane.items("Deployment", namespace)
        return next((one for one in stored["status"].get("conditions", []) if one["type"] == kind), None)

    return wait_until(found, f"the condition {kind}")


def test_two_pods_that_want_one_port_of_a_node_are_accepted_and_one_never_runs(
    busy_control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("gateway-7")
    spec = {
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/hostname": "gateway-7"},
        "containers": [{"name": "little", "image": "little:1", "ports": [{"containerPort": 8080}]}],
    }
    for name in ("first", "second"):
        manifest = pod(spec)
        manifest["metadata"] = {"name": name, "namespace": namespace}
        create(busy_control_plane, manifest, dry=False).ok()

    def refused() -> str | None:
        conditions = [
            one
            for item in busy_control_plane.items("Pod", namespace)
            for one in item["status"].get("conditions", [])
        ]
        return next((one["message"] for one in conditions if one.get("reason") == "Unschedulable"), None)

    assert "didn't have free ports for the requested pod ports" in wait_until(refused, "the scheduler's no")


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        pytest.param(
            {"labels": {"owner": "team vision"}}, "a valid label must be", id="template-label-value"
        ),
        pytest.param(
            {"annotations": {"example.com/owner/team": "vision"}},
            "a valid label key must consist of",
            id="template-annotation-key",
        ),
        pytest.param(
            {"annotations": {"Example.com/Owner": "vision"}}, ACCEPTED, id="upper-case-in-an-annotation"
        ),
        pytest.param({"finalizers": ["keep"]}, "nor is it fully qualified", id="template-finalizer"),
        pytest.param({"finalizers": ["orphan"]}, ACCEPTED, id="a-finalizer-of-kubernetes"),
    ],
)
def test_names_in_the_metadata_of_a_pod_are_judged_as_by_the_renderer(
    control_plane: ControlPlane, metadata: Object, said: str
) -> None:
    manifest = pod({"containers": [{"name": "little", "image": "little:1"}]})
    manifest["metadata"].update(metadata)

    answer = create(control_plane, manifest)

    assert (answer.status >= 400) == (said != ACCEPTED), answer.message
    assert said in answer.message


@pytest.mark.parametrize(
    ("scaler", "said"),
    [
        pytest.param({"maxReplicas": 0}, "maxReplicas: Required value", id="hpa-max-replicas"),
        pytest.param(
            {"minReplicas": 4, "maxReplicas": 3},
            "greater than or equal to `minReplicas`",
            id="hpa-min-over-max",
        ),
        pytest.param(
            {"minReplicas": 0, "maxReplicas": 3},
            "must be greater than or equal to 1",
            id="hpa-min-replicas-zero",
        ),
        pytest.param({"minReplicas": 3, "maxReplicas": 3}, ACCEPTED, id="the-same"),
    ],
)
def test_the_numbers_of_an_autoscaler_are_judged_as_by_the_renderer(
    control_plane: ControlPlane, scaler: Object, said: str
) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "tried"}
    manifest = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "tried", "namespace": "default"},
        "spec": {"scaleTargetRef": target, **scaler},
    }

    answer = create(control_plane, manifest)

    assert (answer.status >= 400) == (said != ACCEPTED), answer.message
    assert said in answer.message


@pytest.mark.parametrize(
    ("name", "port", "said"),
    [
        pytest.param("out-of-range", 80, "provided port is not in the valid range", id="nodeport-range"),
        pytest.param("taken", 30777, "provided port is already allocated", id="nodeport-clash"),
        pytest.param("a.b", 30778, "must not contain dots", id="invalid-name-dot"),
        pytest.param("a_b", 30778, "a lowercase RFC 1123 label", id="invalid-name-underscore"),
        pytest.param("A", 30778, "a lowercase RFC 1123 label", id="invalid-name-upper-case"),
        pytest.param("a" * 64, 30778, "must be no more than 63 characters", id="invalid-name-too-long"),
        # Refused by all API servers up to 1.33, as a name of DNS must once begin with a letter.
        pytest.param("3rd-floor", 30778, ACCEPTED, id="invalid-name-digit"),
    ],
)
def test_services_are_judged_when_they_are_made_in_earnest(
    control_plane: ControlPlane, namespace: str, name: str, port: int, said: str
) -> None:
    # A dry run allocates no port and so finds no clash.
    control_plane.create(service(namespace, "first", nodePort=30777))

    answer = create(control_plane, service(namespace, name, nodePort=port), dry=False)

    assert (answer.status >= 400) == (said != ACCEPTED), answer.message
    assert said in answer.message
    for left in ("first", name):
        control_plane.delete("Service", namespace, left)
