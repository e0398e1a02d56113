"""What holds whatever the pods do: one answer whatever their order, no second write, always a way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.conditions import LONGEST_MESSAGE
from reconciler.reasons import REASONS
from reconciler.status import OURS
from tests.reconciler.heart.test_verdict_table import TABLES
from tests.reconciler.heart.world import (
    CLOUD_POD,
    NOW,
    UID,
    Object,
    World,
    condition,
    crash_loop,
    done,
    end,
    ended,
    managed,
    pod,
    runs,
    waits,
)

WAITING = (
    "CrashLoopBackOff",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
)
TEXTS = st.sampled_from(
    ["", "text", "né\n\x1b[1m", "x" * 3000, 'a: "b"', "; also pod helmet-edge-1: WorkerFailed"]
)
SECONDS = st.sampled_from([0.0, 1.0, 5.0, 9.0, 10.0, 15.0, 30.0, 59.0, 60.0, 61.0, 300.0, 600.0, 4000.0])

ends = st.builds(
    end,
    st.sampled_from([0, 1, 137]),
    st.sampled_from(["", "OOMKilled", "StartError"]),
    message=TEXTS,
    started=SECONDS.map(lambda age: NOW - age - 60),
    finished=SECONDS.map(lambda age: NOW - age),
)
containers = st.one_of(
    st.builds(runs, ready=st.booleans(), restarts=st.integers(0, 3), last=st.none() | ends),
    st.builds(
        waits,
        st.sampled_from([*WAITING, "ContainerCreating", "PodInitializing", "New"]),
        TEXTS,
        restarts=st.integers(0, 3),
        last=st.none() | ends,
    ),
    st.builds(ended, st.sampled_from([0, 1, 137]), restarts=st.integers(0, 3), message=TEXTS),
    st.builds(crash_loop, st.sampled_from([1, 137]), st.sampled_from(["", "OOMKilled"])),
)
named = st.dictionaries(st.sampled_from(["model", "reporter"]), containers, max_size=2)
conditions = st.lists(
    st.builds(
        condition,
        st.sampled_from(["Ready", "ContainersReady", "PodScheduled"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["", "ContainersNotReady", "NodeLost", "SchedulingGated", "Unschedulable"]),
        TEXTS,
    ),
    max_size=3,
)


@st.composite
def pods(draw: st.DrawFn, most: int = 4) -> list[Object]:
    """Pods that a kubelet might report, and some that none would."""
    found = []
    for number in range(draw(st.integers(0, most))):
        worker = draw(st.sampled_from(["cloud", "edge"]))
        found.append(
            pod(
                draw(named),
                name=f"helmet-{worker}-{number}",
                worker=worker,
                init=draw(
                    st.just({})
                    | st.dictionaries(
                        st.sampled_from(["storage-initializer", "check"]),
                        containers | st.builds(done),
                        max_size=1,
                    )
                ),
                sidecars=draw(st.just({}) | st.dictionaries(st.just("proxy"), containers, max_size=1)),
                phase=draw(
                    st.sampled_from(["", "", "", "Pending", "Running", "Unknown", "Failed", "Succeeded"])
                ),
                conditions=draw(st.none() | conditions),
                node=draw(st.sampled_from([None, None, "", "edge-2"])),
                age=draw(SECONDS),
                policy=draw(st.sampled_from(["Always", "Never", "OnFailure"])),
                deleted=draw(st.none() | st.sampled_from([-600.0, -30.0, 20.0])),
                status=draw(
                    st.sampled_from(
                        [
                            {},
                            {},
                            {"reason": "Evicted", "message": "m"},
                            {"reason": "OutOfcpu"},
                            {"reason": "NodeLost"},
                        ]
                    )
                ),
            )
        )
    return found


#: Statuses that may be stored: none, ours, Sedna's, and what nobody should have written.
statuses = st.fixed_dictionaries(
    {},
    optional={
        "active": st.integers(-2, 5),
        "failed": st.integers(-2, 5),
        "startTime": st.just("2026-01-01T00:00:00Z"),
        "conditions": st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from([*sorted(OURS), "Theirs"]),
                    "status": st.sampled_from(["True", "False", "Unknown"]),
                },
                optional={
                    "reason": st.sampled_from([*REASONS, "workerFailed", ""]),
                    "message": TEXTS,
                    "lastTransitionTime": st.just("2026-01-01T00:00:00Z"),
                },
            ),
            max_size=6,
        ),
    },
)
stories = st.lists(st.tuples(pods(), SECONDS), min_size=1, max_size=4)


def told(status: Any, story: Any) -> World:
    world = World(status=status)
    for one, seconds in story:
        world = world.look(*one, after=seconds)
    return world


@given(statuses, stories)
def test_deciding_on_what_was_just_stored_changes_nothing(status: Any, story: Any) -> None:
    world = told(status, story)
    again = world.look(*story[-1][0])
    assert again.patch is None
    assert again.decided.events == ()
    assert again.seen == world.seen


@given(statuses, stories)
def test_whoever_starts_anew_over_an_unchanged_world_writes_nothing(status: Any, story: Any) -> None:
    world = told(status, story)
    fresh = world.restart().look(*story[-1][0])
    assert fresh.patch is None
    assert fresh.decided.events == ()


@given(statuses, stories, st.randoms())
def test_the_order_of_the_pods_plays_no_part(status: Any, story: Any, chance: Any) -> None:
    shuffled = [(chance.sample(one, len(one)), seconds) for one, seconds in story]
    first, second = told(status, story), told(status, shuffled)
    assert first.decided == second.decided


@given(pods(), stories)
def test_history_plays_no_part_but_for_the_stored_status_and_first_sights(
    last: list[Object], story: Any
) -> None:
    """Two that saw different things, and find the same stored, say the same once all graces are over."""
    world = told({}, story)
    other = replace(world, seen={})
    for _ in range(6):
        world, other = world.look(*last, after=4000), other.look(*last, after=4000)
    assert _said(world) == _said(other)
    assert world.look(*last).patch is None


def _said(world: World) -> list[tuple[str, ...]]:
    """All but the times."""
    return [
        (one["type"], one["status"], one.get("reason", ""), one.get("message", ""))
        for one in world.status["conditions"]
    ]


@given(statuses, stories)
def test_a_status_is_well_formed_whatever_was_stored(status: Any, story: Any) -> None:
    world = told(status, story)
    types = world.types
    assert len(types) == len(set(types))
    assert world.status["failed"] in (0, 1, 2)
    assert 0 <= world.status["active"] <= 4
    by_type = {one["type"]: one for one in world.status["conditions"]}
    assert [kind for kind in ("Pending", "Running", "Failed") if by_type[kind]["status"] == "True"] == types[
        -1:
    ]
    assert ("Stalled" in by_type) == (types[-1] == "Failed") == (world.status["failed"] > 0)
    assert not {"Stalled", "Reconciling"} <= set(by_type)
    for one in world.status["conditions"]:
        if one["type"] in OURS:
            assert len(one.get("message", "").encode()) <= LONGEST_MESSAGE
            assert one.get("message", "").isprintable()
            assert one["reason"]
            assert one["status"] in ("True", "False", "Unknown")
    for worker in ("CloudWorkerReady", "EdgeWorkerReady"):
        assert by_type[worker]["status"] == REASONS[by_type[worker]["reason"]].ready
        assert by_type[worker]["message"]


@given(statuses, stories)
def test_every_state_is_left_again_when_the_pods_recover(status: Any, story: Any) -> None:
    world = told(status, story)
    for _ in range(3):
        world = world.look(CLOUD_POD, pod(), after=601)
    assert (world.state, world.condition("Ready")["status"], world.status["failed"]) == ("Running", "True", 0)
    assert world.decided.wake_after is None


@given(statuses, stories)
def test_whoever_sleeps_until_woken_misses_nothing(status: Any, story: Any) -> None:
    """Between two wakings nothing changes by itself; and the wakings come to an end."""
    world, last = told(status, story), story[-1][0]
    for _ in range(20):
        wake = world.decided.wake_after
        if wake is None:
            assert world.look(*last, after=100_000).patch is None
            return
        assert wake > 0
        assert world.look(*last, after=wake * 0.999).patch is None
        world = world.look(*last, after=wake)
    pytest.fail("it is woken for ever")


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_left_for_ready(reason: str) -> None:
    stored = {
        "conditions": [{"type": "EdgeWorkerReady", "status": "False", "reason": reason, "message": "m"}]
    }
    world = World(status=stored).look(CLOUD_POD, pod()).look(CLOUD_POD, pod(), after=60)
    assert (world.edge["reason"], world.state) == ("WorkerReady", "Running")


CASES = [row.pods for table in TABLES.values() for row in table.values()]


@given(st.lists(st.tuples(st.sampled_from(CASES), SECONDS), min_size=1, max_size=6))
def test_real_cases_in_any_order_never_write_twice_for_one_world(
    story: list[tuple[list[Object], float]],
) -> None:
    world = World(metadata={"managedFields": [managed("sedna-reconciler", ["conditions"])], "uid": UID})
    for one, seconds in story:
        world = world.look(CLOUD_POD, *one, after=seconds)
        assert world.look(CLOUD_POD, *one).patch is None
        assert world.restart().look(CLOUD_POD, *one).patch is None
