"""Several pods of one worker: who belongs, who is heard, who is only named."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from reconciler.observe import observe
from tests.reconciler.heart.world import (
    CLOUD_POD,
    UID,
    Object,
    World,
    away,
    crash_loop,
    end,
    pod,
    read,
    runs,
    service,
    stored,
    unanswered,
    unscheduled,
    waits,
)

NAME = "jointinferenceservice.sedna.io/name"
UID_LABEL = "jointinferenceservice.sedna.io/uid"
TYPE = "jointinferenceservice.sedna.io/worker-type"


def owner(kind: str = "JointInferenceService", uid: str = UID, **options: Any) -> Object:
    return {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": kind,
        "name": "helmet",
        "uid": uid,
        "controller": True,
        **options,
    }


# --- whose pod it is ----------------------------------------------------------------------------------------------

BELONGING = {
    "by label": (pod(labels={NAME: "helmet", TYPE: "edge"}), "edge"),
    "by label and uid": (pod(labels={NAME: "helmet", TYPE: "cloud", UID_LABEL: UID}), "cloud"),
    "by label and owner": (pod(owners=[owner()]), "edge"),
    "owned by a ReplicaSet": (pod(owners=[owner("ReplicaSet", "another", apiVersion="apps/v1")]), "edge"),
    "an owner that is no controller": (pod(owners=[owner(uid="another", controller=False)]), "edge"),
    "a kind of the same name elsewhere": (
        pod(owners=[owner(uid="another", apiVersion="example.com/v1")]),
        "edge",
    ),
    "named by the seed": (pod(name="helmet-cloud-x7k2p", labels={NAME: "helmet"}), "cloud"),
    "named by v0.7": (pod(name="helmet-deployment-edge-6d5f-abcde", labels={NAME: "helmet"}), "edge"),
    "its label speaks, not its name": (
        pod(name="helmet-cloud-1", labels={NAME: "helmet", TYPE: "edge"}),
        "edge",
    ),
    "neither cloud nor edge by name": (pod(name="helmet-batch-1", labels={NAME: "helmet"}), "foreign"),
    "neither cloud nor edge by label": (pod(labels={NAME: "helmet", TYPE: "train"}), "foreign"),
    "a name that only begins alike": (pod(name="helmet-edgeless", labels={NAME: "helmet"}), "foreign"),
    "uid of a deleted namesake": (pod(labels={NAME: "helmet", TYPE: "edge", UID_LABEL: "old"}), ""),
    "owner that is a deleted namesake": (pod(owners=[owner(uid="old")]), ""),
    "uid and owner that contradict": (
        pod(labels={NAME: "helmet", TYPE: "edge", UID_LABEL: UID}, owners=[owner(uid="old")]),
        "",
    ),
    "another service": (pod(labels={NAME: "other", TYPE: "edge"}), ""),
    "no label": (pod(labels={}), ""),
    "the label prefix of v0.3.1 to v0.6.0": (pod(labels={"jointinference.sedna.io/name": "helmet"}), ""),
}


@pytest.mark.parametrize(("one", "whose"), BELONGING.values(), ids=BELONGING)
def test_a_pod_belongs_to_a_service_and_a_worker(one: Object, whose: str) -> None:
    found = observe(service(), [read(one)])
    given = [*found.workers.items(), ("foreign", found.foreign)]
    assert [name for name, pods in given if pods] == ([whose] if whose else [])


def test_a_pod_of_another_namespace_does_not_count() -> None:
    one = pod()
    one["metadata"]["namespace"] = "elsewhere"
    assert not observe(service(), [read(one)]).workers["edge"]


# --- who is heard -------------------------------------------------------------------------------------------------


def both(*pods: Object, after: float = 0.0, status: Object | None = None) -> World:
    """Seen twice, in both orders."""
    made: Object = status or {}
    world = World(status=made).look(CLOUD_POD, *pods).look(CLOUD_POD, *pods, after=after)
    turned = World(status=made).look(CLOUD_POD, *pods[::-1]).look(*pods[::-1], CLOUD_POD, after=after)
    assert world.status == turned.status
    return world


BAD = {"model": crash_loop(3)}


def test_a_rollout_is_ready_while_the_old_pod_serves() -> None:
    world = both(
        pod(name="helmet-edge-old"), pod({"model": waits("ContainerCreating")}, name="helmet-edge-new", age=5)
    )
    assert world.edge["reason"] == "WorkerReady"
    assert "helmet-edge-old" in world.edge["message"]
    assert "helmet-edge-new" not in world.edge["message"], "it is only starting"
    assert (world.status["active"], world.status["failed"], world.state) == (3, 0, "Running")


def test_one_bad_pod_of_an_autoscaled_worker_is_named_and_that_is_all() -> None:
    world = both(pod(name="helmet-edge-a"), pod(name="helmet-edge-b"), pod(BAD, name="helmet-edge-c"))
    assert world.edge["message"] == (
        "edge worker: pod helmet-edge-a on node edge-1 is ready; also pod helmet-edge-c: WorkerCrashLooping"
    )
    assert (world.edge["status"], world.status["active"], world.status["failed"]) == ("True", 4, 0)


def test_a_bad_sibling_stays_named_through_its_cycle_and_over_a_restart() -> None:
    good = pod(name="helmet-edge-a")
    phases = [
        pod({"model": one}, name="helmet-edge-b")
        for one in (crash_loop(3), runs(restarts=4, last=end(3)), runs(ready=False, restarts=5, last=end(3)))
    ]
    world = both(good, phases[0])
    for one in phases * 2:
        assert world.look(CLOUD_POD, good, one, after=5).patch is None
        assert world.restart().look(CLOUD_POD, good, one, after=5).patch is None


def test_a_sibling_whose_image_is_wrong_is_named_after_its_grace_and_stays_named_over_a_restart() -> None:
    pods = [CLOUD_POD, pod(name="helmet-edge-a"), pod({"model": waits("ErrImagePull")}, name="helmet-edge-b")]
    world = World().look(*pods)
    assert "helmet-edge-b" not in world.edge["message"]
    world = world.look(*pods, after=60)
    assert world.edge["message"].endswith("also pod helmet-edge-b: WorkerImageError")
    assert world.restart().look(*pods).patch is None


def test_of_several_bad_siblings_the_one_that_is_named_stays_named() -> None:
    good, first, second = (
        pod(name="helmet-edge-a"),
        pod(BAD, name="helmet-edge-b"),
        pod(BAD, name="helmet-edge-c"),
    )
    world = World().look(CLOUD_POD, good, second)
    assert world.look(CLOUD_POD, good, first, second).patch is not None, "there is one more live pod"
    assert world.look(CLOUD_POD, good, first, second).edge == world.edge


def test_a_named_sibling_that_is_left_alone_is_still_known_to_crash() -> None:
    good, bad = pod(name="helmet-edge-a"), pod(BAD, name="helmet-edge-b")
    between = pod({"model": runs(restarts=5, last=end(3))}, name="helmet-edge-b")
    world = World().look(CLOUD_POD, good, bad).look(CLOUD_POD, between, after=5)
    assert (world.edge["reason"], world.state) == ("WorkerCrashLooping", "Failed")
    assert world.edge["message"]


def test_a_ready_pod_that_is_being_stopped_is_not_ready_any_more() -> None:
    assert both(pod(deleted=20)).edge["reason"] == "WorkerTerminating"
    assert both(pod(deleted=20)).status["active"] == 1


def test_what_is_left_of_a_replaced_pod_is_no_fault() -> None:
    evicted = pod({}, name="helmet-edge-old", phase="Failed", conditions=[], status={"reason": "Evicted"})
    world = both(evicted, pod(name="helmet-edge-new", age=60))
    assert "helmet-edge-old" not in world.edge["message"]
    world = both(evicted, pod({"model": waits("ContainerCreating")}, name="helmet-edge-new", age=60))
    assert world.edge["reason"] == "WorkerStarting", "the newer one speaks"


def test_a_newest_pod_that_was_evicted_beside_a_ready_one_is_named() -> None:
    evicted = pod(
        {}, name="helmet-edge-b", age=5, phase="Failed", conditions=[], status={"reason": "Evicted"}
    )
    assert (
        both(pod(name="helmet-edge-a"), evicted)
        .edge["message"]
        .endswith("also pod helmet-edge-b: WorkerEvicted")
    )


@pytest.mark.parametrize("age", [60, 3600], ids=["by age", "by name"])
def test_without_a_ready_pod_the_newest_one_speaks(age: float) -> None:
    old = pod(BAD, name="helmet-edge-a")
    new = pod({"model": waits("InvalidImageName")}, name="helmet-edge-b", age=age)
    assert both(old, new).edge["reason"] == "WorkerImageError"


# --- an edge that is away -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("deleted", [None, -900.0], ids=["tolerated", "evicted by the taint"])
@pytest.mark.parametrize(
    "newer",
    [unscheduled(name="helmet-edge-new", age=1), unanswered(name="helmet-edge-new", age=1)],
    ids=["no node", "pinned to the same node"],
)
def test_an_edge_that_is_away_is_unreachable_although_a_newer_pod_waits(
    deleted: float | None, newer: Object
) -> None:
    world = both(away(name="helmet-edge-old", deleted=deleted), newer, after=400)
    assert (world.edge["status"], world.edge["reason"]) == ("Unknown", "EdgeUnreachable")
    assert "helmet-edge-old" in world.edge["message"]
    assert (world.state, world.status["failed"]) == ("Running", 0)


def test_a_pod_that_does_not_stop_outranks_a_newer_one_without_a_node() -> None:
    stopping, newer = pod(name="helmet-edge-old", deleted=0), unscheduled(name="helmet-edge-new", age=1)
    assert both(stopping, newer, after=59).edge["reason"] == "WorkerUnschedulable"
    world = both(stopping, newer, after=60)
    assert (world.edge["status"], world.edge["reason"]) == ("Unknown", "WorkerStuckTerminating")
    assert World().look(CLOUD_POD, stopping, newer).decided.wake_after == 14, (
        "the newer one's grace ends first"
    )


def test_a_newer_pod_on_another_node_speaks_for_itself() -> None:
    newer = pod({"model": waits("ContainerCreating")}, name="helmet-edge-new", age=5, node="edge-2")
    assert both(away(name="helmet-edge-old"), newer).edge["reason"] == "WorkerStarting"
    newer = unanswered(name="helmet-edge-new", age=5, node="edge-2")
    assert both(away(name="helmet-edge-old"), newer).edge["reason"] == "WorkerStarting"


def test_an_edge_that_comes_back_is_ready_again() -> None:
    world = both(away())
    assert world.look(CLOUD_POD, pod(), after=60).edge["reason"] == "WorkerReady"


def test_the_time_away_is_no_time_of_being_not_ready() -> None:
    broken = pod({"model": runs(ready=False)})
    world = (
        World().look(CLOUD_POD, away()).look(CLOUD_POD, away(), after=3600).look(CLOUD_POD, broken, after=1)
    )
    assert world.edge["reason"] == "EdgeUnreachable", "as stored, for its grace"
    assert world.look(CLOUD_POD, broken, after=10).edge["reason"] == "WorkerNotReady"


# --- a story ------------------------------------------------------------------------------------------------------


def test_a_live_start_is_written_three_times() -> None:
    world = World()
    writes = []
    steps: list[tuple[Object, ...]] = [
        (),
        (
            pod({"model": waits("ContainerCreating")}, worker="cloud"),
            pod({"model": waits("ContainerCreating")}),
        ),
        (CLOUD_POD, pod()),
    ]
    for pods in itertools.chain(*([step, step] for step in steps)):
        world = world.look(*pods, after=1)
        writes.append(world.patch is not None)
    assert writes == [True, False] * 3


def test_deleting_a_pod_by_hand_and_waiting_is_told_and_recovers() -> None:
    world = World().look(CLOUD_POD, pod())
    world = world.look(CLOUD_POD, after=1)
    assert (world.edge["reason"], world.condition("Active")["status"]) == ("WorkerReady", "False")
    assert world.decided.wake_after == 30
    world = world.look(CLOUD_POD, after=30)
    assert (world.edge["reason"], world.state, world.status["failed"]) == ("WorkerGone", "Failed", 1)
    world = world.look(CLOUD_POD, pod(name="helmet-edge-2", age=-40), after=10)
    assert (world.edge["reason"], world.state, world.status["failed"]) == ("WorkerReady", "Running", 0)


def test_a_new_pod_within_the_grace_was_never_gone() -> None:
    world = World().look(CLOUD_POD, pod()).look(CLOUD_POD, after=1).look(CLOUD_POD, pod(), after=20)
    world = world.look(CLOUD_POD, after=20)
    assert world.look(CLOUD_POD, after=29).edge["reason"] == "WorkerReady", "the grace begins anew"


def test_a_ready_pod_beside_a_stored_crash_waits_for_its_time() -> None:
    newer = pod({"model": waits("ContainerCreating")}, name="helmet-edge-b", age=1)
    world = World(status=stored("WorkerCrashLooping")).look(CLOUD_POD, pod(name="helmet-edge-a"), newer)
    assert world.edge["reason"] == "WorkerStarting", "the newest one speaks"


def test_a_pod_that_recovers_behind_a_newer_bad_one_is_waited_for() -> None:
    good = pod({"model": runs(restarts=3, last=end(1))}, name="helmet-edge-a")
    bad = pod(BAD, name="helmet-edge-b", age=5)
    world = World(status=stored("WorkerCrashLooping")).look(CLOUD_POD, good, bad)
    assert (world.edge["reason"], world.decided.wake_after) == ("WorkerCrashLooping", 60)
    world = world.look(CLOUD_POD, good, bad, after=60)
    assert world.edge["message"].endswith("is ready; also pod helmet-edge-b: WorkerCrashLooping")
