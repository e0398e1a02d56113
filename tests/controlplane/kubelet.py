"""Stands in for the kubelets of a test's nodes: registers nodes, keeps them alive, and plays what happens to pods.

No container runs. What a pod's status says is scripted by states of pod_states.py; without a script pods run.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Self

from tests.controlplane import api, nodes, pod_states, pod_status
from tests.controlplane.plane import ControlPlane, Object, RefusedError, wait_until
from tests.controlplane.pod_states import State

_RENEW_EVERY = 2.0  # seconds; the node lifecycle controller of the tests waits 10
_FIRST_ADDRESS = 10
Script = Callable[[Object], State]


@dataclass
class Node:
    """A node of the stand-in."""

    name: str
    address: str
    capacity: Mapping[str, str]
    online: bool = True
    reports: bool = True


@dataclass
class _Pod:
    """What a kubelet remembers of a pod."""

    seen: Object
    state: State
    status: Object = field(default_factory=dict)


class Kubelet:
    """All the nodes of a test. A context manager: watches while it is open, and removes its nodes at the end."""

    def __init__(self, plane: ControlPlane, script: Script = lambda _: pod_states.running) -> None:
        """The script gives the state that a pod begins in; ``set_state`` changes it later."""
        self.script = script
        self.removes_pods = True
        self._plane = plane
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, _Pod] = {}
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self._watch: api.Watch | None = None
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._follow_pods, self._keep_alive)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        if self._watch:
            self._watch.close()
        for thread in self._threads:
            thread.join()
        for name in self._nodes:
            self.remove_node(name)

    # --- nodes ------------------------------------------------------------------------------------

    def add_node(
        self, name: str, *, labels: Mapping[str, str] | None = None, capacity: Mapping[str, str] | None = None
    ) -> Node:
        """Register a node that is ready; capacity adds to, or replaces, what all nodes have."""
        with self._lock:
            added = Node(name, f"192.0.2.{_FIRST_ADDRESS + len(self._nodes)}", capacity or {})
            self._plane.create(nodes.node(name, labels or {}))
            self._nodes[name] = added
            self._report_node(added)
            # Admission puts it on every new node; a controller, if one runs, may be as quick.
            wait_until(lambda: self._untaint(name), f"node {name} without taint")
        for pod in self._plane.items("Pod", fieldSelector=f"spec.nodeName={name}"):
            self._handle("ADDED", pod)
        return added

    def go_offline(self, name: str) -> None:
        """The node stops renewing and reporting, as when its network is cut; its pods are no longer confirmed."""
        self._nodes[name].online = False

    def come_back(self, name: str, *, reports: bool = True) -> None:
        """It renews again, reports its pods as they are, and removes what was deleted meanwhile.

        Without ``reports`` it says nothing about pods, as some versions of KubeEdge do.
        """
        with self._lock:
            node = self._nodes[name]
            node.online, node.reports = True, reports
            self._report_node(node)
            for pod in self._plane.items("Pod", fieldSelector=f"spec.nodeName={name}"):
                known = self._pods.get(pod["metadata"]["uid"])
                if known:
                    known.status = {}
                self._handle("MODIFIED", pod)

    def remove_node(self, name: str) -> None:
        """Remove the node with its Lease and its pods."""
        for pod in self._plane.items("Pod", fieldSelector=f"spec.nodeName={name}"):
            self._remove(pod)
        self._plane.delete("Lease", nodes.LEASES, name)
        self._plane.delete("Node", None, name)

    # --- pods -------------------------------------------------------------------------------------

    def set_state(self, namespace: str, name: str, state: State) -> Object:
        """Something happens to a pod that is on a node here; gives the pod as stored afterwards."""
        with self._lock:
            pod = self._plane.get("Pod", namespace, name)
            assert pod, f"there is no pod {namespace}/{name}"
            assert pod["spec"].get("nodeName") in self._nodes, (
                f"pod {namespace}/{name} is on no node of the stand-in"
            )
            known = self._pods.setdefault(pod["metadata"]["uid"], _Pod(pod, state))
            known.state, known.status = state, {}
            self._handle("MODIFIED", pod)
            return self._plane.get("Pod", namespace, name) or {}

    def _handle(self, event: str, pod: Object) -> None:
        """A pod is new on a node, changed, or gone."""
        with self._lock:
            uid, node = pod["metadata"]["uid"], self._nodes.get(pod["spec"].get("nodeName", ""))
            if event == "DELETED" or node is None:
                self._pods.pop(uid, None)
                return
            known = self._pods.setdefault(uid, _Pod(pod, self.script(pod)))
            known.seen = pod
            if not node.online:
                return
            if pod["metadata"].get("deletionTimestamp"):
                if self.removes_pods:
                    self._end(known, node)
            elif node.reports and not known.status:
                self._report_pod(known, node, known.state)

    def _end(self, known: _Pod, node: Node) -> None:
        """Stop the containers, say so, and let the object go: in this order, as a kubelet does."""
        ran = any("running" in one["state"] for one in known.status.get("containerStatuses", []))
        if ran and node.reports:
            self._report_pod(known, node, pod_states.completed)
        self._remove(known.seen)

    def _remove(self, pod: Object) -> None:
        metadata = pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        self._plane.api("DELETE", api.path("Pod", metadata["namespace"], metadata["name"]), options)

    def _report_pod(self, known: _Pod, node: Node, state: State) -> None:
        metadata, old = known.seen["metadata"], known.seen["status"]
        known.status = _continued(old, _on_node(state(known.seen, _now()), node))
        # Kubernetes' own kubelet says which generation of the pod it speaks of.
        status = {
            **known.status,
            "qosClass": old["qosClass"],
            "observedGeneration": metadata.get("generation", 1),
        }
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
            {"op": "replace", "path": "/status", "value": status},
        ]
        target = api.path("Pod", metadata["namespace"], metadata["name"], "status")
        answer = self._plane.api("PATCH", target, patch, content_type=api.JSON_PATCH)
        if answer.status != 404 and not (
            "test failed" in answer.message or "testing value" in answer.message
        ):
            known.seen = answer.ok()

    # --- what goes on by itself -------------------------------------------------------------------

    def _follow_pods(self) -> None:
        while not self._ending.is_set():
            # The server may be away, frozen or restarted: such tests are why there is a stand-in.
            with contextlib.suppress(OSError, HTTPException, RefusedError):
                listed = self._plane.api("GET", api.path("Pod")).ok()
                for pod in listed["items"]:
                    self._handle("ADDED", pod)
                self._watch = self._plane.watch(
                    api.path("Pod"), query={"resourceVersion": listed["metadata"]["resourceVersion"]}
                )
                for event, pod in self._watch:
                    if event == "ERROR" or self._ending.is_set():
                        break
                    self._handle(event, pod)
            self._ending.wait(0.2)

    def _keep_alive(self) -> None:
        while not self._ending.wait(_RENEW_EVERY):
            for node in list(self._nodes.values()):
                if node.online:
                    with contextlib.suppress(OSError, HTTPException, RefusedError):
                        self._renew(node)

    def _renew(self, node: Node) -> None:
        self._plane.apply(nodes.lease(node.name, _now(microseconds=True)), manager="kubelet")

    def _report_node(self, node: Node) -> None:
        self._renew(node)
        status = nodes.status(node.name, node.address, _now(), node.capacity)
        target = api.path("Node", None, node.name, "status")
        self._plane.api("PATCH", target, {"status": status}, content_type=api.STRATEGIC_MERGE_PATCH).ok()

    def _untaint(self, name: str) -> bool:
        """Whether the taint is gone; else try to take it off."""
        node = self._plane.get("Node", None, name) or {"spec": {}}
        taints = [taint for taint in node["spec"].get("taints", []) if taint["key"] != nodes.NOT_READY]
        if taints == node["spec"].get("taints", []):
            return True
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": taints},
        }
        self._plane.api("PATCH", api.path("Node", None, name), patch)
        return False


def _on_node(status: Object, node: Node) -> Object:
    """With the node's address where the state has a stand-in for it."""
    mine = {"hostIP": node.address, "hostIPs": [{"ip": node.address}]}
    if status.get("podIP") == pod_status.HOST:
        mine |= {"podIP": node.address, "podIPs": mine["hostIPs"]}
    return {**status, **(mine if "hostIP" in status else {})}


def _continued(old: Object, new: Object) -> Object:
    """The new status with the times of what has not changed, and with conditions that are not a kubelet's."""
    before = {one["type"]: one for one in old.get("conditions", [])}
    conditions = []
    for one in new["conditions"]:
        earlier = before.pop(one["type"], {})
        same = earlier.get("status") == one["status"]
        conditions.append({**one, **({"lastTransitionTime": earlier["lastTransitionTime"]} if same else {})})
    return {
        **new,
        "conditions": [*before.values(), *conditions],
        **({"startTime": old["startTime"]} if "startTime" in old else {}),
    }


def _now(*, microseconds: bool = False) -> str:
    """As Kubernetes writes times: whole seconds, or exactly six digits."""
    now = datetime.now(UTC)  # noqa: TID251 - a kubelet has a clock
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if microseconds else "%Y-%m-%dT%H:%M:%SZ")
