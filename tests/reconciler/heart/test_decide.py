"""A decision: its patch, events, the time to look again, and the services that are left to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.conditions import timestamp
from reconciler.decide import NOTHING_SEEN, Clock, Decision, decide
from tests.reconciler.heart.world import (
    CLOUD_POD,
    NOW,
    SETTINGS,
    Object,
    World,
    away,
    crash_loop,
    end,
    managed,
    pod,
    read,
    runs,
    service,
    stored,
    unanswered,
    unscheduled,
    waits,
)


def once(status: Object | None = None, *pods: Object, keeps: bool = False, **metadata: object) -> Decision:
    made = service(status, **metadata)
    return decide(made, [read(one) for one in pods], NOTHING_SEEN, Clock(5.0, NOW), SETTINGS, keeps)


def test_the_patch_holds_what_changed_and_lists_whole() -> None:
    world = World().look(CLOUD_POD, pod())
    assert set((world.patch or {})["status"]) == {"active", "failed", "startTime", "conditions"}
    world = world.look(CLOUD_POD, pod({"model": crash_loop()}), after=5)
    assert set((world.patch or {})["status"]) == {"failed", "conditions"}
    assert (world.patch or {})["status"]["conditions"] == world.decided.status["conditions"]


def test_metrics_are_never_touched() -> None:
    decision = once({"metrics": [{"key": "inferenceNumber", "value": "12"}]}, CLOUD_POD, pod())
    assert "metrics" not in decision.status
    assert "metrics" not in (decision.patch or {})["status"]


def test_the_start_is_the_first_observation_by_the_servers_clock() -> None:
    world = World().look(CLOUD_POD, pod())
    assert world.status["startTime"] == timestamp(NOW)
    assert world.look(CLOUD_POD, pod({"model": crash_loop()}), after=99).status["startTime"] == timestamp(NOW)


def test_the_generation_is_sent_only_where_it_is_kept() -> None:
    assert "observedGeneration" not in once({}, CLOUD_POD, pod()).status
    assert once({}, CLOUD_POD, pod(), keeps=True).status["observedGeneration"] == 3
    seen = once({}, CLOUD_POD, pod(), keeps=True).status
    assert not once(seen, CLOUD_POD, pod(), keeps=True).changed
    newer = once(seen, CLOUD_POD, pod(), keeps=True, generation=4)
    assert newer.patch == {"status": {"observedGeneration": 4}}


def test_a_service_that_is_being_deleted_is_not_written() -> None:
    decision = once({}, CLOUD_POD, pod(), deletionTimestamp=timestamp(NOW))
    assert (decision.patch, decision.events) == (None, ())


def test_heartbeats_move_with_their_own_entry_only() -> None:
    world = World().look(CLOUD_POD, pod()).look(CLOUD_POD, pod({"model": crash_loop()}), after=100)
    assert world.cloud["lastHeartbeatTime"] == timestamp(NOW)
    assert world.edge["lastHeartbeatTime"] == timestamp(NOW + 100)
    assert world.condition("Active")["lastHeartbeatTime"] == timestamp(NOW)
    world = world.look(CLOUD_POD, pod({"model": crash_loop(9)}), after=100)
    assert world.edge["lastHeartbeatTime"] == timestamp(NOW + 200)
    assert world.edge["lastTransitionTime"] == timestamp(NOW + 100), "the status is what it was"


# --- when to look again -------------------------------------------------------------------------------------------

WAKE: dict[str, tuple[list[Object], float | None, Object]] = {
    "ready": ([pod()], None, {}),
    "crash-looping": ([pod({"model": crash_loop()})], None, {}),
    "an image": ([pod({"model": waits("ErrImagePull")})], 60, {}),
    "no node": ([unscheduled(age=5)], 10, {}),
    "no answer": ([unanswered(age=100)], 200, {}),
    "creating": ([pod({"model": waits("ContainerCreating")})], 600, {}),
    "not ready": ([pod({"model": runs(ready=False)})], 10, {}),
    "being stopped": ([pod(deleted=15)], 75, {}),
    "ready after a crash": ([pod({"model": runs(restarts=3, last=end())})], 60, stored("WorkerCrashLooping")),
    "gone": ([], 30, stored("WorkerReady", ready="True")),
    "a sibling": (
        [pod(name="helmet-edge-1"), pod({"model": waits("ErrImagePull")}, name="helmet-edge-2")],
        60,
        {},
    ),
}


@pytest.mark.parametrize(("pods", "wake", "status"), WAKE.values(), ids=WAKE)
def test_the_end_of_a_grace_is_told(pods: list[Object], wake: float | None, status: Object) -> None:
    world = World(status=status).look(CLOUD_POD, *pods)
    assert world.decided.wake_after == wake
    if wake is not None:
        assert world.look(CLOUD_POD, *pods, after=wake - 1).patch is None
        assert world.look(CLOUD_POD, *pods, after=wake).patch is not None


def test_nothing_is_remembered_of_pods_that_are_well() -> None:
    world = World().look(CLOUD_POD, pod({"model": waits("ErrImagePull")}))
    assert world.seen
    assert not world.look(CLOUD_POD, pod(), after=5).seen


def test_a_fault_that_went_away_has_its_whole_grace_when_it_comes_again() -> None:
    bad = pod({"model": waits("ErrImagePull")})
    world = World().look(CLOUD_POD, bad).look(CLOUD_POD, pod(), after=30).look(CLOUD_POD, bad, after=30)
    assert world.look(CLOUD_POD, bad, after=59).edge["reason"] == "WorkerStarting"


def test_all_durations_are_settings() -> None:
    quick = replace(SETTINGS, image_grace=2.0)
    world = World(settings=quick).look(CLOUD_POD, pod({"model": waits("ErrImagePull")}))
    assert (
        world.look(CLOUD_POD, pod({"model": waits("ErrImagePull")}), after=2).edge["reason"]
        == "WorkerImageError"
    )


# --- events -------------------------------------------------------------------------------------------------------


def heard(world: World) -> list[tuple[str, str]]:
    return [(one.type, one.reason) for one in world.decided.events]


def test_events_tell_transitions_and_nothing_else() -> None:
    world = World().look(CLOUD_POD, pod())
    assert heard(world) == [], "a cold start over ready pods is no news"
    world = world.look(CLOUD_POD, pod({"model": crash_loop(1)}), after=1)
    assert heard(world) == [("Warning", "WorkerCrashLooping")]
    assert world.decided.events[0].note == world.edge["message"]
    world = world.look(CLOUD_POD, pod({"model": crash_loop(2)}), after=1)
    assert (heard(world), world.patch is not None) == ([], True), "another exit code is no transition"
    world = world.look(CLOUD_POD, away(), after=1)
    assert heard(world) == [("Warning", "EdgeUnreachable")]
    world = world.look(CLOUD_POD, pod(), after=1)
    assert heard(world) == [("Normal", "WorkerReady")]
    assert heard(world.look(CLOUD_POD, pod(), after=1)) == []


@pytest.mark.parametrize(
    ("one", "event"),
    [
        (unscheduled(), [("Warning", "WorkerUnschedulable")]),
        (unanswered(), [("Warning", "WorkerNotAcknowledged")]),
        (pod({"model": waits("ContainerCreating")}), []),
        (pod(deleted=20), []),
    ],
    ids=["unschedulable", "not acknowledged", "starting", "terminating"],
)
def test_what_is_on_its_way_is_no_event_unless_somebody_must_act(one: Object, event: list[object]) -> None:
    assert heard(World().look(CLOUD_POD, one)) == event


# --- others who write ---------------------------------------------------------------------------------------------


GM = [{"type": "Running", "status": "True"}]
FIELDS = ("active", "failed", "conditions", "startTime")


def test_a_service_that_sednas_controller_wrote_and_whose_pods_are_not_seen_is_left_alone() -> None:
    world = World(
        status={"conditions": GM, "active": 2}, metadata={"managedFields": [managed("sedna-gm", FIELDS)]}
    )
    world = world.look()
    assert world.patch is None
    assert [one.reason for one in world.decided.events] == ["StatusNotJudged"]
    assert "v0.6.0" in world.decided.events[0].note
    assert world.look(after=1).decided.events == (), "it is said once"
    assert world.look(CLOUD_POD, pod(), after=1).patch is not None, "its pods are seen now"


def test_pods_of_a_namesake_are_no_pods() -> None:
    old = pod(
        labels={"jointinferenceservice.sedna.io/name": "helmet", "jointinferenceservice.sedna.io/uid": "old"}
    )
    world = World(metadata={"managedFields": [managed("sedna-gm", FIELDS)]}).look(old)
    assert world.patch is None


def test_a_service_that_nobody_wrote_is_judged_without_pods() -> None:
    assert World().look().edge["reason"] == "ProgressDeadlineExceeded"


def test_a_service_that_we_wrote_last_is_judged_without_pods() -> None:
    ours = [managed("sedna-gm", ["metrics"], NOW - 5), managed("sedna-reconciler", FIELDS, NOW)]
    assert World(metadata={"managedFields": ours}).look().patch is not None


def fight(rounds: int, *, fields: Sequence[str] = FIELDS, every: float = 60, right: bool = False) -> World:
    """Each round Sedna's controller appends to the conditions and counts in its way, or only writes metrics."""
    world = World().look(CLOUD_POD, pod())
    for _ in range(rounds):
        written = {**world.status} if right else {**world.status, "active": 1}
        if "conditions" in fields:
            written["conditions"] = [*world.status["conditions"], {"type": "Failed", "status": "True"}]
        entries = [
            managed("sedna-reconciler", ["startTime"]),
            managed("sedna-gm", fields, NOW + world.time + every),
        ]
        world = replace(world, status=written, metadata={"managedFields": entries}).look(
            CLOUD_POD, pod(), after=every
        )
    return world


def test_two_changes_by_another_are_taken_back_without_a_word() -> None:
    world = fight(2)
    assert (world.decided.contested, world.state, world.status["active"]) == (False, "Running", 2)


def test_three_changes_in_ten_minutes_make_a_status_contested() -> None:
    world = fight(3)
    assert world.decided.contested
    assert [one.reason for one in world.decided.events] == ["StatusContested"]
    assert world.condition("Ready")["message"].endswith("; sedna-gm keeps changing this status")
    assert fight(4).decided.events == (), "it is said once"


def test_a_wrong_count_is_a_change_too() -> None:
    assert fight(3, fields=["active", "metrics"]).decided.contested


def test_conditions_of_another_are_a_change_although_the_counts_are_right() -> None:
    assert fight(3, fields=["conditions"], right=True).decided.contested


def test_metrics_beside_a_count_that_is_right_are_no_change() -> None:
    assert not fight(9, fields=["active", "metrics"], right=True).decided.contested


def test_three_changes_in_a_longer_time_are_none() -> None:
    assert not fight(5, every=301).decided.contested


def test_a_status_is_contested_until_there_is_peace_for_ten_minutes() -> None:
    world = fight(3)
    pods = (CLOUD_POD, pod())
    assert world.decided.wake_after == 600
    assert world.look(*pods, after=599).decided.contested
    calm = world.look(*pods, after=600)
    assert not calm.decided.contested
    assert calm.condition("Ready")["message"] == "cloud and edge worker are ready"


def test_a_contested_status_is_known_to_whoever_starts_anew() -> None:
    world = fight(3)
    again = world.restart().look(CLOUD_POD, pod())
    assert again.patch is None
    assert again.decided.contested
    assert again.look(CLOUD_POD, pod(), after=599).decided.contested
    assert not again.look(CLOUD_POD, pod(), after=600).decided.contested
