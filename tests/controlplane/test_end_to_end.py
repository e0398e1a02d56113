"""From a folder of fixtures to workers that run: rendered, applied, scheduled, served, applied again, deleted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from sedna_render import cli
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane, Object, wait_until

ROOT = Path(__file__).parents[2]
Kubectl = Callable[..., CompletedProcess[str]]
SERVICE = "jointinferenceservice.sedna.io/name"
WORKER = "jointinferenceservice.sedna.io/worker-type"


class Case(NamedTuple):
    """A fixture, and the nodes that its workers belong on."""

    name: str
    namespace: str
    service: str
    nodes: dict[str, str]  # of the worker


CASES = [
    Case("helmet-detection", "site-safety", "helmet-detection", {"cloud": "cloud-1", "edge": "gate-1"}),
    Case("deployment", "bottling", "quality-gate", {"cloud": "plant-server", "edge": "line-1"}),
]


class Applied(NamedTuple):
    """A case in the cluster, all its workers ready."""

    case: Case
    text: str
    plane: ControlPlane
    kubectl: Kubectl

    def apply(self) -> None:
        result = self.kubectl("apply", "--server-side", "-f", "-", stdin=self.text)
        assert (result.returncode, result.stderr) == (0, "")

    def wait_until_ready(self) -> None:
        def ready() -> bool:
            pods = self.pods()
            return len(pods) == len(self.case.nodes) and all(map(_is_ready, pods.values()))

        wait_until(ready, f"the pods of {self.case.service}")

    def pods(self) -> dict[str, Object]:
        """The pods of the service by worker."""
        found = self.plane.items("Pod", self.case.namespace, labelSelector=f"{SERVICE}={self.case.service}")
        return {pod["metadata"]["labels"][WORKER]: pod for pod in found}

    def objects(self) -> list[Object]:
        """What was rendered, as the API server holds it now."""
        result = self.kubectl("get", "-f", "-", "-o", "json", "--show-managed-fields", stdin=self.text)
        assert result.returncode == 0, result.stderr
        items: list[Object] = json.loads(result.stdout)["items"]
        return items

    def endpoints(self) -> list[Object]:
        service = f"kubernetes.io/service-name={self.case.service}-cloud"
        slices = self.plane.items("EndpointSlice", self.case.namespace, labelSelector=service)
        return [endpoint for one in slices for endpoint in one["endpoints"] or []]


def _is_ready(pod: Object) -> bool:
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", [])
    )


@pytest.fixture(scope="module", params=[pytest.param(case, id=case.name) for case in CASES])
def applied(
    request: pytest.FixtureRequest, busy_control_plane: ControlPlane, kubectl: Kubectl
) -> Iterator[Applied]:
    case: Case = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        rendered = CliRunner().invoke(cli.cli, ["render", f"fixtures/{case.name}"], standalone_mode=False)
    assert rendered.return_value == 0, rendered.stderr
    busy_control_plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}})
    here = Applied(case, rendered.stdout, busy_control_plane, kubectl)
    with Kubelet(busy_control_plane) as kubelet:
        for node in (*case.nodes.values(), "elsewhere"):
            kubelet.add_node(node, capacity={"nvidia.com/gpu": "1"})
        here.apply()
        here.wait_until_ready()
        yield here
        kubectl("delete", "-f", "-", stdin=here.text)


def test_each_worker_runs_on_its_node(applied: Applied) -> None:
    pods = applied.pods()

    assert {worker: pod["spec"]["nodeName"] for worker, pod in pods.items()} == applied.case.nodes
    assert {pod["status"]["phase"] for pod in pods.values()} == {"Running"}


def test_the_service_leads_to_the_cloud_worker_only(applied: Applied) -> None:
    cloud = applied.pods()["cloud"]

    def served() -> list[tuple[Any, ...]]:
        return [
            (one["targetRef"]["name"], *one["addresses"], one["nodeName"], one["conditions"]["ready"])
            for one in applied.endpoints()
        ]

    expected = [(cloud["metadata"]["name"], cloud["status"]["podIP"], applied.case.nodes["cloud"], True)]
    wait_until(lambda: served() == expected, f"endpoints {expected}")


def test_the_edge_worker_is_told_the_port_of_the_service(applied: Applied) -> None:
    service = applied.plane.get("Service", applied.case.namespace, f"{applied.case.service}-cloud")
    env = applied.pods()["edge"]["spec"]["containers"][0]["env"]

    assert service
    (port,) = service["spec"]["ports"]
    assert {"name": "BIG_MODEL_PORT", "value": str(port["nodePort"])} in env


def test_applying_it_again_changes_nothing(applied: Applied) -> None:
    def versions() -> dict[str, tuple[str, int | None]]:
        return {
            f"{one['kind']}/{one['metadata']['name']}": (
                one["metadata"]["resourceVersion"],
                one["metadata"].get("generation"),
            )
            for one in applied.objects()
        }

    # Deployments count their pods: only when that is over do versions stand still.
    wait_until(
        lambda: all(
            one["status"].get("readyReplicas") == 1
            for one in applied.objects()
            if one["kind"] == "Deployment"
        ),
        "Deployments",
    )
    before = versions()
    applied.apply()

    assert versions() == before
    assert len(before) == 3


def test_deleting_it_leaves_nothing_in_its_way_back(applied: Applied) -> None:
    result = applied.kubectl("delete", "-f", "-", "--wait=true", stdin=applied.text)

    assert result.returncode == 0, result.stderr
    left = ("Pod", "Deployment", "ReplicaSet", "Service", "EndpointSlice", "HorizontalPodAutoscaler")
    wait_until(
        lambda: not any(applied.plane.items(kind, applied.case.namespace) for kind in left),
        f"{left} to be gone",
    )
    applied.apply()
    applied.wait_until_ready()
