from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.work_queue import WorkQueue


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue[str]:
    return WorkQueue(clock)


def take(queue: WorkQueue[str]) -> str | None:
    return queue.get(timeout=0)


def test_a_key_that_waits_is_not_added_twice(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a")

    assert [take(queue), take(queue)] == ["a", None]


def test_keys_come_in_the_order_in_which_they_were_added(queue: WorkQueue[str]) -> None:
    for key in "cab":
        queue.add(key)

    assert [take(queue) for _ in range(3)] == ["c", "a", "b"]


def test_a_key_in_hand_is_given_to_nobody_else_but_comes_again(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert take(queue) == "a"
    queue.add("a")

    assert take(queue) is None
    queue.done("a")
    assert take(queue) == "a"


def test_a_delayed_key_comes_when_it_is_due_and_not_before(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add_after("a", 5)
    clock.now += 4.9
    assert take(queue) is None
    clock.now += 0.2
    assert take(queue) == "a"


@pytest.mark.parametrize("delays", [(5, 1), (1, 5)], ids=["later first", "earlier first"])
def test_of_several_delays_the_earliest_counts_and_only_it(
    queue: WorkQueue[str], clock: Clock, delays: tuple[float, float]
) -> None:
    for delay in delays:
        queue.add_after("a", delay)
    clock.now += 1.1
    assert take(queue) == "a"
    queue.done("a")
    clock.now += 10
    assert take(queue) is None


def test_failures_of_a_key_double_its_pause_up_to_the_longest(queue: WorkQueue[str]) -> None:
    pauses = [queue.retry("a") for _ in range(12)]

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0, 60.0]
    assert queue.retry("b") == 0.2


def test_success_ends_the_backoff(queue: WorkQueue[str]) -> None:
    queue.retry("a")
    queue.retry("a")
    queue.forget("a")

    assert queue.retry("a") == 0.2


def test_a_key_that_failed_for_weeks_still_has_a_pause(queue: WorkQueue[str]) -> None:
    pauses = [queue.retry("a") for _ in range(5000)]

    assert pauses[-1] == 60.0


def test_a_closed_queue_gives_out_what_waits_and_what_is_nearly_due(
    queue: WorkQueue[str], clock: Clock
) -> None:
    queue.add("now")
    queue.add_after("soon", 0.1)
    queue.add_after("later", 60)
    queue.close(grace=0.2)
    queue.add("too late")

    assert [queue.get(), queue.get(), queue.get()] == ["now", "soon", None]


def test_it_is_drained_only_when_the_work_in_hand_has_ended(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert take(queue) == "a"
    queue.close()

    assert not queue.drained(0)
    queue.done("a")
    assert queue.drained(0)


def test_closing_wakes_all_who_wait() -> None:
    queue: WorkQueue[str] = WorkQueue(Clock())
    got: list[str | None] = []
    threads = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(3)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(5)

    assert got == [None] * 3


def test_the_load_tells_of_waiting_and_of_unfinished_work(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add("a")
    queue.add("b")
    queue.add_after("c", 9)
    assert take(queue) == "a"
    clock.now += 3

    load = queue.load()
    assert (load.depth, load.delayed, load.unfinished_seconds, load.longest_seconds) == (1, 1, 3.0, 3.0)


OPERATIONS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("abc")),
    st.tuples(st.just("after"), st.sampled_from("abc"), st.floats(0.01, 5)),
    st.tuples(st.just("retry"), st.sampled_from("abc")),
    st.tuples(st.just("get")),
    st.tuples(st.just("done"), st.integers(0, 2)),
    st.tuples(st.just("wait"), st.floats(0.01, 3)),
)


@given(st.lists(OPERATIONS, max_size=60))
def test_no_wish_is_lost_and_no_key_is_ever_in_two_hands(operations: list[tuple[object, ...]]) -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    hands: list[str] = []
    # Keys that somebody wished for since they were last taken, and from when on they must come.
    wished: dict[str, float] = {}
    for name, *arguments in operations:
        match name, arguments:
            case "add", [str(key)]:
                queue.add(key)
                wished[key] = min(wished.get(key, clock.now), clock.now)
            case "after", [str(key), float(delay)]:
                queue.add_after(key, delay)
                wished[key] = min(wished.get(key, clock.now + delay), clock.now + delay)
            case "retry", [str(key)]:
                due = clock.now + queue.retry(key)
                wished[key] = min(wished.get(key, due), due)
            case "wait", [float(seconds)]:
                clock.now += seconds
            case "done", [int(at)] if at < len(hands):
                queue.done(hands.pop(at))
            case "get", []:
                taken = queue.get(timeout=0)
                due_keys = {each for each, due in wished.items() if due <= clock.now and each not in hands}
                assert (taken in due_keys) if due_keys else (taken is None)
                if taken is not None:
                    del wished[taken]
                    hands.append(taken)
        assert len(hands) == len(set(hands))
