"""The kubelet stand-in writes what a kubelet would: read back in the words of the API server's own table."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import pytest

from tests.controlplane import pod_states
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane, Object, wait_until
from tests.controlplane.pod_states import State, with_

Kubectl = Callable[..., CompletedProcess[str]]
INIT = [{"name": "storage-initializer", "image": "init:1"}]
SIDECAR = [{"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}]


def pod(namespace: str, node: str, **spec: Any) -> Object:
    containers = [{"name": "model", "image": "model:1"}, {"name": "camera", "image": "camera:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "worker", "namespace": namespace},
        "spec": {"nodeName": node, "containers": containers, **spec},
    }


def conditions(stored: Object) -> dict[str, str]:
    return {one["type"]: one["status"] for one in stored["status"]["conditions"]}


def is_ready(stored: Object | None) -> bool:
    return (
        bool(stored)
        and stored is not None
        and conditions({"status": {"conditions": [], **stored["status"]}}).get("Ready") == "True"
    )


class Row(NamedTuple):
    """A state, and what is seen of a pod of two containers in it."""

    state: State
    ready: str  # columns of `kubectl get pod`
    column: str
    phase: str
    restarts: int = 0
    spec: dict[str, Any] = {}  # noqa: RUF012 - not changed


NEVER = {"restartPolicy": "Never"}
STATES = {
    "running": Row(pod_states.running, "2/2", "Running", "Running"),
    "running with a sidecar": Row(
        pod_states.running, "3/3", "Running", "Running", 0, {"initContainers": SIDECAR}
    ),
    "running after the download": Row(
        pod_states.running, "2/2", "Running", "Running", 0, {"initContainers": INIT}
    ),
    "not ready": Row(pod_states.not_ready, "0/2", "Running", "Running"),
    "one not ready": Row(with_(pod_states.not_ready, container="model"), "1/2", "Running", "Running"),
    "creating": Row(pod_states.creating, "0/2", "ContainerCreating", "Pending"),
    "crash loop": Row(
        with_(pod_states.crash_loop, container="model"), "1/2", "CrashLoopBackOff", "Running", 3
    ),
    "between two crashes": Row(
        with_(pod_states.restarted, container="model"), "2/2", "Running", "Running", 1
    ),
    "out of memory": Row(
        with_(pod_states.out_of_memory, container="model"), "1/2", "CrashLoopBackOff", "Running", 3
    ),
    "just killed": Row(
        with_(pod_states.terminated, exit_code=137, reason="OOMKilled", container="model"),
        "1/2",
        "OOMKilled",
        "Running",
    ),
    "back-off of a pull": Row(
        with_(pod_states.image_pull_error, container="model"), "1/2", "ImagePullBackOff", "Pending"
    ),
    "failed pull": Row(
        with_(pod_states.image_pull_error, backing_off=False, container="model"),
        "1/2",
        "ErrImagePull",
        "Pending",
    ),
    "invalid image name": Row(
        with_(pod_states.invalid_image_name, container="model"), "1/2", "InvalidImageName", "Pending"
    ),
    "config error": Row(
        with_(pod_states.config_error, container="model"), "1/2", "CreateContainerConfigError", "Pending"
    ),
    "create error": Row(
        with_(pod_states.create_error, container="model"), "1/2", "CreateContainerError", "Pending"
    ),
    "run error": Row(with_(pod_states.run_error, container="model"), "1/2", "RunContainerError", "Running"),
    "init running": Row(pod_states.init_running, "0/2", "Init:0/1", "Pending", 0, {"initContainers": INIT}),
    "init failed": Row(
        pod_states.init_failed, "0/2", "Init:CrashLoopBackOff", "Pending", 2, {"initContainers": INIT}
    ),
    "init just failed": Row(
        with_(pod_states.init_failed, waiting=False, restarts=0),
        "0/2",
        "Init:Error",
        "Pending",
        0,
        {"initContainers": INIT},
    ),
    "init failed for good": Row(
        with_(pod_states.init_failed, waiting=False, restarts=0),
        "0/2",
        "Init:Error",
        "Failed",
        0,
        {**NEVER, "initContainers": INIT},
    ),
    "completed": Row(pod_states.completed, "0/2", "Completed", "Succeeded", 0, NEVER),
    "failed": Row(with_(pod_states.completed, exit_code=2), "0/2", "Error", "Failed", 0, NEVER),
    # The column shows the containers' reason, where there are any; the pod's own is in its status.
    "evicted": Row(pod_states.evicted, "0/2", "Error", "Failed"),
    "evicted by an older kubelet": Row(
        with_(pod_states.evicted, remembers_containers=False), "0/2", "Evicted", "Failed"
    ),
    "node shut down": Row(pod_states.node_shut_down, "0/2", "Error", "Failed"),
    "rejected": Row(pod_states.rejected, "0/2", "NodePorts", "Failed"),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in STATES.items()])
def test_state_is_stored_and_read_as_a_kubelets(
    control_plane: ControlPlane, kubelet: Kubelet, kubectl: Kubectl, namespace: str, row: Row
) -> None:
    kubelet.script = lambda _: row.state
    kubelet.add_node("node")
    control_plane.create(pod(namespace, "node", **row.spec))
    stored = wait_until(lambda: with_status(control_plane, namespace), "a status")

    columns = kubectl("get", "pod", "worker", "-n", namespace, "--no-headers").stdout.split()
    assert columns[1:4] == [row.ready, row.column, str(row.restarts)]
    assert stored["status"]["phase"] == row.phase
    # What kubelets always do, whatever the state.
    assert stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
    assert stored["status"]["qosClass"] == "BestEffort"
    assert conditions(stored)["PodScheduled"] == "True"
    assert conditions(stored).get("Initialized", "True") == str(not row.column.startswith("Init:"))
    all_ready = row.ready[0] == row.ready[-1]
    assert (
        conditions(stored).get("Ready", "False")
        == conditions(stored).get("ContainersReady", "False")
        == str(all_ready)
    )


def with_status(plane: ControlPlane, namespace: str) -> Object | None:
    stored = plane.get("Pod", namespace, "worker")
    return stored if stored and "startTime" in stored["status"] else None


def test_a_pod_follows_its_script_step_by_step(
    control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("node")
    control_plane.create(pod(namespace, "node"))
    first = wait_until(lambda: with_status(control_plane, namespace), "a status")
    second = kubelet.set_state(namespace, "worker", pod_states.crash_loop)
    third = kubelet.set_state(namespace, "worker", with_(pod_states.running, restarts=4))

    assert [conditions(one)["Ready"] for one in (first, second, third)] == ["True", "False", "True"]
    assert first["status"]["startTime"] == third["status"]["startTime"]
    assert [one["restartCount"] for one in third["status"]["containerStatuses"]] == [4, 4]


def test_times_of_conditions_move_only_with_their_status(
    control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("node")
    control_plane.create(pod(namespace, "node"))
    wait_until(lambda: with_status(control_plane, namespace), "a status")
    past = "2020-01-01T00:00:00Z"
    moved = with_status(control_plane, namespace)
    assert moved
    status = {
        **moved["status"],
        "conditions": [{**one, "lastTransitionTime": past} for one in moved["status"]["conditions"]],
    }
    control_plane.api("PATCH", f"/api/v1/namespaces/{namespace}/pods/worker/status", {"status": status}).ok()

    after = kubelet.set_state(namespace, "worker", pod_states.not_ready)

    assert {one["type"] for one in after["status"]["conditions"] if one["lastTransitionTime"] != past} == {
        "Ready",
        "ContainersReady",
    }


def test_a_deleted_pod_goes_after_its_containers_ended(
    control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("node")
    created = control_plane.create(pod(namespace, "node"))
    wait_until(lambda: with_status(control_plane, namespace), "a status")
    version = created["metadata"]["resourceVersion"]
    watch = control_plane.watch(f"/api/v1/namespaces/{namespace}/pods", query={"resourceVersion": version})

    control_plane.delete("Pod", namespace, "worker")

    seen: list[tuple[str, str]] = []
    for event, stored in watch:
        step = (event, stored["status"]["phase"])
        if "deletionTimestamp" in stored["metadata"] and step not in seen:
            seen.append(step)
        if event == "DELETED":
            break
    watch.close()
    assert seen == [("MODIFIED", "Running"), ("MODIFIED", "Succeeded"), ("DELETED", "Succeeded")]


def test_a_pod_that_cannot_end_stays_terminating(
    control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("node")
    kubelet.removes_pods = False
    control_plane.create(pod(namespace, "node"))
    wait_until(lambda: with_status(control_plane, namespace), "a status")
    control_plane.delete("Pod", namespace, "worker")

    # Its next report comes after the deletion: it is known, and still nothing is done about it.
    stored = kubelet.set_state(namespace, "worker", pod_states.running)

    assert "deletionTimestamp" in stored["metadata"]


@pytest.mark.slow
def test_a_node_away_looks_as_on_a_real_cluster_until_it_is_back(
    busy_control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    plane = busy_control_plane
    kubelet.add_node("edge")
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists"} for key in ("unreachable", "not-ready")
    ]
    plane.create(pod(namespace, "edge", tolerations=tolerations))
    wait_until(lambda: is_ready(plane.get("Pod", namespace, "worker")), "the pod to be ready")

    kubelet.go_offline("edge")
    lost = wait_until(
        lambda: unless(is_ready, plane.get("Pod", namespace, "worker")), "the node to be missed", 40
    )

    # The fingerprint: Ready is taken back without a reason, all else stays as last reported.
    ready = next(one for one in lost["status"]["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready.get("reason")) == ("False", None)
    assert conditions(lost)["ContainersReady"] == "True"
    assert lost["status"]["phase"] == "Running"
    node = plane.get("Node", None, "edge")
    assert node
    assert conditions(node)["Ready"] == "Unknown"

    plane.delete("Pod", namespace, "worker")
    stuck = plane.get("Pod", namespace, "worker")
    assert stuck
    assert "deletionTimestamp" in stuck["metadata"]

    kubelet.come_back("edge")
    wait_until(lambda: plane.get("Pod", namespace, "worker") is None, "the pod to go")
    wait_until(lambda: is_ready(plane.get("Node", None, "edge")), "the node to be ready")


@pytest.mark.slow
def test_a_pod_is_ready_again_when_its_node_is_back(
    busy_control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    plane = busy_control_plane
    kubelet.add_node("edge")
    plane.create(pod(namespace, "edge"))
    wait_until(lambda: is_ready(plane.get("Pod", namespace, "worker")), "the pod to be ready")
    kubelet.go_offline("edge")
    wait_until(lambda: not is_ready(plane.get("Pod", namespace, "worker")), "the node to be missed", 40)

    kubelet.come_back("edge", reports=False)
    silent = plane.get("Pod", namespace, "worker")
    kubelet.come_back("edge")
    reported = plane.get("Pod", namespace, "worker")

    assert (is_ready(silent), is_ready(reported)) == (False, True)


def unless(check: Callable[[Object | None], bool], stored: Object | None) -> Object | None:
    return None if check(stored) else stored


def test_the_stand_in_follows_a_restarted_api_server(
    control_plane: ControlPlane, kubelet: Kubelet, namespace: str
) -> None:
    kubelet.add_node("node")
    control_plane.restart_apiserver()

    control_plane.create(pod(namespace, "node"))

    wait_until(lambda: is_ready(control_plane.get("Pod", namespace, "worker")), "the pod to be ready")
