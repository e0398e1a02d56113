"""What one pod shows, as questions with one answer. Pure; no clock, no grace, no memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from reconciler.records import INIT, RUNNING, TERMINATED, WAITING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.records import Container, Pod

STORAGE_INITIALIZER: Final = "storage-initializer"

INVALID_IMAGE_NAME: Final = "InvalidImageName"
CRASH_LOOP: Final = "CrashLoopBackOff"
#: Spellings of one fault: the kubelet changes between them at each try.
IMAGE_ERRORS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
#: Likewise.
CONFIG_ERRORS: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PreCreateHookError",
        "PreStartHookError",
        "PostStartHookError",
    }
)
#: Reasons of a failed pod that was stopped from outside. Terminated, NodeShutdown, Shutdown: the node went down.
EVICTIONS: Final = frozenset({"Evicted", "Terminated", "NodeShutdown", "Shutdown", "Preempting", "Preempted"})
#: Reasons of a failed pod that the kubelet did not admit; those that begin with OutOf are meant too.
REJECTIONS: Final = frozenset(
    {
        "NodePorts",
        "NodeAffinity",
        "NodeName",
        "AppArmor",
        "SysctlForbidden",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
        "InvalidNodeInfo",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "MatchNodeSelector",
    }
)
# The reasons of Ready=False that nobody but the control plane writes, and no kubelet.
_NOT_BY_THE_KUBELET: Final = frozenset({"", "NodeLost", "NodeStatusUnknown"})
_SECONDS_BETWEEN_LOOKS: Final = 10.0


@functools.lru_cache(maxsize=8)
def _by_role(pod: Pod) -> tuple[tuple[Container, ...], tuple[Container, ...]]:
    mains = pod.containers + tuple(one for one in pod.init_containers if one.role != INIT)
    return mains, tuple(one for one in pod.init_containers if one.role == INIT)


def containers(pod: Pod) -> tuple[Container, ...]:
    """Main containers and sidecars: what runs while the pod does."""
    return _by_role(pod)[0]


def init_containers(pod: Pod) -> tuple[Container, ...]:
    """What runs before them, and ends. Sidecars are not among them."""
    return _by_role(pod)[1]


def waiting(pod: Pod, is_meant: Callable[[str], bool]) -> Container | None:
    """The first container of any kind that waits for a reason that is meant."""
    return next(
        (
            one
            for one in pod.init_containers + pod.containers
            if one.state == WAITING and is_meant(one.reason)
        ),
        None,
    )


def node_is_away(pod: Pod) -> bool:
    """The fingerprint of a node that does not report: the control plane set Ready to False, and nothing else.

    Of a pod that ran. The kubelet always gives a reason (`ReadinessGatesNotReady` too), the control plane none.
    """
    if pod.phase in ("Succeeded", "Failed"):
        return False
    if pod.phase == "Unknown" or pod.reason == "NodeLost":
        return True
    if pod.ready.status != "False" or pod.ready.reason not in _NOT_BY_THE_KUBELET:
        return False
    ran = any(one.state == RUNNING for one in pod.containers)
    all_run = all(one.state == RUNNING and one.ready for one in containers(pod))
    return ran and (pod.containers_ready.status == "True" or all_run)


def is_gated(pod: Pod) -> bool:
    return not pod.node and pod.scheduled.reason == "SchedulingGated"


def is_acknowledged(pod: Pod) -> bool:
    """The node has said something about its containers."""
    return bool(pod.containers or pod.init_containers)


def was_rejected(pod: Pod) -> bool:
    """A failed pod of which no container was ever made."""
    by_name = pod.reason in REJECTIONS or pod.reason.startswith("OutOf")
    unknown = bool(pod.reason) and not is_acknowledged(pod) and pod.reason != "DeadlineExceeded"
    return by_name or unknown


def failed_init(pod: Pod) -> Container | None:
    """The init container whose latest end is a bad one, also while it runs again."""
    return next((one for one in init_containers(pod) if _ended_badly(one)), None)


def running_init(pod: Pod) -> Container | None:
    return next((one for one in init_containers(pod) if one.state == RUNNING), None)


def crashing(pod: Pod) -> tuple[Container, ...]:
    """The containers that show a crash just now."""
    return tuple(one for one in containers(pod) if _is_crashing(one))


def _is_crashing(container: Container) -> bool:
    if container.state == WAITING:
        return container.reason == CRASH_LOOP
    return container.state == TERMINATED and _ended_badly(container) and container.restarts >= 2  # noqa: PLR2004


def have_crashed(pod: Pod) -> tuple[Container, ...]:
    """Those, and the ones that have crashed more than once: the same in every phase of a crash loop."""
    now = crashing(pod)
    return tuple(
        one
        for one in containers(pod)
        if one in now or (one.restarts >= 2 and _ended_badly(one))  # noqa: PLR2004
    )


def _ended_badly(container: Container) -> bool:
    return container.last is not None and container.last.exit_code != 0


def has_ended_before(pod: Pod) -> bool:
    """A container of it has ended at least once: this pod, and not one before it, can have crashed."""
    return any(one.restarts or one.last for one in containers(pod))


def previous_run(pod: Pod) -> float:
    """Seconds that the longest of the runs before the current ones lasted, each by its node's own clock."""
    return max(
        (one.last.finished - one.last.started for one in containers(pod) if one.last and one.last.started),
        default=0.0,
    )


def ended_for_good(pod: Pod) -> Container | None:
    """A container that ended badly and that the restart policy does not start again."""
    if pod.restart_policy != "Never":
        return None  # OnFailure starts again what ended badly
    return next((one for one in pod.containers if one.state == TERMINATED and _ended_badly(one)), None)


def restarted_once(pod: Pod) -> Container | None:
    """A container that ended for the first time and has not been ready since.

    Whether it has been: Ready turned False when it ended, or later. Both times are of the one clock of the node.
    """
    return next((one for one in containers(pod) if _is_first_restart(one, pod)), None)


def _is_first_restart(container: Container, pod: Pod) -> bool:
    if container.ready or container.last is None or container.restarts > 1:
        return False
    if container.state == TERMINATED:
        return container.restarts == 0 and _is_started_again(container, pod)
    ready_in_between = (
        container.state == RUNNING
        and container.started
        and pod.ready.transition > container.started + _SECONDS_BETWEEN_LOOKS
    )
    return container.restarts == 1 and not ready_in_between


def _is_started_again(container: Container, pod: Pod) -> bool:
    if container.role != "main" or pod.restart_policy == "Always":
        return True
    return pod.restart_policy == "OnFailure" and _ended_badly(container)


def progress(pod: Pod) -> str:
    """What changes when a starting pod gets on: the state of every container."""
    return ",".join(f"{one.name}={one.state}/{one.reason}" for one in pod.init_containers + pod.containers)


def restarts(pod: Pod) -> int:
    return sum(one.restarts for one in containers(pod))
