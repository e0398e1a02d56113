"""What a verdict is made from: the pod, what is remembered, what time it is; and the words it is put in. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler import conditions, pod_facts
from reconciler.reasons import CRASHES, REASONS, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.records import Container, Pod
    from reconciler.settings import Settings
    from sedna_api import WorkerType

_MOST_NAMES: Final = 3


class Memory(NamedTuple):
    """A verdict that is stored."""

    reason: Reason
    message: str


class Verdict(NamedTuple):
    """What is to be said of a worker, and in how many seconds that may change although nothing happens."""

    reason: Reason
    message: str
    until: float | None = None


class Circumstances(NamedTuple):
    """What a verdict depends on beside the pods."""

    worker: WorkerType
    memory: Memory | None
    #: Seconds since the API server made the service.
    service_age: float
    #: The API server's time, in seconds since 1970.
    server_time: float
    #: Seconds since the first sight, by uid of the pod and state.
    ages: Mapping[tuple[str, str], float]
    settings: Settings


class Case(NamedTuple):
    """One pod under the eyes of the table."""

    pod: Pod
    memory: Memory | None
    at: Circumstances

    def say(self, reason: str, text: str, quoted: str = "", until: float | None = None) -> Verdict:
        """A verdict in the one form that all messages have: worker, pod, node, and what is the matter."""
        node = f" on node {self.pod.node}" if self.pod.node else ""
        own = f"{self.at.worker} worker: pod {self.pod.name}{node} {text}"
        return Verdict(REASONS[reason], conditions.message(own, quoted), until)

    def grace(
        self, age: float, length: float, *, before: Verdict, after: Verdict, stays: Iterable[str] = ()
    ) -> Verdict:
        """`after` when the grace is over; until then what is stored, if it is one of `stays`, else `before`."""
        left = length - age
        if left <= 0:
            return after
        if self.memory and self.memory.reason.name in stays:
            return Verdict(self.memory.reason, self.memory.message, left)
        return before._replace(until=left)

    def age_of(self, state: str, what: str = "") -> float:
        return self.at.ages.get((self.pod.uid, f"{state} {what}"), 0.0)

    @property
    def pod_age(self) -> float:
        return self.at.server_time - self.pod.created

    @property
    def may_come_from_a_crash(self) -> frozenset[str]:
        """The stored verdicts that this pod can lead to because a container of it has ended before."""
        failed_init = (
            {"ModelDownloadFailed", "WorkerInitFailed"} if pod_facts.failed_init(self.pod) else set()
        )
        return frozenset(failed_init | (CRASHES if pod_facts.has_ended_before(self.pod) else set()))


def soonest(times: Iterable[float | None]) -> float | None:
    return min((one for one in times if one is not None), default=None)


def ends(ended: Sequence[Container]) -> str:
    shown = ", ".join(f"container {one.name} ({_end(one)})" for one in ended[:_MOST_NAMES])
    return f"{shown} and {len(ended) - _MOST_NAMES} more" if len(ended) > _MOST_NAMES else shown


def _end(container: Container) -> str:
    if container.last is None:
        return "exit code not known"
    reason = "" if container.last.reason in ("", "Error", "Completed") else f", {container.last.reason}"
    return f"exit code {container.last.exit_code}{reason}"


def log_tail(ended: Sequence[Container]) -> str:
    return next((one.last.message for one in ended if one.last and one.last.message), "")


def out_of_memory(container: Container) -> bool:
    return container.last is not None and container.last.reason == "OOMKilled"
