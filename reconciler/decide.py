"""One service and its pods -> the status to store, the patch for it, events, and when to look again. Pure.

Asks for nothing: clocks, what was seen before and what the schema keeps are arguments. Deciding again on
what was just stored changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reconciler import conditions, judge, reasons, rivals, sightings, status
from reconciler.case import Circumstances, soonest
from reconciler.observe import Observation, observe
from reconciler.sightings import NOTHING_SEEN, Sightings
from sedna_api import WORKER_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.case import Memory
    from reconciler.conditions import Stored
    from reconciler.records import Pod, Service
    from reconciler.settings import Settings
    from sedna_api import WorkerType

__all__ = ["NOTHING_SEEN", "Clock", "Decision", "Event", "Sightings", "decide"]

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
_NOT_JUDGED: Final = ("", "not judged")
#: Pending reasons that somebody should hear of.
_WORTH_A_WARNING: Final = frozenset({"WorkerUnschedulable", "WorkerNotAcknowledged"})


class Clock(NamedTuple):
    """Now: by a clock that only goes on, and as the API server sees it (seconds since 1970)."""

    monotonic: float
    server: float


class Event(NamedTuple):
    """A transition that people should hear of. `note` is at most 1,024 bytes."""

    type: str
    reason: str
    note: str
    action: str = "UpdateStatus"


class Decision(NamedTuple):
    """What to store and what else to do.

    `status` holds the fields that are ours, lists whole. `patch` is the body of a merge-patch of /status, None
    where nothing would change. `events` are to be sent once the patch is stored, at once where there is none.
    `wake_after` is in seconds. `contested`: write rarely, somebody else writes too.
    """

    status: dict[str, Any]
    patch: dict[str, Any] | None
    events: tuple[Event, ...]
    wake_after: float | None
    sightings: Sightings
    contested: bool = False

    @property
    def changed(self) -> bool:
        return self.patch is not None


def decide(
    service: Service,
    pods: Sequence[Pod],
    seen: Mapping[tuple[str, str], float],
    clock: Clock,
    settings: Settings,
    keeps_observed_generation: bool = False,
) -> Decision:
    """What the status of this service should be.

    Args:
        service: as it is stored.
        pods: all pods that carry its label; whose they are is looked at here.
        seen: the sightings of the last decision about this service, or none.
        clock: now.
        settings: the graces.
        keeps_observed_generation: whether the schema has the field; unknown fields vanish without a word.
    """
    stored_status = service.status
    stored = conditions.read(stored_status)
    memories = status.memories(stored)
    observation = observe(service, pods)
    if _is_not_for_us(service, observation, memories):
        return _not_judged(stored_status, seen, clock)
    now_seen = _look(observation, memories, seen, clock)
    at = _circumstances(service, now_seen, clock, settings)
    workers = tuple(
        _worker(observation.workers[worker], at._replace(worker=worker, memory=memories[worker]))
        for worker in WORKER_TYPES
    )
    counts = {"active": observation.active, "failed": status.failed(workers)}
    contest = rivals.contest(service, stored_status, counts, seen, clock.monotonic, settings)
    now = conditions.timestamp(clock.server)
    wanted: dict[str, Any] = {
        **counts,
        "startTime": stored_status.get("startTime") or now,
        "conditions": conditions.merge(stored, status.fold(workers, contest.suffix), status.OURS, now),
    }
    if keeps_observed_generation:
        wanted["observedGeneration"] = service.generation
    patch = None if service.deleting else _patch(stored_status, wanted)
    return Decision(
        wanted,
        patch,
        tuple(_events(workers, memories, contest, stored)) if patch else (),
        soonest([*(one.verdict.until for one in workers), contest.left]),
        now_seen | contest.sightings,
        bool(contest.rival),
    )


def _circumstances(
    service: Service, seen: Mapping[tuple[str, str], float], clock: Clock, settings: Settings
) -> Circumstances:
    """What both workers have in common."""
    return Circumstances(
        worker=WORKER_TYPES[0],
        memory=None,
        service_age=clock.server - service.created,
        server_time=clock.server,
        ages={key: clock.monotonic - time for key, time in seen.items()},
        settings=settings,
    )


def _worker(pods: Sequence[Pod], at: Circumstances) -> status.WorkerState:
    found = status.settle(judge.judge(pods, at), at.memory)
    return status.WorkerState(at.worker, found, any(pod.is_live for pod in pods))


def _look(
    observation: Observation,
    memories: Mapping[WorkerType, Memory | None],
    seen: Mapping[tuple[str, str], float],
    clock: Clock,
) -> Sightings:
    """The states that are seen now, with the time of their first sight."""
    keys: list[tuple[str, str]] = []
    for worker, pods in observation.workers.items():
        if not pods:
            keys.append(("", f"{sightings.GONE} {worker}"))
        for pod in pods:
            memory = judge.memory_of(pod, worker, memories[worker])
            is_recovering = memory is not None and memory.reason.name in reasons.CRASHES
            keys += (
                (pod.uid, f"{state} {what}")
                for state, what in sightings.states(pod, is_recovering=is_recovering)
            )
    return sightings.renew(seen, keys, clock.monotonic)


def _patch(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    changed = {key: value for key, value in wanted.items() if stored.get(key) != value}
    return {"status": changed} if changed else None


# --- services of somebody else ------------------------------------------------------------------------------------


def _is_not_for_us(
    service: Service, observation: Observation, memories: Mapping[WorkerType, Memory | None]
) -> bool:
    """Sedna's controller wrote the status, we never did, and no pod carries the labels that we know.

    Sedna v0.3.1 to v0.6.0 gave its pods another label prefix: we would call such a service Failed.
    """
    has_pods = any(observation.workers.values())
    return not has_pods and not any(memories.values()) and rivals.wrote_last(service.managers)


def _not_judged(stored: Mapping[str, Any], seen: Mapping[tuple[str, str], float], clock: Clock) -> Decision:
    note = "not judged: another controller wrote this status, and no pod has the label of this service (Sedna v0.3.1 to v0.6.0 use another prefix)"
    events = () if _NOT_JUDGED in seen else (Event(WARNING, reasons.NOT_JUDGED, note),)
    kept = {_NOT_JUDGED: seen.get(_NOT_JUDGED, clock.monotonic)}
    return Decision(dict(stored), None, events, None, kept)


# --- events -------------------------------------------------------------------------------------------------------


def _events(
    workers: tuple[status.WorkerState, ...],
    memories: Mapping[WorkerType, Memory | None],
    contest: rivals.Contest,
    stored: Mapping[str, Stored],
) -> Iterator[Event]:
    """Transitions only: a worker's reason is another than the stored one, and is news to somebody."""
    for one in workers:
        old, new = memories[one.worker], one.verdict.reason
        if old is not None and old.reason == new:
            continue
        if new.state == reasons.FAILED or new.ready == reasons.UNKNOWN or new.name in _WORTH_A_WARNING:
            yield Event(WARNING, new.name, one.verdict.message)
        elif new.ready == reasons.TRUE and old is not None:
            yield Event(NORMAL, new.name, one.verdict.message)
    if contest.rival and not str(stored.get(status.READY, {}).get("message", "")).endswith(contest.suffix):
        note = f"{contest.rival} keeps changing this status; it is written rarely from now on"
        yield Event(WARNING, reasons.CONTESTED, note)
