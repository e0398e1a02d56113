from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from reconciler.lease import Lease
from reconciler.settings import Settings
from reconciler.time_source import SYSTEM
from reconciler.transport import Transport
from tests.reconciler.body.fake_api import FakeApi, Handler, Request

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
WALL = 1_800_000_000.0  # a whole second: its fraction must be sent all the same


class Clock:
    """CLOCK_BOOTTIME of all candidates, and their wall clocks."""

    def __init__(self) -> None:
        self.boot = 1000.0

    def pass_by(self, seconds: float) -> None:
        self.boot += seconds


class Candidates(NamedTuple):
    clock: Clock
    make: Callable[[str], Lease]


@pytest.fixture
def candidates(transport: Transport) -> Candidates:
    clock = Clock()
    time = SYSTEM._replace(
        boottime=lambda: clock.boot, wall=lambda: WALL + int(clock.boot), chance=lambda: 0.0
    )
    settings = Settings(lease_timeout=0.5)
    return Candidates(
        clock, lambda name: Lease(transport, time, ("sedna", "reconciler"), name, settings=settings)
    )


def spec(api: FakeApi) -> dict[str, object]:
    found: dict[str, object] = api.get("leases", "reconciler", "sedna")["spec"]
    return found


def about_lease(request: Request) -> bool:
    return request.of("leases")


def writing(request: Request) -> bool:
    return request.of("leases") and request.method != "GET"


def test_the_first_candidate_creates_the_lease(api: FakeApi, candidates: Candidates) -> None:
    lease = candidates.make("a")
    assert not lease.valid()
    lease.step()

    assert lease.valid()
    held = spec(api)
    assert (held["holderIdentity"], held["leaseDurationSeconds"], held["leaseTransitions"]) == ("a", 15, 0)
    assert MICRO_TIME.fullmatch(str(held["renewTime"]))
    assert MICRO_TIME.fullmatch(str(held["acquireTime"]))


def test_the_holder_renews_without_a_read_and_keeps_when_it_acquired(
    api: FakeApi, candidates: Candidates
) -> None:
    lease = candidates.make("a")
    lease.step()
    acquired = spec(api)["acquireTime"]
    for _ in range(10):
        candidates.clock.pass_by(2)
        lease.step()

    assert lease.valid()
    assert spec(api)["acquireTime"] == acquired
    assert spec(api)["leaseTransitions"] == 0
    assert len(api.seen("GET", "leases")) == 1


def test_a_second_candidate_waits_while_the_lease_is_renewed(api: FakeApi, candidates: Candidates) -> None:
    first, second = candidates.make("a"), candidates.make("b")
    for _ in range(30):
        first.step()
        second.step()
        candidates.clock.pass_by(2)
        assert not second.valid()


def test_a_second_candidate_takes_over_15_seconds_after_the_last_change_that_it_saw(
    api: FakeApi, candidates: Candidates
) -> None:
    first, second = candidates.make("a"), candidates.make("b")
    first.step()
    candidates.clock.pass_by(100)  # long before it was looked at by the second: that does not count
    second.step()
    candidates.clock.pass_by(14.9)
    second.step()
    assert not second.valid()
    candidates.clock.pass_by(0.2)
    second.step()

    assert second.valid()
    assert not first.valid()
    assert (spec(api)["holderIdentity"], spec(api)["leaseTransitions"]) == ("b", 1)


def test_the_holder_stops_before_another_may_take_over(candidates: Candidates) -> None:
    lease = candidates.make("a")
    lease.step()
    candidates.clock.pass_by(9.9)
    assert lease.valid()
    candidates.clock.pass_by(0.2)

    assert not lease.valid()


def test_the_time_of_a_slow_renewal_counts_from_when_it_was_sent(
    api: FakeApi, candidates: Candidates
) -> None:
    lease = candidates.make("a")
    lease.step()

    def slow(_handler: Handler, _request: Request) -> bool:
        candidates.clock.pass_by(4)
        return False

    api.on(writing, slow)
    lease.step()
    candidates.clock.pass_by(6.1)

    assert not lease.valid()


def test_a_frozen_holder_knows_at_once_that_it_holds_nothing_and_comes_back_as_a_candidate(
    api: FakeApi, candidates: Candidates
) -> None:
    first, second = candidates.make("a"), candidates.make("b")
    first.step()
    second.step()
    candidates.clock.pass_by(16)  # the first one sleeps
    second.step()

    assert second.valid()
    assert not first.valid()
    first.step()
    assert not first.valid()
    assert spec(api)["holderIdentity"] == "b"


@pytest.mark.parametrize("code", [500, 503, 429, 403])
def test_a_server_that_refuses_renewals_ends_leading_after_ten_seconds(
    api: FakeApi, candidates: Candidates, code: int
) -> None:
    lease = candidates.make("a")
    lease.step()
    api.on(about_lease, lambda handler, _request: handler.refuse(code), times=100)
    for _ in range(4):
        candidates.clock.pass_by(2.4)
        lease.step()
        assert lease.valid()
    candidates.clock.pass_by(2.4)

    lease.step()
    assert not lease.valid()


def test_a_server_that_is_away_or_hangs_or_talks_nonsense_raises_nothing(
    api: FakeApi, candidates: Candidates
) -> None:
    lease = candidates.make("a")
    api.on(about_lease, lambda handler, _request: handler.cut())
    api.on(about_lease, lambda handler, _request: handler.json(200, b"<html>"))
    api.on(about_lease, lambda handler, _request: handler.json(200, {"metadata": None}))
    for _ in range(3):
        lease.step()
        assert not lease.valid()
    lease.step()

    assert lease.valid()


def test_a_renewal_that_got_through_though_its_answer_was_lost_is_no_reason_to_stop(
    api: FakeApi, candidates: Candidates
) -> None:
    lease = candidates.make("a")
    lease.step()

    def lose_the_answer(handler: Handler, request: Request) -> None:
        stored = api.get("leases", "reconciler", "sedna")
        api.put("leases", {**stored, "spec": request.body["spec"]})
        handler.cut()

    api.on(writing, lose_the_answer)
    candidates.clock.pass_by(2)
    lease.step()
    candidates.clock.pass_by(2)
    lease.step()
    candidates.clock.pass_by(2)
    lease.step()
    candidates.clock.pass_by(9)

    assert lease.valid()


def test_of_two_who_try_at_once_one_gets_it(api: FakeApi, candidates: Candidates) -> None:
    first, second = candidates.make("a"), candidates.make("b")

    def be_quicker(_handler: Handler, _request: Request) -> bool:
        second.step()
        return False

    api.on(writing, be_quicker)
    first.step()

    assert second.valid()
    assert not first.valid()


def test_a_lease_that_was_deleted_is_made_again(api: FakeApi, candidates: Candidates) -> None:
    lease = candidates.make("a")
    lease.step()
    api.delete("leases", "reconciler", "sedna")
    lease.step()
    lease.step()

    assert lease.valid()
    assert spec(api)["holderIdentity"] == "a"


def test_a_lease_taken_by_hand_is_believed_at_once(api: FakeApi, candidates: Candidates) -> None:
    lease = candidates.make("a")
    lease.step()
    stored = api.get("leases", "reconciler", "sedna")
    api.put("leases", {**stored, "spec": {**stored["spec"], "holderIdentity": "b"}})
    lease.step()

    assert not lease.valid()


def test_releasing_lets_another_take_over_at_once(api: FakeApi, candidates: Candidates) -> None:
    first, second = candidates.make("a"), candidates.make("b")
    first.step()
    second.step()
    first.release()
    assert not first.valid()
    second.step()

    assert second.valid()


def test_who_does_not_hold_the_lease_does_not_release_it(api: FakeApi, candidates: Candidates) -> None:
    first, second = candidates.make("a"), candidates.make("b")
    first.step()
    second.step()
    second.release()

    assert spec(api)["holderIdentity"] == "a"


def test_what_others_put_on_the_lease_stays(api: FakeApi, candidates: Candidates) -> None:
    lease = candidates.make("a")
    lease.step()
    stored = api.get("leases", "reconciler", "sedna")
    stored["metadata"]["labels"] = {"team": "edge"}
    api.put("leases", stored)
    lease.step()
    lease.step()

    assert lease.valid()
    assert api.get("leases", "reconciler", "sedna")["metadata"]["labels"] == {"team": "edge"}


def test_steps_are_spread(transport: Transport) -> None:
    time = SYSTEM._replace(chance=lambda: 0.5)
    lease = Lease(transport, time, ("sedna", "reconciler"), "a", settings=Settings())

    assert lease.step() == pytest.approx(2.2)
