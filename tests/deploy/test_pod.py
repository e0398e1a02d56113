"""The Deployment: restricted pod security field by field, probes, two replicas off the edge, and where its packets may go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Manifest = dict[str, Any]

# Pod Security Standards: what a pod of level "baseline" may not share with its node at all.
HOST = ("hostNetwork", "hostPID", "hostIPC")
RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


@pytest.fixture
def objects(deploy: Path, kustomize: Callable[[Path], list[Manifest]]) -> dict[str, Manifest]:
    return {one["kind"]: one for one in kustomize(deploy / "base")}


@pytest.fixture
def pod(objects: dict[str, Manifest]) -> Manifest:
    spec: Manifest = objects["Deployment"]["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def container(pod: Manifest) -> Manifest:
    assert "initContainers" not in pod
    (only,) = pod["containers"]
    found: Manifest = only
    return found


def test_it_shares_nothing_with_its_node(pod: Manifest, container: Manifest) -> None:
    assert not [field for field in HOST if pod.get(field)]
    assert not [port for port in container["ports"] if "hostPort" in port]
    volumes = [kind for volume in pod.get("volumes", []) for kind in volume if kind != "name"]
    assert set(volumes) <= RESTRICTED_VOLUMES


def test_it_is_not_root_and_says_so_with_a_number(pod: Manifest, container: Manifest) -> None:
    security = pod["securityContext"] | container["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] >= 10_000
    assert security["runAsGroup"] >= 10_000


def test_it_gains_no_rights_on_the_node(pod: Manifest, container: Manifest) -> None:
    security = container["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert not security.get("privileged")
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "sysctls" not in pod["securityContext"]


def test_it_writes_nothing_to_its_image(container: Manifest) -> None:
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "volumeMounts" not in container


def test_it_needs_no_shell(container: Manifest) -> None:
    handlers = [container["livenessProbe"], container["readinessProbe"]]
    assert not [handler for handler in handlers if "exec" in handler]
    assert "lifecycle" not in container
    assert "command" not in container, "the image's entry point is the program"


@pytest.mark.parametrize(("probe", "path"), [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")])
def test_it_is_asked_over_the_port_that_it_serves(probe: str, path: str, container: Manifest) -> None:
    assert container[probe]["httpGet"]["path"] == path
    assert container[probe]["httpGet"]["port"] in {port["name"] for port in container["ports"]}


def test_a_replica_is_given_up_later_than_its_lease(container: Manifest) -> None:
    probe = container["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > 15


def test_memory_is_limited_and_processor_time_is_not(container: Manifest) -> None:
    assert container["resources"] == {
        "requests": {"cpu": "50m", "memory": "128Mi"},
        "limits": {"memory": "256Mi"},
    }


def test_there_are_two_and_one_stays_through_every_drain_and_rollout(objects: dict[str, Manifest]) -> None:
    spec = objects["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_it_has_time_to_drain(pod: Manifest) -> None:
    assert pod["terminationGracePeriodSeconds"] > 10


def test_it_keeps_off_the_edge_and_its_replicas_apart(pod: Manifest) -> None:
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert {"key": "node-role.kubernetes.io/edge", "operator": "DoesNotExist"} in term["matchExpressions"]
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"


def test_its_packets_go_to_the_api_server_and_dns_and_come_from_prometheus(
    objects: dict[str, Manifest], container: Manifest
) -> None:
    policy = objects["NetworkPolicy"]["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    out = {(port["protocol"], port["port"]) for rule in policy["egress"] for port in rule["ports"]}
    assert out == {("TCP", 443), ("TCP", 6443), ("UDP", 53), ("TCP", 53)}
    (into,) = policy["ingress"]
    assert into["from"], "from somewhere, not from everywhere"
    assert [port["port"] for port in into["ports"]] == ["metrics"]
    assert "metrics" in {port["name"] for port in container["ports"]}


def test_no_label_makes_it_somebodys_worker(objects: dict[str, Manifest]) -> None:
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert not [key for key in labels if "sedna.io" in key]


def test_the_namespace_enforces_what_the_pod_keeps(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    built = kustomize(deploy / "overlays" / "cluster-wide")
    (namespace,) = [one for one in built if one["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
