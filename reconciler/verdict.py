"""The verdict about one pod: a table, read from above, first match wins. Pure; `docs/conditions.md` explains it.

What is remembered is the stored condition of the worker: while a grace runs, a stored verdict that the pod's
state can still lead to stays. So whoever starts anew over an unchanged world has nothing to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reconciler import pod_facts, sightings
from reconciler.case import Case, Circumstances, Verdict, ends, log_tail, out_of_memory
from reconciler.reasons import CRASHES, REASONS
from sedna_api import EDGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.records import Pod
    from reconciler.settings import Settings

# How far an age by the server's stamps can be too small: they are whole seconds, and so is its Date.
_SLACK: Final = 2.0


def look(case: Case) -> Verdict:
    """The first row of the table that matches."""
    return next(found for _, row in TABLE if (found := row(case)) is not None)


# --- no pod -------------------------------------------------------------------------------------------------------


def without_pods(at: Circumstances) -> Verdict:
    """Missing, gone, or never come."""
    if at.memory is None or at.memory.reason.name in ("WorkerMissing", "ProgressDeadlineExceeded"):
        return _never_seen(at)
    if at.memory.reason.name == "WorkerGone":
        return Verdict(*at.memory)
    left = at.settings.gone_grace - at.ages.get(("", f"{sightings.GONE} {at.worker}"), 0.0)
    if left > 0:
        return Verdict(*at.memory, until=left)
    return Verdict(REASONS["WorkerGone"], f"{at.worker} worker: its pod is gone and there is no other")


def _never_seen(at: Circumstances) -> Verdict:
    left = at.settings.progress_deadline - at.service_age
    if left > 0 and not (at.memory and at.memory.reason.name == "ProgressDeadlineExceeded"):
        return Verdict(REASONS["WorkerMissing"], f"{at.worker} worker: there is no pod yet", left)
    waited = f"{at.settings.progress_deadline:g} s after the service was made"
    return Verdict(REASONS["ProgressDeadlineExceeded"], f"{at.worker} worker: there is no pod, {waited}")


# --- the rows -----------------------------------------------------------------------------------------------------


def node_away(case: Case) -> Verdict | None:
    if not pod_facts.node_is_away(case.pod):
        return None
    reason = "EdgeUnreachable" if case.at.worker == EDGE else "CloudUnreachable"
    return case.say(reason, "was running when its node reported last; the node has not reported since")


def terminating(case: Case) -> Verdict | None:
    if case.pod.deletion is None:
        return None
    left = case.pod.deletion + case.at.settings.terminating_grace - case.at.server_time
    if left > 0:
        return case.say("WorkerTerminating", "is being stopped and there is no newer one", until=left)
    return case.say(
        "WorkerStuckTerminating", "should have stopped long ago, and its node does not confirm it"
    )


def phase_failed(case: Case) -> Verdict | None:
    pod = case.pod
    if pod.phase != "Failed":
        return None
    if pod.reason in pod_facts.EVICTIONS:
        return case.say("WorkerEvicted", f"was stopped by its node ({pod.reason})", pod.message)
    if pod_facts.was_rejected(pod):
        return case.say("WorkerRejected", f"was not taken by its node ({pod.reason})", pod.message)
    ended = [one for one in pod.init_containers + pod.containers if one.last and one.last.exit_code]
    if ended:
        return case.say("WorkerFailed", f"failed: {ends(ended)}", log_tail(ended) or pod.message)
    return case.say("WorkerFailed", f"failed ({pod.reason})" if pod.reason else "failed", pod.message)


def phase_succeeded(case: Case) -> Verdict | None:
    if case.pod.phase != "Succeeded":
        return None
    return case.say("WorkerCompleted", "has ended well, and an inference service does not end")


def gated(case: Case) -> Verdict | None:
    if not pod_facts.is_gated(case.pod):
        return None
    return case.say("WorkerGated", "waits for its scheduling gates", case.pod.scheduled.message)


def not_scheduled(case: Case) -> Verdict | None:
    if case.pod.node:
        return None
    return case.grace(
        case.pod_age,
        case.at.settings.unscheduled_grace,
        before=case.say("WorkerStarting", "waits for a node"),
        after=case.say("WorkerUnschedulable", "gets no node", case.pod.scheduled.message),
        stays=("WorkerUnschedulable",),
    )


def not_acknowledged(case: Case) -> Verdict | None:
    if pod_facts.is_acknowledged(case.pod):
        return None
    # Both stamps are the API server's: while the node is silent, only a binding has set the condition.
    bound = max(case.pod.created, case.pod.scheduled.transition)
    return case.grace(
        case.at.server_time - bound,
        case.at.settings.not_acknowledged_grace,
        before=case.say("WorkerStarting", "waits for its node to take it"),
        after=case.say("WorkerNotAcknowledged", "was never answered for by its node"),
        stays=("WorkerNotAcknowledged",),
    )


def invalid_image_name(case: Case) -> Verdict | None:
    found = pod_facts.waiting(case.pod, pod_facts.INVALID_IMAGE_NAME.__eq__)
    if found is None:
        return None
    return case.say(
        "WorkerImageError", f"has an image name that is none: container {found.name}", found.message
    )


def image_error(case: Case) -> Verdict | None:
    found = pod_facts.waiting(case.pod, pod_facts.IMAGE_ERRORS.__contains__)
    if found is None:
        return None
    return case.grace(
        case.age_of(sightings.IMAGE_ERROR),
        case.at.settings.image_grace,
        before=case.say("WorkerStarting", f"waits for the image of container {found.name}", found.message),
        after=case.say("WorkerImageError", f"cannot get the image of container {found.name}", found.message),
        stays={"WorkerImageError", *case.may_come_from_a_crash},
    )


def config_error(case: Case) -> Verdict | None:
    found = pod_facts.waiting(case.pod, pod_facts.CONFIG_ERRORS.__contains__)
    if found is None:
        return None
    return case.grace(
        case.age_of(sightings.CONFIG_ERROR),
        case.at.settings.image_grace,
        before=case.say("WorkerStarting", f"waits for container {found.name} to be made", found.message),
        after=case.say("WorkerConfigError", f"cannot make or start container {found.name}", found.message),
        stays={"WorkerConfigError", *case.may_come_from_a_crash},
    )


def init_failed(case: Case) -> Verdict | None:
    found = pod_facts.failed_init(case.pod)
    if found is None:
        return None
    if found.name == pod_facts.STORAGE_INITIALIZER:
        return case.say("ModelDownloadFailed", f"cannot fetch its model: {ends([found])}", log_tail([found]))
    return case.say("WorkerInitFailed", f"cannot be initialized: {ends([found])}", log_tail([found]))


def init_runs(case: Case) -> Verdict | None:
    found = pod_facts.running_init(case.pod)
    if found is None:
        return None
    if found.name == pod_facts.STORAGE_INITIALIZER:
        return case.say("ModelDownloading", "fetches its model")
    return case.say("WorkerInitRunning", f"runs init container {found.name}")


def crash(case: Case) -> Verdict | None:
    now = pod_facts.crashing(case.pod)
    if not now:
        return None
    ended = pod_facts.have_crashed(case.pod)
    # Two containers that crash in turns must not give two reasons in turns.
    was_memory = case.memory is not None and case.memory.reason.name == "WorkerOOMKilled"
    by_memory = any(out_of_memory(one) for one in (ended if was_memory else now))
    reason = "WorkerOOMKilled" if by_memory else "WorkerCrashLooping"
    return case.say(reason, f"ends again and again: {ends(ended)}", log_tail(ended))


def crash_not_over(case: Case) -> Verdict | None:
    """A crash ends only by time: a worker that lives for five seconds is ready for five seconds in every cycle."""
    if case.memory is None or case.memory.reason.name not in CRASHES:
        return None
    if case.pod.is_ready:
        left = recovery_time(case.pod, case.at.settings) - case.age_of(
            sightings.READY, str(pod_facts.restarts(case.pod))
        )
        return Verdict(*case.memory, until=left) if left > 0 else None
    # A pod of which nothing has ended yet is another one than that which crashed; so is one that ends for good.
    if pod_facts.has_ended_before(case.pod) and not pod_facts.ended_for_good(case.pod):
        return Verdict(*case.memory)
    return None


def recovery_time(pod: Pod, settings: Settings) -> float:
    """Seconds that a pod must be ready for after a crash: as long as its last run lasted, within bounds."""
    least = max(settings.crash_recovery, pod_facts.previous_run(pod))
    return min(least, max(settings.crash_recovery_limit, settings.crash_recovery))


def ended_for_good(case: Case) -> Verdict | None:
    found = pod_facts.ended_for_good(case.pod)
    if found is None:
        return None
    return case.say("WorkerFailed", f"is not started again: {ends([found])}", log_tail([found]))


def restarted(case: Case) -> Verdict | None:
    found = pod_facts.restarted_once(case.pod)
    if found is None:
        return None
    return case.say("WorkerRestarted", f"is started again: {ends([found])}", log_tail([found]))


def starting(case: Case) -> Verdict | None:
    pod = case.pod
    if pod.phase not in ("Pending", ""):
        return None
    waits = pod_facts.waiting(pod, bool)
    what = f"container {waits.name} waits ({waits.reason})" if waits else "its containers have not all begun"
    deadline = case.at.settings.progress_deadline
    # A stored deadline of a pod that is younger than the deadline is that of another pod.
    can_be_its_own = case.pod_age + _SLACK >= deadline
    return case.grace(
        case.age_of(sightings.STARTING, pod_facts.progress(pod)),
        deadline,
        before=case.say("WorkerStarting", f"is starting: {what}", waits.message if waits else ""),
        after=case.say(
            "ProgressDeadlineExceeded",
            f"does not get on, {deadline:g} s long: {what}; see kubectl describe pod {pod.name}",
            waits.message if waits else "",
        ),
        stays=("ProgressDeadlineExceeded",) if can_be_its_own else (),
    )


#: What a pod that runs and is not ready may have been a moment ago.
_BEFORE_NOT_READY: Final = frozenset(
    {
        "WorkerReady",
        "WorkerNotReady",
        "WorkerRestarted",
        "WorkerStarting",
        "EdgeUnreachable",
        "CloudUnreachable",
    }
)


def not_ready(case: Case) -> Verdict | None:
    if case.pod.is_ready:
        return None
    why = f" ({case.pod.ready.reason})" if case.pod.ready.reason else ""
    return case.grace(
        case.age_of(sightings.NOT_READY),
        case.at.settings.not_ready_grace,
        before=case.say("WorkerStarting", "runs and is not ready yet"),
        after=case.say("WorkerNotReady", f"runs and is not ready{why}", case.pod.ready.message),
        stays=_BEFORE_NOT_READY,
    )


def ready(case: Case) -> Verdict:
    return case.say("WorkerReady", "is ready")


#: The table: what the pod shows, and the row that looks for it. The last one takes what is left.
TABLE: Final[tuple[tuple[str, Callable[[Case], Verdict | None]], ...]] = (
    ("its node does not report, also while it is being stopped", node_away),
    ("it is being stopped", terminating),
    ("phase Failed", phase_failed),
    ("phase Succeeded", phase_succeeded),
    ("scheduling gates", gated),
    ("no node", not_scheduled),
    ("a node, and no word of it", not_acknowledged),
    ("an image name that is none", invalid_image_name),
    ("an image that cannot be pulled", image_error),
    ("a container that cannot be made", config_error),
    ("an init container that ended badly, also while it runs again", init_failed),
    ("an init container that runs", init_runs),
    ("a crash", crash),
    ("a stored crash that is not over", crash_not_over),
    ("a container that ended badly and is not started again", ended_for_good),
    ("a first restart", restarted),
    ("containers that have not begun", starting),
    ("not ready", not_ready),
    ("ready", ready),
)
