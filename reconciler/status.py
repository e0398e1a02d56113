"""The status that a service should have, as data: the verdicts about its workers folded into conditions. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler import conditions
from reconciler.case import Memory, Verdict
from reconciler.conditions import Condition, Stored
from reconciler.reasons import (
    ALL_WORKERS_ACTIVE,
    ALL_WORKERS_READY,
    FAILED,
    FALSE,
    LIVE_POD_MISSING,
    OTHER_STATE,
    PENDING,
    REASONS,
    RUNNING,
    TRUE,
    UNKNOWN,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sedna_api import WorkerType

#: The condition of each worker: it feeds a printer column, and is all that the reconciler remembers.
WORKER_CONDITIONS: Final[dict[WorkerType, str]] = {"cloud": "CloudWorkerReady", "edge": "EdgeWorkerReady"}
ACTIVE: Final = "Active"
READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
STATES: Final = (PENDING, RUNNING, FAILED)

#: Every type that is ours; all others are somebody else's and kept.
OURS: Final = frozenset({*WORKER_CONDITIONS.values(), ACTIVE, READY, RECONCILING, STALLED, *STATES})


class WorkerState(NamedTuple):
    """What is known of one worker."""

    worker: WorkerType
    verdict: Verdict
    is_active: bool


def memories(stored: Mapping[str, Stored]) -> dict[WorkerType, Memory | None]:
    """The stored verdict of each worker; none where the reason is not one of ours."""
    return {worker: _memory(worker, stored.get(kind)) for worker, kind in WORKER_CONDITIONS.items()}


def _memory(worker: WorkerType, stored: Stored | None) -> Memory | None:
    """What somebody else wrote under our type is not trusted to be short and clean, or to be there."""
    reason = REASONS.get(str(stored.get("reason"))) if stored is not None else None
    if stored is None or reason is None:
        return None
    said = conditions.cut(conditions.clean(str(stored.get("message") or "")))
    return Memory(reason, said or f"{worker} worker: {reason.meaning}")


def settle(verdict: Verdict, memory: Memory | None) -> Verdict:
    """The verdict with the message that is stored, where only what it quotes differs."""
    if memory is None or memory.reason != verdict.reason:
        return verdict
    if conditions.own_words(memory.message) != conditions.own_words(verdict.message):
        return verdict
    return verdict._replace(message=memory.message)


def fold(workers: tuple[WorkerState, ...], suffix: str = "") -> list[Condition]:
    """All conditions in their order; the one of Pending, Running and Failed that is True comes last.

    Sedna's dashboards take the last entry's type for the state. `suffix` ends Ready's message.
    """
    summary = _ready(workers, suffix)
    state = _state(workers)
    return [
        *(_worker(one) for one in workers),
        _active(workers),
        summary,
        *_progress(workers, state, summary),
        *(Condition(other, FALSE, OTHER_STATE, "") for other in STATES if other != state),
        summary._replace(type=state, status=TRUE),
    ]


def failed(workers: tuple[WorkerState, ...]) -> int:
    """How many of the expected workers have failed."""
    return sum(one.verdict.reason.state == FAILED for one in workers)


def _worker(one: WorkerState) -> Condition:
    reason = one.verdict.reason
    return Condition(WORKER_CONDITIONS[one.worker], reason.ready, reason.name, one.verdict.message)


def _active(workers: tuple[WorkerState, ...]) -> Condition:
    missing = [one.worker for one in workers if not one.is_active]
    if not missing:
        return Condition(ACTIVE, TRUE, ALL_WORKERS_ACTIVE, "every worker has a live pod")
    return Condition(ACTIVE, FALSE, LIVE_POD_MISSING, f"no live pod: {' and '.join(missing)} worker")


def _ready(workers: tuple[WorkerState, ...], suffix: str) -> Condition:
    """The summary: one worker's reason and message; of two the message names both, the reason is the cloud's.

    A failed worker's reason goes before that of one that is merely not ready.
    """
    room = conditions.LONGEST_MESSAGE - len(suffix.encode())
    unready = [one.verdict for one in workers if one.verdict.reason.ready != TRUE]
    if not unready:
        return Condition(READY, TRUE, ALL_WORKERS_READY, f"cloud and edge worker are ready{suffix}")
    worst = [one for one in unready if one.reason.state == FAILED] or unready
    status = FALSE if any(one.reason.ready == FALSE for one in unready) else UNKNOWN
    share = room if len(unready) == 1 else room // 2 - 1
    text = "; ".join(conditions.cut(one.message, share) for one in unready)
    return Condition(READY, status, worst[0].reason.name, text + suffix)


def _state(workers: tuple[WorkerState, ...]) -> str:
    states = {one.verdict.reason.state for one in workers}
    return next(state for state in (FAILED, PENDING, RUNNING) if state in states)


def _progress(workers: tuple[WorkerState, ...], state: str, summary: Condition) -> list[Condition]:
    """Stalled while Failed; Reconciling while something is on its way; neither while one waits for an edge."""
    if state == FAILED:
        return [summary._replace(type=STALLED, status=TRUE)]
    reasons = [one.verdict.reason for one in workers]
    waits_for_edge = any(reason.name == "EdgeUnreachable" for reason in reasons)
    on_its_way = any(reason.state == PENDING or reason.ready == FALSE for reason in reasons)
    return [summary._replace(type=RECONCILING, status=TRUE)] if on_its_way and not waits_for_edge else []
