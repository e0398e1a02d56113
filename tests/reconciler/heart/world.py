"""Pods and services as an API server stores them, and a small world: decide, store, let time pass, decide again."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.conditions import timestamp
from reconciler.decide import Clock, Decision, Sightings, decide
from reconciler.decode import decode_pod, decode_service
from reconciler.records import Pod, Service
from reconciler.settings import Settings

Object = dict[str, Any]

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC).timestamp()
HOUR = 3600.0
SETTINGS = Settings()
UID = "7a1d4cd0-0000-4000-8000-000000000001"


# --- one container's status ---------------------------------------------------------------------------------------


def end(
    code: int = 1,
    reason: str = "",
    *,
    message: str = "",
    started: float = NOW - 40,
    finished: float = NOW - 30,
) -> Object:
    """An ended run."""
    return {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        **({"message": message} if message else {}),
        "startedAt": timestamp(started),
        "finishedAt": timestamp(finished),
        "containerID": "containerd://" + "1" * 64,
    }


def runs(
    *, ready: bool = True, restarts: int = 0, last: Object | None = None, started: float = NOW - 30
) -> Object:
    return _status({"running": {"startedAt": timestamp(started)}}, ready=ready, restarts=restarts, last=last)


def waits(reason: str, message: str = "", *, restarts: int = 0, last: Object | None = None) -> Object:
    said = {"reason": reason, **({"message": message} if message else {})}
    return _status({"waiting": said}, ready=False, restarts=restarts, last=last)


def ended(code: int = 1, reason: str = "", *, restarts: int = 0, message: str = "") -> Object:
    return _status(
        {"terminated": end(code, reason, message=message)}, ready=False, restarts=restarts, last=None
    )


def done() -> Object:
    """An init container that did its work."""
    return _status({"terminated": end(0)}, ready=True, restarts=0, last=None)


def crash_loop(code: int = 1, reason: str = "", *, restarts: int = 4, message: str = "") -> Object:
    text = "back-off 1m20s restarting failed container=model pod=helmet-edge_default(1)"
    return waits("CrashLoopBackOff", text, restarts=restarts, last=end(code, reason, message=message))


def _status(state: Object, *, ready: bool, restarts: int, last: Object | None) -> Object:
    return {
        "image": "registry.example.com/ml/little:1",
        "imageID": "sha256:" + "a" * 64,
        "ready": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }


# --- a pod --------------------------------------------------------------------------------------------------------


def condition(kind: str, status: str, reason: str = "", message: str = "", at: float = NOW - HOUR) -> Object:
    said = {"reason": reason, "message": message}
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(at),
        **{key: text for key, text in said.items() if text},
    }


def pod(
    containers: Mapping[str, Object] | None = None,
    *,
    name: str = "",
    worker: str = "edge",
    init: Mapping[str, Object] | None = None,
    sidecars: Mapping[str, Object] | None = None,
    phase: str = "",
    conditions: Sequence[Object] | None = None,
    node: str | None = None,
    age: float = HOUR,
    policy: str = "Always",
    deleted: float | None = None,
    labels: Mapping[str, str] | None = None,
    owners: Sequence[Object] = (),
    status: Mapping[str, Any] | None = None,
) -> Object:
    """A pod whose phase and conditions follow from its containers, as a kubelet would say; `deleted`: the
    deletionTimestamp, relative to NOW.
    """
    containers = {"model": runs()} if containers is None else containers
    early = {**(init or {}), **(sidecars or {})}
    name = name or f"helmet-{worker}"
    keys = {
        "jointinferenceservice.sedna.io/name": "helmet",
        "jointinferenceservice.sedna.io/worker-type": worker,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "resourceVersion": "100",
            "creationTimestamp": timestamp(NOW - age),
            "labels": keys if labels is None else dict(labels),
            **({"ownerReferences": list(owners)} if owners else {}),
            **(
                {"deletionTimestamp": timestamp(NOW + deleted), "deletionGracePeriodSeconds": 30}
                if deleted is not None
                else {}
            ),
        },
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": one, "image": "little:1"} for one in containers or ("model",)],
            "initContainers": [
                *({"name": one} for one in init or {}),
                *({"name": one, "restartPolicy": "Always"} for one in sidecars or {}),
            ],
            **({"nodeName": f"{worker}-1" if node is None else node} if node != "" else {}),
        },
        "status": {
            "phase": phase or _phase(containers, init or {}),
            "conditions": list(
                _conditions({**containers, **(sidecars or {})}) if conditions is None else conditions
            ),
            **({"containerStatuses": _named(containers)} if containers else {}),
            **({"initContainerStatuses": _named(early)} if early else {}),
            **(status or {}),
        },
    }


def _named(containers: Mapping[str, Object]) -> list[Object]:
    return [{"name": name, **one} for name, one in containers.items()]


def _phase(containers: Mapping[str, Object], init: Mapping[str, Object]) -> str:
    waits_first = any("waiting" in one["state"] and not one["lastState"] for one in containers.values())
    before = any("terminated" not in one["state"] or not one["ready"] for one in init.values())
    return "Pending" if not containers or waits_first or before else "Running"


def _conditions(containers: Mapping[str, Object]) -> list[Object]:
    unready = [name for name, one in containers.items() if not one["ready"]]
    if not unready:
        return [condition(kind, "True") for kind in ("Ready", "ContainersReady", "PodScheduled")]
    why = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    return [
        condition("Ready", "False", *why, at=NOW - 30),
        condition("ContainersReady", "False", *why, at=NOW - 30),
        condition("PodScheduled", "True"),
    ]


AWAY = [
    condition("Ready", "False", at=NOW - 60),
    condition("ContainersReady", "True"),
    condition("PodScheduled", "True"),
]


def away(**options: Any) -> Object:
    """A pod that ran, on a node whose lease has stopped: the control plane set Ready to False and no more."""
    return pod(conditions=AWAY, **options)


def unscheduled(
    reason: str = "Unschedulable", message: str = "0/3 nodes are available", **options: Any
) -> Object:
    return pod({}, node="", conditions=[condition("PodScheduled", "False", reason, message)], **options)


def unanswered(**options: Any) -> Object:
    """A pod with a node that never said anything."""
    return pod({}, conditions=[], **options)


CLOUD_POD = pod(worker="cloud")


def read(one: Object) -> Pod:
    return decode_pod(json.dumps(one).encode())


# --- a service ----------------------------------------------------------------------------------------------------


def service(status: Mapping[str, Any] | None = None, **metadata: Any) -> Service:
    """The service helmet; made an hour ago."""
    about = {
        "name": "helmet",
        "namespace": "default",
        "uid": UID,
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": timestamp(NOW - HOUR),
        **metadata,
    }
    body = {"apiVersion": "sedna.io/v1alpha1", "metadata": about, **({"status": status} if status else {})}
    return decode_service(json.dumps(body).encode())


def managed(manager: str, fields: Sequence[str], at: float = NOW) -> Object:
    """An entry of managedFields of the status."""
    return {
        "manager": manager,
        "operation": "Update",
        "subresource": "status",
        "time": timestamp(at),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {".": {}, **{f"f:{one}": {} for one in fields}}},
    }


def stored(reason: str, message: str = "edge worker: as it was", *, ready: str = "False") -> Object:
    """A status with this reason of the edge worker."""
    entry = {"type": "EdgeWorkerReady", "status": ready, "reason": reason, "message": message}
    return {"conditions": [entry | {"lastTransitionTime": timestamp(NOW - HOUR)}]}


@dataclass(frozen=True)
class World:
    """What is stored and what is remembered, at one time; each step gives another one."""

    status: Mapping[str, Any] = field(default_factory=dict)
    seen: Sightings = field(default_factory=dict)
    time: float = 0.0
    settings: Settings = SETTINGS
    metadata: Mapping[str, Any] = field(default_factory=dict)
    decision: Decision | None = None

    def look(self, *pods: Object, after: float = 0.0) -> World:
        """Some seconds later: decides, and stores what is to be stored."""
        time = self.time + after
        made = service(self.status, **self.metadata)
        clock = Clock(1000.0 + time, NOW + time)
        found = decide(made, [read(one) for one in pods], self.seen, clock, self.settings)
        status = {**self.status, **(found.patch or {}).get("status", {})}
        return replace(self, status=status, seen=found.sightings, time=time, decision=found)

    def restart(self) -> World:
        """A new leader: all that was seen is forgotten."""
        return replace(self, seen={})

    @property
    def decided(self) -> Decision:
        assert self.decision is not None
        return self.decision

    @property
    def patch(self) -> Object | None:
        return self.decided.patch

    @property
    def types(self) -> list[str]:
        return [one["type"] for one in self.status["conditions"]]

    def condition(self, kind: str) -> Object:
        found = [one for one in self.status["conditions"] if one["type"] == kind]
        assert len(found) == 1, f"{len(found)} conditions of type {kind}"
        return dict(found[0])

    @property
    def edge(self) -> Object:
        return self.condition("EdgeWorkerReady")

    @property
    def cloud(self) -> Object:
        return self.condition("CloudWorkerReady")

    @property
    def state(self) -> str:
        """As Sedna's dashboards read it."""
        return self.types[-1]
