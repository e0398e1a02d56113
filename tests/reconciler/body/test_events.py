from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from reconciler.events import Limits, Note, Recorder, clip
from reconciler.records import Service
from reconciler.time_source import SYSTEM
from reconciler.transport import Transport
from tests.reconciler.body.fake_api import NAMESPACE, FakeApi

SERVICE = Service(NAMESPACE, "helmet", "uid-of-helmet", "7")
CRASH = Note("Warning", "WorkerCrashLooping", "edge worker: it ends again and again")


class Clock:
    now = 0.0


@pytest.fixture
def results() -> list[str]:
    return []


@pytest.fixture
def recorder(transport: Transport, results: list[str]) -> Recorder:
    return Recorder(
        transport,
        SYSTEM._replace(wall=lambda: 1_800_000_000.0),
        instance="pod-1",
        may_write=lambda: True,
        counted=results.append,
    )


def sending(recorder: Recorder) -> None:
    """Send all that waits."""
    recorder.close()
    recorder.run()


def test_an_event_is_as_the_api_server_wants_it(api: FakeApi, recorder: Recorder) -> None:
    recorder.record(SERVICE, CRASH)
    sending(recorder)

    (request,) = api.seen("POST", "events")
    assert request.path == f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
    body = request.body
    assert body["eventTime"] == "2027-01-15T08:00:00.000000Z"
    assert (body["type"], body["reason"], body["note"]) == CRASH
    assert body["regarding"] == {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": "JointInferenceService",
        "namespace": NAMESPACE,
        "name": "helmet",
        "uid": "uid-of-helmet",
        "resourceVersion": "7",
    }
    assert all(body[name] for name in ("action", "reportingController", "reportingInstance"))


def test_names_are_valid_and_never_the_same(api: FakeApi, recorder: Recorder) -> None:
    for name in ("a", "a", "x" * 253, "x" * 219 + "-y"):
        recorder.record(Service(NAMESPACE, name, name, "1"), CRASH)
    sending(recorder)

    names = [request.body["metadata"]["name"] for request in api.seen("POST", "events")]
    assert len(set(names)) == 4
    label = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
    assert all(re.fullmatch(rf"{label}(\.{label})*", name) and len(name) <= 253 for name in names)


def test_an_object_has_25_events_at_once_and_then_one_in_five_minutes() -> None:
    clock = Clock()
    limits = Limits(SYSTEM._replace(monotonic=lambda: clock.now))

    assert sum(limits.allow("a") for _ in range(100)) == 25
    assert limits.allow("b")
    clock.now += 300
    assert [limits.allow("a") for _ in range(2)] == [True, False]
    clock.now += 1e6
    assert sum(limits.allow("a") for _ in range(100)) == 25


def test_the_memory_of_limits_is_limited_itself() -> None:
    limits = Limits(SYSTEM)
    for number in range(10_000):
        limits.allow(str(number))

    assert len(limits._left) == 4096


def test_too_many_events_are_counted_and_not_sent(
    api: FakeApi, recorder: Recorder, results: list[str]
) -> None:
    for _ in range(40):
        recorder.record(SERVICE, CRASH)
    sending(recorder)

    assert len(api.seen("POST", "events")) == 25
    assert (results.count("limited"), results.count("sent")) == (15, 25)


def test_recording_does_not_wait_when_nothing_is_sent(recorder: Recorder, results: list[str]) -> None:
    for number in range(1100):
        recorder.record(Service(NAMESPACE, "s", str(number), "1"), CRASH)

    assert results == ["dropped"] * (1100 - 1024)


@pytest.mark.parametrize(("code", "tries"), [(500, 3), (403, 1), (422, 1), (404, 1)], ids=str)
def test_an_event_that_is_refused_is_dropped_and_the_next_one_sent(
    api: FakeApi, recorder: Recorder, results: list[str], code: int, tries: int
) -> None:
    api.on(lambda request: request.of("events"), lambda handler, _request: handler.refuse(code), times=tries)
    recorder.record(SERVICE, CRASH)
    recorder.record(SERVICE, CRASH)
    sending(recorder)

    assert results == ["error", "sent"]
    assert len(api.seen("POST", "events")) == tries + 1


def test_a_cut_connection_is_tried_again(api: FakeApi, recorder: Recorder, results: list[str]) -> None:
    api.on(lambda request: request.of("events"), lambda handler, _request: handler.cut(), times=2)
    recorder.record(SERVICE, CRASH)
    sending(recorder)

    assert results == ["sent"]


def test_who_no_longer_leads_sends_no_event(api: FakeApi, transport: Transport) -> None:
    results: list[str] = []
    recorder = Recorder(transport, SYSTEM, instance="i", may_write=lambda: False, counted=results.append)
    recorder.record(SERVICE, CRASH)
    sending(recorder)

    assert results == ["not_leading"]
    assert not api.seen("POST", "events")


@pytest.fixture
def running(recorder: Recorder) -> Iterator[Callable[[], None]]:
    thread = threading.Thread(target=recorder.run)
    thread.start()
    yield recorder.close
    thread.join(5)
    assert not thread.is_alive()


def test_closing_ends_the_thread_when_all_is_sent(
    api: FakeApi, recorder: Recorder, running: Callable[[], None]
) -> None:
    recorder.record(SERVICE, CRASH)
    running()
    api.eventually(lambda: api.seen("POST", "events"))


@pytest.mark.parametrize(
    ("text", "clipped"),
    [
        pytest.param("two\nlines\x00\x1b[31m", "two lines [31m", id="control characters"),
        pytest.param("é" * 600, "é" * 512, id="bytes count, not characters"),
        pytest.param("x" + "é" * 600, "x" + "é" * 511, id="cut at a character"),
        pytest.param("a\ud800b", "a?b", id="half a surrogate"),
    ],
)
def test_notes_are_one_line_of_at_most_1024_bytes(text: str, clipped: str) -> None:
    assert clip(text) == clipped
