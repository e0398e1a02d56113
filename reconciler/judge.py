"""The verdict about a worker from those about its pods: who is heard, and who is only named. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler import conditions, pod_facts, verdict
from reconciler.case import Case, Circumstances, Memory, Verdict, soonest
from reconciler.observe import age_key
from reconciler.reasons import FAILED, REASONS, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.records import Pod
    from sedna_api import WorkerType


def judge(pods: Sequence[Pod], at: Circumstances) -> Verdict:
    """The verdict about a worker. `pods` are sorted from young to old.

    Ready if any live pod is; then a bad sibling is named, and that is all. Else the newest pod speaks, or an
    older one that outranks it.
    """
    if not pods:
        return verdict.without_pods(at)
    cases = [Case(pod, memory_of(pod, at.worker, at.memory), at) for pod in pods]
    serving = [case for case in cases if case.pod.is_ready and verdict.crash_not_over(case) is None]
    if serving:
        return _with_sibling(
            verdict.ready(serving[-1]), [case for case in cases if case not in serving], cases
        )
    until = [verdict.look(case).until for case in cases if case.pod.is_ready or case.pod.deletion is not None]
    spoken = verdict.look(_speaker(cases))
    return spoken._replace(until=soonest([spoken.until, *until]))


def _speaker(cases: Sequence[Case]) -> Case:
    """The newest pod; but one whose node is away, or that does not stop, before a newer one that has not begun.

    An edge that is away makes its ReplicaSet create such a pod in the same second. It has no node, or it is
    pinned to the very node that is away and silent about it too.
    """
    newest = cases[0]
    if newest.pod.node and pod_facts.is_acknowledged(newest.pod):
        return newest
    for is_meant in (verdict.node_away, _is_stuck):
        for older in cases[1:]:
            if newest.pod.node in ("", older.pod.node) and is_meant(older):
                return older
    return newest


def _is_stuck(case: Case) -> bool:
    found = verdict.terminating(case)
    return found is not None and found.reason.name == "WorkerStuckTerminating"


def _with_sibling(good: Verdict, others: Sequence[Case], cases: Sequence[Case]) -> Verdict:
    """The verdict of a ready worker, with one bad pod named: the one that is named already, while it is bad."""
    seen = [(case, verdict.look(case)) for case in others]
    until = soonest(found.until for _, found in seen)
    bad = [(case, found.reason) for case, found in seen if _is_bad(case, found, cases)]
    if not bad:
        return good._replace(until=until)
    case, reason = min(bad, key=lambda one: (not _is_named(one[0]), one[0].pod.name))
    message = conditions.cut(f"{good.message}{_sibling(case.pod)}{reason.name}")
    return Verdict(good.reason, message, until)


def _is_bad(case: Case, found: Verdict, cases: Sequence[Case]) -> bool:
    if case.pod.phase in ("Failed", "Succeeded"):
        # What is left of a pod that has been replaced is no fault.
        return not any(one.pod.is_live and age_key(one.pod) > age_key(case.pod) for one in cases)
    return found.reason.state == FAILED or found.reason.ready == UNKNOWN


def _sibling(pod: Pod) -> str:
    return f"; also pod {pod.name}: "


def _is_named(case: Case) -> bool:
    return case.at.memory is not None and _sibling(case.pod) in case.at.memory.message


def memory_of(pod: Pod, worker: WorkerType, memory: Memory | None) -> Memory | None:
    """What is stored about this very pod: as a bad sibling, or else about the worker."""
    if memory is None:
        return None
    _, named, rest = memory.message.partition(_sibling(pod))
    reason = REASONS.get(rest)
    if not named or reason is None:
        return memory
    return Memory(reason, f"{worker} worker: pod {pod.name}: {reason.meaning}")
