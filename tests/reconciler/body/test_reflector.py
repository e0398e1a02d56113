from __future__ import annotations

import json
import socket
import threading
import time  # noqa: TID251 - pauses are what it is about
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from reconciler.cache import Key
from reconciler.reflector import Reflector
from reconciler.resource import PODS, SERVICES, Collection, Resource
from reconciler.settings import Settings
from reconciler.time_source import SYSTEM
from reconciler.transport import Transport
from tests.reconciler.body.fake_api import FakeApi, Handler, Request, event, pod, service, status_of

#: Short, so that a test takes no longer than what it is about.
QUICK = Settings(
    silence=0.4,
    probe_timeout=1.0,
    list_timeout=1.0,
    list_interval=0.5,
    backoff_first=0.1,
    server_error_limit=0.3,
)
QUICK_BUT_PATIENT = replace(QUICK, silence=20.0)
#: Lists at once, whenever the last one was.
QUICK_TO_LIST = replace(QUICK, list_interval=0.0)


class Mirror:
    """A sink: what the reflector says is there, and how often it said what."""

    def __init__(self) -> None:
        self.items: dict[Key, Any] = {}
        self.lists: list[set[Key]] = []
        self.deletions: list[Key] = []
        self.versions: list[str] = []
        self.relists: list[str] = []
        self.skipped = 0
        self.failures = 0

    def replaced(self, _scope: str, items: Iterable[Any], unreadable: Iterable[Key]) -> None:
        new = {(item.namespace, item.name): item for item in items}
        keep = {key: self.items[key] for key in unreadable if key in self.items}
        self.items = {**keep, **new}
        self.lists.append(set(new))

    def changed(self, _scope: str, item: Any) -> None:
        if item.phase == "Explode":
            raise RuntimeError("a bug of ours")
        self.items[item.namespace, item.name] = item

    def deleted(self, _scope: str, key: Key) -> None:
        self.items.pop(key, None)
        self.deletions.append(key)

    def reached(self, _scope: str, version: str) -> None:
        self.versions.append(version)

    def relisted(self, _kind: str, reason: str) -> None:
        self.relists.append(reason)

    def undecodable(self, _kind: str) -> None:
        self.skipped += 1

    def heard(self, _kind: str, _scope: str) -> None:
        pass

    def failed(self, _kind: str) -> None:
        self.failures += 1

    @property
    def names(self) -> set[str]:
        return {name for _, name in self.items}


class Running(NamedTuple):
    reflector: Reflector
    mirror: Mirror


Start = Callable[..., Running]


@pytest.fixture
def start(transport: Transport) -> Iterator[Start]:
    """Starts a reflector; it is stopped, and must end at once, when the test ends."""
    running: list[tuple[Reflector, threading.Thread]] = []

    def run(
        settings: Settings = QUICK, resource: Resource = PODS, scope: str = "", api: Transport = transport
    ) -> Running:
        mirror = Mirror()
        reflector = Reflector(
            api, Collection(resource, scope), mirror, counters=mirror, settings=settings, time=SYSTEM
        )
        thread = threading.Thread(target=reflector.run)
        running.append((reflector, thread))
        thread.start()
        return Running(reflector, mirror)

    yield run
    for reflector, thread in running:
        reflector.stop()
        thread.join(3)
        assert not thread.is_alive(), "stop must not hang"


def is_watch(request: Request) -> bool:
    return request.is_watch


def is_list(request: Request) -> bool:
    return request.method == "GET" and not request.is_watch


def is_probe(request: Request) -> bool:
    return request.query.get("limit") == "1"


def watches(api: FakeApi) -> list[Request]:
    return api.seen("GET", "pods", watch=True)


def lists(api: FakeApi) -> list[Request]:
    return [one for one in api.seen("GET", "pods", watch=False) if not is_probe(one)]


def probes(api: FakeApi) -> list[Request]:
    return [one for one in api.requests if is_probe(one)]


def watching(api: FakeApi) -> bool:
    return bool(watches(api))


# --- the good way


def test_it_lists_in_pages_and_watches_from_the_version_of_the_list(api: FakeApi, start: Start) -> None:
    for number in range(5):
        api.put("pods", pod(name=f"p{number}"))
    mirror = start(Settings(page_size=2)).mirror
    api.eventually(lambda: watching(api))

    assert [one.query.get("continue") for one in lists(api)] == [None, "2", "4"]
    assert all("resourceVersion" not in one.query for one in lists(api))
    assert mirror.lists == [{("edge-ai", f"p{number}") for number in range(5)}]
    query = watches(api)[0].query
    assert query["resourceVersion"] == str(api.version)
    assert query["allowWatchBookmarks"] == "true"
    assert 300 <= int(query["timeoutSeconds"]) <= 600
    assert query["labelSelector"] == "jointinferenceservice.sedna.io/name"


def test_services_are_watched_without_a_selector(api: FakeApi, start: Start) -> None:
    api.put("jointinferenceservices", service())
    mirror = start(resource=SERVICES, scope="edge-ai").mirror
    api.eventually(lambda: mirror.names == {"helmet"})

    listed = api.seen("GET", "jointinferenceservices")[0]
    assert listed.path == "/apis/sedna.io/v1alpha1/namespaces/edge-ai/jointinferenceservices"
    assert "labelSelector" not in listed.query


def test_what_happens_after_the_list_is_told(api: FakeApi, start: Start) -> None:
    api.put("pods", pod(name="a"))
    mirror = start().mirror
    api.eventually(lambda: mirror.names == {"a"})
    api.put("pods", pod(name="b"))
    api.eventually(lambda: mirror.names == {"a", "b"})
    api.delete("pods", "a")
    api.eventually(lambda: mirror.names == {"b"})

    assert mirror.versions == sorted(mirror.versions, key=int)
    assert len(mirror.lists) == 1


def test_two_events_in_one_chunk_and_one_event_in_many_chunks(api: FakeApi, start: Start) -> None:
    accented = pod(name="c")
    accented["status"]["message"] = "größer als erlaubt: 模型"
    text = event("ADDED", {**pod(name="a")}).replace(b'"uid-of-a"', b'"uid-of-a", "resourceVersion": "1001"')
    text += event("ADDED", {**pod(name="b")}).replace(b'"uid-of-b"', b'"uid-of-b", "resourceVersion": "1002"')
    third = json.dumps({"type": "ADDED", "object": accented}, ensure_ascii=False).encode() + b"\n"
    third = third.replace(b'"uid-of-c"', b'"uid-of-c", "resourceVersion": "1003"')

    def dribble(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        handler.chunk(text)
        for at in range(0, len(third), 7):
            handler.chunk(third[at : at + 7])
        time.sleep(1)
        handler.end_stream()

    api.on(is_watch, dribble)
    mirror = start().mirror
    api.eventually(lambda: mirror.names == {"a", "b", "c"})

    assert mirror.items["edge-ai", "c"].message == "größer als erlaubt: 模型"
    assert mirror.skipped == 0


def test_events_come_at_once_also_where_a_proxy_takes_the_chunks_away(api: FakeApi, start: Start) -> None:
    told = threading.Event()

    def without_length(handler: Handler, _request: Request) -> None:
        handler.protocol_version = "HTTP/1.0"
        handler.send_response(200)
        handler.end_headers()
        made = pod(name="a")
        made["metadata"]["resourceVersion"] = "1001"
        handler.wfile.write(event("ADDED", made))
        handler.wfile.flush()
        told.wait(5)
        handler.close_connection = True

    api.on(is_watch, without_length)
    mirror = start(Settings()).mirror
    api.eventually(lambda: mirror.names == {"a"}, 2)
    told.set()


def test_a_bookmark_moves_the_version_on(api: FakeApi, start: Start) -> None:
    def bookmark(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        handler.chunk(event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "5000"}}))
        handler.end_stream()

    api.on(is_watch, bookmark)
    start()
    api.eventually(lambda: len(watches(api)) == 2)

    assert watches(api)[1].query["resourceVersion"] == "5000"
    assert len(lists(api)) == 1


def test_a_watch_that_the_server_ends_is_taken_up_where_it_ended(api: FakeApi, start: Start) -> None:
    def one_event(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        handler.chunk(event("ADDED", api.put("pods", pod(name="a"))))
        time.sleep(1.1)
        handler.end_stream()

    api.on(is_watch, one_event)
    mirror = start(QUICK_BUT_PATIENT).mirror
    api.eventually(lambda: len(watches(api)) == 2)

    assert watches(api)[1].query["resourceVersion"] == str(api.version)
    assert (len(lists(api)), mirror.failures) == (1, 0)


# --- what expires, and what goes back


def expired_event(handler: Handler, _request: Request) -> None:
    handler.begin_stream()
    handler.chunk(event("ERROR", status_of(410, "Expired", "too old resource version: 1 (2)")))
    handler.end_stream()


def expired_answer(handler: Handler, _request: Request) -> None:
    handler.refuse(410, "Expired", "too old resource version")


@pytest.mark.parametrize("fault", [expired_event, expired_answer], ids=["in a stream", "as the answer"])
def test_an_expired_version_is_answered_by_a_full_list_with_tombstones(
    api: FakeApi, start: Start, fault: Callable[[Handler, Request], None]
) -> None:
    api.put("pods", pod(name="stays"))
    api.put("pods", pod(name="goes"))
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: watching(api))

    def expire(handler: Handler, request: Request) -> None:
        # Its deletion is in no event: only the list tells.
        del api.objects["pods", "edge-ai", "goes"]
        fault(handler, request)

    api.on(is_watch, expire)
    api.eventually(lambda: mirror.names == {"stays"})

    assert mirror.relists == ["start", "expired"]


def test_a_server_that_expires_every_version_is_not_listed_all_the_time(api: FakeApi, start: Start) -> None:
    api.on(is_watch, expired_event, times=1000)
    start(Settings())
    time.sleep(2)

    assert 2 <= len(lists(api)) <= 4
    assert len(watches(api)) <= 5


def test_a_list_whose_pages_expire_is_begun_anew_and_at_last_made_in_one(api: FakeApi, start: Start) -> None:
    for number in range(4):
        api.put("pods", pod(name=f"p{number}"))
    api.on(lambda request: "continue" in request.query, expired_answer, times=2)
    mirror = start(Settings(page_size=2)).mirror
    api.eventually(lambda: watching(api))

    assert len(mirror.names) == 4
    assert [(one.query.get("limit"), one.query.get("continue")) for one in lists(api)] == [
        ("2", None),
        ("2", "2"),
        ("2", None),
        ("2", "2"),
        (None, None),
    ]


def test_time_that_went_back_is_found_after_silence_and_all_is_listed(api: FakeApi, start: Start) -> None:
    api.put("pods", pod(name="a"))
    mirror = start().mirror
    api.eventually(lambda: watching(api))
    # etcd is restored: the server is at an old version, and a watch from the later one is silent.
    with api.changed:
        api.version = 500
        api.objects.clear()
        api.put("pods", pod(name="restored"))
        api.history.clear()
    api.eventually(lambda: mirror.names == {"restored"})

    assert mirror.relists == ["start", "time went back"]
    assert mirror.versions[-1] == "501"


def test_time_that_went_back_is_found_though_watches_end_before_the_silence_is_over(
    api: FakeApi, start: Start
) -> None:
    api.put("pods", pod(name="a"))
    mirror = start(Settings(watch_timeout=1.0, silence=2.0, list_interval=0.0)).mirror
    api.eventually(lambda: watching(api))
    with api.changed:
        api.version = 500
        api.history.clear()
    api.eventually(lambda: mirror.relists == ["start", "time went back"])


def test_a_version_that_is_too_large_for_the_server_is_answered_by_a_list(api: FakeApi, start: Start) -> None:
    mirror = start(QUICK_TO_LIST).mirror
    api.on(
        is_watch,
        lambda handler, _request: handler.refuse(504, "Timeout", "Too large resource version: 9, current: 5"),
    )
    api.eventually(lambda: len(lists(api)) == 2)

    assert mirror.relists[1] == "time went back"


# --- silence


def test_after_silence_the_server_is_asked_and_the_watch_goes_on_without_a_list(
    api: FakeApi, start: Start
) -> None:
    mirror = start().mirror
    api.eventually(lambda: len(watches(api)) == 3)

    assert len(probes(api)) == 2
    assert (len(lists(api)), mirror.failures) == (1, 0)


def test_a_watch_that_falls_silent_after_an_event_is_asked_about_as_well(api: FakeApi, start: Start) -> None:
    frozen = threading.Event()

    def tell_and_freeze(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        handler.chunk(event("ADDED", api.put("pods", pod(name="a"))))
        frozen.wait(5)

    api.on(is_watch, tell_and_freeze)
    start()
    api.eventually(lambda: len(watches(api)) == 2)
    frozen.set()

    assert len(probes(api)) == 1


def test_watches_that_end_at_once_though_with_an_event_are_begun_once_a_second(
    api: FakeApi, start: Start
) -> None:
    def tell_and_end(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        handler.chunk(event("MODIFIED", api.put("pods", pod(name="a"))))
        handler.end_stream()

    api.on(is_watch, tell_and_end, times=1000)
    mirror = start(QUICK_BUT_PATIENT).mirror
    time.sleep(2.5)

    assert 2 <= len(watches(api)) <= 3
    assert (len(lists(api)), mirror.failures) == (1, 0)


def test_what_was_missed_on_a_dead_connection_comes_with_the_next_watch(api: FakeApi, start: Start) -> None:
    frozen = threading.Event()

    def freeze(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        frozen.wait(5)

    api.on(is_watch, freeze)
    mirror = start().mirror
    api.eventually(lambda: watching(api))
    api.put("pods", pod(name="missed"))
    api.eventually(lambda: mirror.names == {"missed"})
    frozen.set()

    assert len(lists(api)) == 1


def test_a_server_that_accepts_and_never_answers_is_tried_again(api: FakeApi, start: Start) -> None:
    hanging = threading.Event()
    api.on(lambda _request: True, lambda _handler, _request: hanging.wait(10), times=1)
    mirror = start().mirror
    api.put("pods", pod(name="a"))
    api.eventually(lambda: mirror.names == {"a"})
    hanging.set()


def test_a_stream_that_drips_without_end_is_given_up(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reconciler.reflector._OVERTIME", 0.2)
    stop = threading.Event()

    def bookmarks(handler: Handler, _request: Request) -> None:
        handler.begin_stream()
        while not stop.wait(0.1):
            handler.chunk(event("BOOKMARK", {"metadata": {"resourceVersion": "2000"}}))

    api.on(is_watch, bookmarks)
    start(Settings(watch_timeout=0.5))
    api.eventually(lambda: len(watches(api)) == 2)
    stop.set()


# --- what cannot be understood


def test_an_object_that_cannot_be_decoded_is_skipped_in_a_list(api: FakeApi, start: Start) -> None:
    poison = pod(name="poison")
    poison["status"]["containerStatuses"] = "none"
    api.put("pods", poison)
    api.put("pods", pod(name="good"))
    mirror = start().mirror
    api.eventually(lambda: mirror.names == {"good"})

    assert mirror.skipped == 1


def test_an_event_that_cannot_be_decoded_is_skipped_and_not_asked_for_again(
    api: FakeApi, start: Start
) -> None:
    mirror = start(QUICK_BUT_PATIENT).mirror
    api.eventually(lambda: watching(api))
    poison = pod(name="poison")
    poison["metadata"]["labels"] = {**poison["metadata"]["labels"], "x": "y"}
    poison["spec"]["nodeName"] = 7
    api.put("pods", poison)
    api.put("pods", pod(name="good"))
    api.eventually(lambda: mirror.names == {"good"})

    assert mirror.skipped == 1
    assert len(watches(api)) == 1


def test_the_deletion_of_what_cannot_be_decoded_is_told(api: FakeApi, start: Start) -> None:
    mirror = start(QUICK_BUT_PATIENT).mirror
    api.put("pods", pod(name="a"))
    api.eventually(lambda: mirror.names == {"a"})
    with api.changed:
        api.objects["pods", "edge-ai", "a"]["status"]["phase"] = 7
    api.delete("pods", "a")
    api.eventually(lambda: mirror.names == set())


def garbage(handler: Handler, _request: Request) -> None:
    handler.begin_stream()
    handler.chunk(b'{"type": "ADDED", "obj\n')
    handler.end_stream()


def test_a_line_that_is_no_event_is_asked_for_again_and_then_gone_round(api: FakeApi, start: Start) -> None:
    api.on(is_watch, garbage, times=2)
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: mirror.relists == ["start", "garbled watch"])

    assert mirror.failures == 2


def test_a_page_in_html_is_no_list_and_deletes_nothing(api: FakeApi, start: Start) -> None:
    api.put("pods", pod(name="a"))
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: mirror.names == {"a"})
    api.on(is_list, lambda handler, _request: handler.json(200, b"<html>maintenance</html>"), times=3)
    api.on(is_watch, expired_answer)
    api.eventually(lambda: len(mirror.lists) == 2, 20)

    assert mirror.names == {"a"}
    assert not mirror.deletions


def test_a_bug_that_an_event_wakes_is_counted_and_gone_round_by_a_list(api: FakeApi, start: Start) -> None:
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: watching(api))
    exploding = pod(name="a")
    exploding["status"]["phase"] = "Explode"
    api.put("pods", exploding)
    api.eventually(lambda: mirror.names == {"a"})

    assert mirror.relists == ["start", "unexpected error"]
    assert mirror.failures == 1


# --- the server's errors: watched again, not listed


def cut(handler: Handler, _request: Request) -> None:
    handler.cut()


def ended_at_once(handler: Handler, _request: Request) -> None:
    handler.begin_stream()
    handler.end_stream()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(cut, id="connection cut"),
        pytest.param(ended_at_once, id="ended at once"),
        pytest.param(lambda handler, _request: handler.refuse(429, "TooManyRequests"), id="429"),
        pytest.param(lambda handler, _request: handler.refuse(401, "Unauthorized"), id="401"),
        pytest.param(lambda handler, _request: handler.refuse(500, "InternalError"), id="500"),
        pytest.param(lambda handler, _request: handler.refuse(503, "ServiceUnavailable"), id="503"),
        pytest.param(lambda handler, _request: handler.json(502, b"<html>bad gateway"), id="502 in HTML"),
    ],
)
def test_a_failing_watch_is_tried_again_after_a_pause_and_nothing_is_listed(
    api: FakeApi, start: Start, fault: Callable[[Handler, Request], None]
) -> None:
    api.on(is_watch, fault, times=2)
    mirror = start(QUICK_BUT_PATIENT).mirror
    api.eventually(lambda: len(watches(api)) == 3)
    api.put("pods", pod(name="a"))
    api.eventually(lambda: mirror.names == {"a"})

    first, second, third = (one.time for one in watches(api)[:3])
    assert 0.1 <= second - first <= 0.6
    assert 0.2 <= third - second <= 0.8
    assert len(lists(api)) == 1


def test_a_stream_cut_in_the_middle_of_an_event_loses_nothing(api: FakeApi, start: Start) -> None:
    def half(handler: Handler, _request: Request) -> None:
        whole = event("ADDED", api.put("pods", pod(name="a")))
        text = event("ADDED", api.put("pods", pod(name="b")))
        handler.begin_stream()
        handler.chunk(whole + text[: len(text) // 2])
        handler.cut()

    api.on(is_watch, half)
    mirror = start(QUICK_BUT_PATIENT).mirror
    api.eventually(lambda: mirror.names == {"a", "b"})

    assert len(lists(api)) == 1


def test_retry_after_is_obeyed(api: FakeApi, start: Start) -> None:
    api.on(is_watch, lambda handler, _request: handler.refuse(429, "TooManyRequests", Retry_After="1"))
    start(QUICK_BUT_PATIENT)
    api.eventually(lambda: len(watches(api)) == 2)

    first, second = (one.time for one in watches(api))
    assert 0.95 <= second - first <= 1.5


def test_a_servers_own_error_that_stays_is_answered_by_a_list_at_last(api: FakeApi, start: Start) -> None:
    api.on(is_watch, lambda handler, _request: handler.refuse(500, "InternalError"), times=3)
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: mirror.relists == ["start", "server error"], 15)


def test_rights_that_were_taken_away_are_asked_for_with_pauses_and_the_copy_stays(
    api: FakeApi, start: Start
) -> None:
    api.put("pods", pod(name="a"))
    mirror = start(QUICK_TO_LIST).mirror
    api.eventually(lambda: mirror.names == {"a"})
    api.on(lambda _request: True, lambda handler, _request: handler.refuse(403, "Forbidden", "no"), times=3)
    before = len(api.requests)
    api.eventually(lambda: len(mirror.lists) == 2, 20)

    assert mirror.names == {"a"}
    assert mirror.relists[1] == "refused with 403"
    assert len(api.requests) - before <= 8


def test_a_dead_server_is_dialled_a_few_times_and_found_again(
    start: Start, connect: Callable[[str], Transport]
) -> None:
    # A port on which nobody listens, until later.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    mirror = start(api=connect(f"http://127.0.0.1:{port}")).mirror
    time.sleep(1)

    assert 2 <= mirror.failures <= 4
    assert mirror.relists.count("start") == len(mirror.relists)


def test_a_definition_that_is_not_there_yet_is_waited_for(api: FakeApi, start: Start) -> None:
    api.put("jointinferenceservices", service())
    api.on(is_list, lambda handler, _request: handler.refuse(404, "NotFound"), times=2)
    mirror = start(resource=SERVICES).mirror
    api.eventually(lambda: mirror.names == {"helmet"})


# --- stopping


def test_it_stops_while_it_waits_for_a_quiet_stream(api: FakeApi, start: Start) -> None:
    running = start(Settings())
    api.eventually(lambda: watching(api))
    time.sleep(0.1)
    began = time.monotonic()
    running.reflector.stop()
    # The fixture asserts that the thread ends.

    assert time.monotonic() - began < 1


def test_it_stops_while_it_backs_off(start: Start, api: FakeApi) -> None:
    api.on(lambda _request: True, cut, times=1000)
    running = start()
    api.eventually(lambda: running.mirror.failures)
    running.reflector.stop()


def test_it_says_when_it_last_turned(api: FakeApi, start: Start) -> None:
    running = start(Settings())
    api.eventually(lambda: watching(api))
    time.sleep(0.3)

    assert running.reflector.idle_seconds() >= 0.25
    api.put("pods", pod(name="a"))
    api.eventually(lambda: running.reflector.idle_seconds() < 0.25)
