"""What a kubelet would write into a pod's status, by what happens to its containers. Pure: pod and time in, status out.

A state is a function ``(pod, now) -> status``; those with options are used through ``functools.partial`` or ``with_``:
``pod_states.with_(pod_states.crash_loop, exit_code=3)``. `container=` names the one it happens to; the others run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tests.controlplane import pod_status
from tests.controlplane.pod_status import Object, Pod

State = Callable[[Pod, str], Object]

_BACK_OFF = "back-off 5m0s restarting failed container"


def with_(state: Callable[..., Object], **options: Any) -> State:
    """A state with its options set."""
    return functools.partial(state, **options)


# --- main containers ------------------------------------------------------------------------------


def running(pod: Pod, now: str, *, restarts: int = 0, started_at: str | None = None) -> Object:
    """All containers run and are ready."""
    return pod_status.status(pod, now, pod_status.runs(now, restarts=restarts, started_at=started_at))


def not_ready(pod: Pod, now: str, *, restarts: int = 0, container: str = "") -> Object:
    """It runs, and its readiness probe fails."""
    return pod_status.status(pod, now, pod_status.runs(now, restarts=restarts, ready=False), container)


def restarted(
    pod: Pod, now: str, *, exit_code: int = 1, restarts: int = 1, ready: bool = True, container: str = ""
) -> Object:
    """It ended, and runs again: what a crash loop looks like between two crashes."""
    last = pod_status.ended(now, exit_code)
    return pod_status.status(
        pod, now, pod_status.runs(now, restarts=restarts, ready=ready, last=last), container
    )


def creating(pod: Pod, now: str) -> Object:
    """Volumes, network and images are being made ready; also what a missing hostPath looks like, for ever."""
    return pod_status.status(
        pod,
        now,
        pod_status.waits("PodInitializing" if pod_status.init_containers(pod) else "ContainerCreating"),
        init=pod_status.waits("PodInitializing"),
    )


def terminated(
    pod: Pod, now: str, *, exit_code: int = 1, restarts: int = 0, reason: str = "", container: str = ""
) -> Object:
    """It has just ended and is not waited for yet; for good under the restart policy Never."""
    outcome = {
        "state": pod_status.ended(now, exit_code, reason),
        "ready": False,
        "started": False,
        "restartCount": restarts,
    }
    return pod_status.status(pod, now, outcome, container)


def crash_loop(
    pod: Pod, now: str, *, exit_code: int = 1, restarts: int = 3, reason: str = "", container: str = ""
) -> Object:
    """It ended again and again, and the kubelet waits before the next try."""
    message = f"{_BACK_OFF}={container or pod_status.first(pod)} pod={pod_status.full_name(pod)}"
    last = pod_status.ended(now, exit_code, reason)
    return pod_status.status(
        pod, now, pod_status.waits("CrashLoopBackOff", message, restarts=restarts, last=last), container
    )


def out_of_memory(pod: Pod, now: str, *, restarts: int = 3, container: str = "") -> Object:
    """A crash loop of a container that the kernel kills for its memory."""
    return crash_loop(pod, now, exit_code=137, restarts=restarts, reason="OOMKilled", container=container)


def image_pull_error(pod: Pod, now: str, *, backing_off: bool = True, container: str = "") -> Object:
    """The registry has no such image; the reason alternates between the two spellings."""
    image = pod_status.image(pod, container)
    cause = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
    pull = f"rpc error: code = NotFound desc = {cause}"
    waits = (
        pod_status.waits("ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {pull}')
        if backing_off
        else pod_status.waits("ErrImagePull", pull)
    )
    return pod_status.status(pod, now, waits, container)


def invalid_image_name(pod: Pod, now: str, *, container: str = "") -> Object:
    """No pull is tried: the image's name cannot be parsed."""
    image = pod_status.image(pod, container)
    message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": invalid reference format'
    return pod_status.status(pod, now, pod_status.waits("InvalidImageName", message), container)


def config_error(
    pod: Pod, now: str, *, message: str = 'secret "model-store" not found', container: str = ""
) -> Object:
    """What the container refers to is not there."""
    return pod_status.status(pod, now, pod_status.waits("CreateContainerConfigError", message), container)


def create_error(
    pod: Pod, now: str, *, message: str = "context deadline exceeded", container: str = ""
) -> Object:
    """The container runtime refuses to make the container."""
    return pod_status.status(pod, now, pod_status.waits("CreateContainerError", message), container)


def run_error(
    pod: Pod,
    now: str,
    *,
    message: str = 'exec: "serve": executable file not found in $PATH',
    container: str = "",
) -> Object:
    """The container runtime made the container and cannot start it."""
    text = (
        f"failed to create containerd task: failed to create shim task: OCI runtime create failed: {message}"
    )
    return pod_status.status(
        pod,
        now,
        pod_status.waits("RunContainerError", text, last=pod_status.ended(now, 128, "StartError")),
        container,
    )


def completed(pod: Pod, now: str, *, exit_code: int = 0) -> Object:
    """All containers have ended for good: Succeeded, or Failed where the exit code is not 0."""
    outcome = {"state": pod_status.ended(now, exit_code), "ready": False, "started": False}
    return pod_status.status(pod, now, outcome, phase="Failed" if exit_code else "Succeeded")


# --- init containers ------------------------------------------------------------------------------


def init_running(pod: Pod, now: str) -> Object:
    """The first init container runs, and everything else waits for it."""
    return pod_status.status(
        pod, now, pod_status.waits("PodInitializing"), init=pod_status.runs(now, ready=False)
    )


def init_failed(
    pod: Pod, now: str, *, exit_code: int = 1, restarts: int = 2, message: str = "", waiting: bool = True
) -> Object:
    """The first init container ended badly; the kubelet waits before the next try, or has not begun to."""
    end = pod_status.ended(now, exit_code, message=message)
    back_off = f"{_BACK_OFF}={pod_status.init_containers(pod)[0]['name']} pod={pod_status.full_name(pod)}"
    waits = pod_status.waits("CrashLoopBackOff", back_off, restarts=restarts, last=end)
    ended = {"state": end, "ready": False, "started": False, "restartCount": restarts}
    return pod_status.status(pod, now, pod_status.waits("PodInitializing"), init=waits if waiting else ended)


# --- the whole pod --------------------------------------------------------------------------------


def evicted(
    pod: Pod,
    now: str,
    *,
    message: str = "The node was low on resource: ephemeral-storage. ",
    remembers_containers: bool = True,
) -> Object:
    """The kubelet stopped it for want of a resource; older ones then forget its containers."""
    status = completed(pod, now, exit_code=137)
    target = pod_status.condition("DisruptionTarget", "True", now, "TerminationByKubelet", message)
    said = {"reason": "Evicted", "message": message, "conditions": [*status["conditions"], target]}
    containers = status["containerStatuses"] if remembers_containers else []
    return {**status, **said, "containerStatuses": containers}


def node_shut_down(pod: Pod, now: str) -> Object:
    """The node was shut down in order, and its pods before it."""
    message = "Pod was terminated in response to imminent node shutdown."
    return {**evicted(pod, now, message=message), "reason": "Terminated"}


def rejected(
    pod: Pod,
    now: str,
    *,
    reason: str = "NodePorts",
    message: str = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
) -> Object:
    """The kubelet does not admit it (OutOfcpu, NodeAffinity, …): no container was ever made."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": now,
        "conditions": [pod_status.condition("PodScheduled", "True", now)],
    }
