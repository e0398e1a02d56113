"""A pod's status put together from what happens to its containers, as a kubelet does it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
Pod = Mapping[str, Any]
# What is special in a container's status; name, image and the like are added.
Outcome = Mapping[str, Any]

# Stands for the address of the node that a pod is on.
HOST = "192.0.2.1"


def status(
    pod: Pod, now: str, main: Outcome, container: str = "", *, init: Outcome | None = None, phase: str = ""
) -> Object:
    """The status of a pod whose container (all, without a name) has this outcome, and the rest runs."""
    others = runs(now)
    containers = [
        _container_status(pod, one, main if container in ("", one["name"]) else others)
        for one in pod["spec"]["containers"]
    ]
    of_init = _init_statuses(pod, now, init)
    phase = phase or _phase(pod, containers, init)
    address = pod["status"].get("podIP") or _address(pod)
    waits_for_init = init is not None and bool(of_init)
    has_network = init is None or "running" in init["state"] or "lastState" in init
    status: Object = {
        "phase": phase,
        "conditions": _conditions(
            phase, now, containers, of_init, waits_for_init=waits_for_init, has_network=has_network
        ),
        "hostIP": HOST,
        "hostIPs": [{"ip": HOST}],
        "startTime": now,
        "containerStatuses": containers,
    }
    if of_init:
        status["initContainerStatuses"] = of_init
    if has_network:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    return status


def _phase(pod: Pod, containers: list[Object], init: Outcome | None) -> str:
    """As the kubelet derives it: a container that waits and never ran makes the pod Pending."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if init is not None:
        return "Failed" if policy == "Never" and "terminated" in init["state"] else "Pending"
    if any("waiting" in one["state"] and not one.get("lastState") for one in containers):
        return "Pending"
    ends = [one["state"].get("terminated") for one in containers]
    if policy == "Always" or not all(ends):
        return "Running"
    if all(end["exitCode"] == 0 for end in ends if end):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _conditions(
    phase: str,
    now: str,
    containers: list[Object],
    init: list[Object],
    *,
    waits_for_init: bool,
    has_network: bool,
) -> list[Object]:
    ended = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "")
    unready = _unready("containers with unready status: ", containers)
    sidecars_ready = all(one["ready"] for one in init)
    ready = not unready and not ended and not waits_for_init and sidecars_ready
    why = () if ready else (ended,) if ended else ("ContainersNotReady", unready)
    incomplete = ("ContainersNotInitialized", _unready("containers with incomplete status: ", init))
    begun = "" if phase != "Succeeded" else "PodCompleted"
    return [
        condition("PodReadyToStartContainers", str(has_network and not ended), now),
        condition("Initialized", str(not waits_for_init), now, *(incomplete if waits_for_init else (begun,))),
        condition("Ready", str(ready), now, *why),
        condition("ContainersReady", str(ready), now, *why),
        condition("PodScheduled", "True", now),
    ]


def _unready(text: str, containers: list[Object]) -> str:
    names = [one["name"] for one in containers if not one["ready"]]
    return f"{text}[{' '.join(names)}]" if names else ""


def condition(kind: str, status: str, now: str, reason: str = "", message: str = "") -> Object:
    said = {"reason": reason, "message": message}
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": now,
        **{key: text for key, text in said.items() if text},
    }


def runs(
    now: str,
    *,
    restarts: int = 0,
    ready: bool = True,
    last: Object | None = None,
    started_at: str | None = None,
) -> Outcome:
    return {
        "state": {"running": {"startedAt": started_at or now}},
        "ready": ready,
        "started": True,
        "restartCount": restarts,
        **({"lastState": last} if last else {}),
    }


def waits(reason: str, message: str = "", *, restarts: int = 0, last: Object | None = None) -> Outcome:
    return {
        "state": {"waiting": {"reason": reason, **({"message": message} if message else {})}},
        "ready": False,
        "started": False,
        "restartCount": restarts,
        **({"lastState": last} if last else {}),
    }


def ended(now: str, exit_code: int, reason: str = "", message: str = "") -> Object:
    end = {
        "exitCode": exit_code,
        "reason": reason or ("Error" if exit_code else "Completed"),
        "startedAt": now,
        "finishedAt": now,
        "containerID": "containerd://" + "1" * 64,
        **({"message": message} if message else {}),
    }
    return {"terminated": end}


def _container_status(pod: Pod, container: Object, outcome: Outcome) -> Object:
    state: Mapping[str, Any] = outcome["state"]
    # A container that waits and never ran has no id yet.
    made = "waiting" not in state or "lastState" in outcome
    uid = str(pod["metadata"].get("uid", "")).replace("-", "")
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{container['image']}@sha256:{'a' * 64}" if made else "",
        "lastState": {},
        "restartCount": 0,
        **({"containerID": f"containerd://{uid:0<64}"} if made else {}),
        **({"resources": container["resources"]} if made and container.get("resources") else {}),
        **outcome,
    }


def _init_statuses(pod: Pod, now: str, outcome: Outcome | None) -> list[Object]:
    """Without an outcome all have completed (sidecars run); with one it is the first's, and the others wait."""
    found = []
    for number, one in enumerate(init_containers(pod)):
        done = {"state": ended(now, 0), "ready": True, "started": False}
        mine = runs(now) if one.get("restartPolicy") == "Always" else done
        if outcome is not None:
            mine = outcome if number == 0 else waits("PodInitializing")
        found.append(_container_status(pod, one, mine))
    return found


def init_containers(pod: Pod) -> list[Object]:
    found: list[Object] = pod["spec"].get("initContainers", [])
    return found


def first(pod: Pod) -> str:
    return str(pod["spec"]["containers"][0]["name"])


def image(pod: Pod, container: str) -> str:
    name = container or first(pod)
    return str(next(one["image"] for one in pod["spec"]["containers"] if one["name"] == name))


def full_name(pod: Pod) -> str:
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def _address(pod: Pod) -> str:
    """An address of its own in the pods' network, or the node's."""
    if pod["spec"].get("hostNetwork"):
        return HOST
    number = int(str(pod["metadata"]["uid"])[:4], 16)
    return f"10.244.{number >> 8}.{number & 255}"
