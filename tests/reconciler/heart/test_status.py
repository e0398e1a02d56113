"""The whole status: counts, order of the conditions, and the summary of two workers."""

from __future__ import annotations

import itertools

import pytest

from reconciler import conditions, status
from reconciler.case import Verdict
from reconciler.reasons import REASONS, WORKER_REASONS
from reconciler.status import WorkerState, fold
from sedna_api import WorkerType
from tests.reconciler.heart.world import (
    CLOUD_POD,
    Object,
    World,
    away,
    crash_loop,
    pod,
    runs,
    stored,
    unscheduled,
    waits,
)


def state(worker: WorkerType, reason: str, message: str = "") -> WorkerState:
    return WorkerState(worker, Verdict(REASONS[reason], message or f"{worker}: {reason}"), is_active=True)


PAIRS = [
    pytest.param(cloud.name, edge.name, id=f"{cloud.name}, {edge.name}")
    for cloud, edge in itertools.product(WORKER_REASONS, WORKER_REASONS)
]


@pytest.mark.parametrize(("cloud", "edge"), PAIRS)
def test_all_pairs_of_reasons_fold_into_one_state(cloud: str, edge: str) -> None:
    found = fold((state("cloud", cloud), state("edge", edge)))
    by_type = {one.type: one for one in found}
    types = [one.type for one in found]
    reasons = [REASONS[cloud], REASONS[edge]]
    assert len(by_type) == len(found)

    true = [kind for kind in ("Pending", "Running", "Failed") if by_type[kind].status == "True"]
    assert true == types[-1:]
    states = {one.state for one in reasons}
    assert true == [next(one for one in ("Failed", "Pending", "Running") if one in states)]

    assert types[:4] == ["CloudWorkerReady", "EdgeWorkerReady", "Active", "Ready"]
    assert set(types[4:-3]) <= {"Reconciling", "Stalled"}
    assert len(types) in (7, 8)
    assert ("Stalled" in by_type) == (true == ["Failed"])
    on_its_way = any(one.state == "Pending" or one.ready == "False" for one in reasons)
    waits_for_edge = edge == "EdgeUnreachable" or cloud == "EdgeUnreachable"
    assert ("Reconciling" in by_type) == (true != ["Failed"] and on_its_way and not waits_for_edge)
    assert all(by_type[kind].status == "True" for kind in ("Reconciling", "Stalled") if kind in by_type)

    values = {one.ready for one in reasons}
    assert by_type["Ready"].status == next(one for one in ("False", "Unknown", "True") if one in values)


@pytest.mark.parametrize(
    ("cloud", "edge", "reason", "message"),
    [
        ("WorkerReady", "WorkerReady", "AllWorkersReady", "cloud and edge worker are ready"),
        ("WorkerReady", "WorkerGone", "WorkerGone", "edge: WorkerGone"),
        ("WorkerGone", "WorkerReady", "WorkerGone", "cloud: WorkerGone"),
        ("WorkerFailed", "WorkerGone", "WorkerFailed", "cloud: WorkerFailed; edge: WorkerGone"),
        ("WorkerNotReady", "WorkerStarting", "WorkerNotReady", "cloud: WorkerNotReady; edge: WorkerStarting"),
        ("WorkerStarting", "WorkerGone", "WorkerGone", "cloud: WorkerStarting; edge: WorkerGone"),
        ("WorkerReady", "EdgeUnreachable", "EdgeUnreachable", "edge: EdgeUnreachable"),
    ],
)
def test_ready_sums_up_what_the_workers_say(cloud: str, edge: str, reason: str, message: str) -> None:
    found = next(one for one in fold((state("cloud", cloud), state("edge", edge))) if one.type == "Ready")
    assert (found.reason, found.message) == (reason, message)


def test_two_long_messages_are_both_in_the_summary() -> None:
    workers = (state("cloud", "WorkerGone", "cloud " * 170), state("edge", "WorkerGone", "edge " * 200))
    found = next(one for one in fold(workers, "; somebody keeps changing this status") if one.type == "Ready")
    assert len(found.message.encode()) <= conditions.LONGEST_MESSAGE
    assert found.message.startswith("cloud cloud")
    assert "edge edge" in found.message
    assert found.message.endswith("this status")


ACTIVE = {
    "both run": ([CLOUD_POD, pod()], 2, "True"),
    "one waits": ([CLOUD_POD, unscheduled()], 2, "True"),
    "one crash-loops": ([CLOUD_POD, pod({"model": crash_loop()})], 2, "True"),
    "one is away": ([CLOUD_POD, away()], 2, "True"),
    "one is being stopped": ([CLOUD_POD, pod(deleted=20)], 1, "False"),
    "one has ended": ([CLOUD_POD, pod({}, phase="Succeeded", conditions=[])], 1, "False"),
    "one has failed": ([CLOUD_POD, pod({}, phase="Failed", conditions=[])], 1, "False"),
    "one has no pod": ([CLOUD_POD], 1, "False"),
    "three of one": ([CLOUD_POD, pod(name="helmet-edge-1"), pod(name="helmet-edge-2")], 3, "True"),
    "none": ([], 0, "False"),
}


@pytest.mark.parametrize(("pods", "active", "every"), ACTIVE.values(), ids=ACTIVE)
def test_live_pods_are_counted_as_sednas_controller_does(pods: list[Object], active: int, every: str) -> None:
    world = World().look(*pods)
    assert (world.status["active"], world.condition("Active")["status"]) == (active, every)


@pytest.mark.parametrize(
    ("cloud", "edge", "failed"),
    [
        (CLOUD_POD, pod(), 0),
        (CLOUD_POD, pod({"model": crash_loop()}), 1),
        (pod({"model": crash_loop()}, worker="cloud"), pod({"model": crash_loop()}), 2),
        (CLOUD_POD, away(), 0),
        (CLOUD_POD, pod({"model": waits("ContainerCreating")}), 0),
    ],
)
def test_failed_workers_are_counted(cloud: Object, edge: Object, failed: int) -> None:
    assert World().look(cloud, edge).status["failed"] == failed


# --- what Sedna's controller left ---------------------------------------------------------------------------------


def gm(kind: str, second: int, **more: str) -> Object:
    time = f"2026-01-01T00:00:{second:02d}Z"
    return {"type": kind, "status": "True", "lastHeartbeatTime": time, "lastTransitionTime": time, **more}


def test_what_sednas_controller_left_collapses_and_strangers_stay_in_place() -> None:
    left = [
        gm("Theirs", 1, note="kept"),
        gm("Failed", 1),
        gm("Running", 2),
        gm("Others", 3),
        gm("Failed", 4, reason="workerFailed"),
    ]
    old = {
        "conditions": left,
        "active": -1,
        "failed": 3,
        "startTime": "2026-01-01T00:00:00Z",
        "metrics": [{"key": "a", "value": "b"}],
    }
    world = World(status=old).look(CLOUD_POD, pod())
    assert world.types == [
        *(
            "Theirs",
            "Others",
            "CloudWorkerReady",
            "EdgeWorkerReady",
            "Active",
            "Ready",
            "Pending",
            "Failed",
            "Running",
        )
    ]
    assert world.status["conditions"][:2] == [left[0], left[3]]
    assert world.condition("Running")["lastTransitionTime"] == left[2]["lastTransitionTime"], (
        "it was True and is"
    )
    assert world.condition("Failed")["status"] == "False"
    assert (world.status["active"], world.status["failed"]) == (2, 0)
    assert world.status["startTime"] == "2026-01-01T00:00:00Z", "never changed"
    assert world.patch is not None
    assert set(world.patch["status"]) == {"active", "failed", "conditions"}
    assert world.look(CLOUD_POD, pod()).patch is None


def test_ours_are_all_the_types_that_are_written() -> None:
    worst = fold((state("cloud", "WorkerGone"), state("edge", "WorkerReady")))
    middle = fold((state("cloud", "WorkerStarting"), state("edge", "WorkerReady")))
    assert {one.type for one in (*worst, *middle)} == status.OURS


# --- quoted text --------------------------------------------------------------------------------------------------


def test_quoted_text_alone_is_no_reason_to_write() -> None:
    world = World().look(CLOUD_POD, unscheduled(message="0/3 nodes are available"))
    after = world.look(CLOUD_POD, unscheduled(message="0/4 nodes are available"), after=5)
    assert after.patch is None
    assert "0/3" in after.edge["message"]


def test_quoted_text_is_renewed_with_the_reason() -> None:
    world = (
        World()
        .look(CLOUD_POD, unscheduled(message="0/3 nodes are available"))
        .look(CLOUD_POD, pod(), after=5)
    )
    world = world.look(CLOUD_POD, unscheduled(message="0/4 nodes are available"), after=5)
    assert "0/4" in world.edge["message"]
    assert "0/4" in world.condition("Ready")["message"]


def test_our_own_words_are_a_reason_to_write() -> None:
    world = World().look(CLOUD_POD, pod({"model": crash_loop(1)}))
    world = world.look(CLOUD_POD, pod({"model": crash_loop(2)}), after=5)
    assert "exit code 2" in world.edge["message"]


def test_no_message_counts_or_tells_the_time() -> None:
    """More restarts, later: the same words."""
    world = World().look(CLOUD_POD, pod({"model": crash_loop(1, restarts=3)}))
    assert world.look(CLOUD_POD, pod({"model": crash_loop(1, restarts=300)}), after=9000).patch is None
    world = World(status=stored("WorkerStarting")).look(CLOUD_POD, pod({"model": runs(ready=False)}))
    world = world.look(CLOUD_POD, pod({"model": runs(ready=False)}), after=10)
    assert world.look(CLOUD_POD, pod({"model": runs(ready=False)}), after=9000).patch is None
