from __future__ import annotations

import pytest

from reconciler.backoff import Backoff
from reconciler.time_source import SYSTEM


class Clock:
    now = 0.0


def of(clock: Clock, chance: float = 0.0) -> Backoff:
    return Backoff(SYSTEM._replace(monotonic=lambda: clock.now, chance=lambda: chance), 0.8, 30.0, 120.0)


def test_pauses_double_up_to_the_longest() -> None:
    backoff = of(Clock())

    assert [backoff.next() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_chance_makes_a_pause_up_to_twice_as_long() -> None:
    assert of(Clock(), 0.999).next() == pytest.approx(1.6, rel=0.01)


def test_after_two_minutes_without_a_failure_pauses_are_short_again() -> None:
    clock = Clock()
    backoff = of(clock)
    for _ in range(8):
        backoff.next()
    # The pause itself is no time without a failure.
    clock.now += 140
    assert backoff.next() == 30.0
    clock.now += 151

    assert backoff.next() == 0.8
