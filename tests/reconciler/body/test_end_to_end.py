"""Pods and services in, PATCHes out, over HTTP; the program in this process."""

from __future__ import annotations

import itertools
import threading
import time  # noqa: TID251 - waits for a program that has its own clock
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from reconciler.controller import Controller, Options
from reconciler.decide import decide
from reconciler.metrics import Metrics
from reconciler.settings import Settings
from reconciler.time_source import SYSTEM
from reconciler.transport import Transport
from tests.reconciler.body.fake_api import (
    SERVICE_LABEL,
    FakeApi,
    Handler,
    Object,
    Request,
    crashing,
    pod,
    service,
)

QUICK = Settings(
    write_interval=0.1, coalesce_least=0.01, coalesce_most=0.03, backoff_first=0.05, lease_retry=0.2
)
Start = Callable[..., "Running"]


class Running:
    """A controller in a thread."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.status: int | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        self.status = self.controller.run()

    def stop(self) -> None:
        self.controller.stop()
        self.thread.join(12)
        assert not self.thread.is_alive()

    def page(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.controller.health_port}{path}", timeout=5
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, line: str) -> float:
        """The value of one line of /metrics, by how it begins."""
        _, text = self.page("/metrics")
        return next(
            (float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(line)), 0.0
        )


@pytest.fixture
def start(transport: Transport) -> Iterator[Start]:
    running: list[Running] = []

    def run(settings: Settings = QUICK, api: Transport = transport, **options: Any) -> Running:
        made = Controller(
            api,
            Options(**{"listen": "127.0.0.1:0", "lease": ("sedna", "reconciler"), **options}),
            settings,
            Metrics(),
            SYSTEM,
        )
        running.append(Running(made))
        return running[-1]

    yield run
    for one in running:
        one.stop()


def writes(api: FakeApi) -> list[Request]:
    patches = api.seen("PATCH", "jointinferenceservices")
    return [one for one in patches if "dryRun" not in one.query]


def healthy(api: FakeApi) -> None:
    api.put("jointinferenceservices", service())
    api.put("pods", pod("cloud"))
    api.put("pods", pod("edge"))


def ready(api: FakeApi, status: str = "True", name: str = "helmet") -> Callable[[], bool]:
    return lambda: api.condition(name, "Ready").get("status") == status


def state(api: FakeApi, name: str = "helmet") -> str:
    return str(api.status(name)["conditions"][-1]["type"])


def is_write(request: Request) -> bool:
    return request.method == "PATCH" and "dryRun" not in request.query


# --- the good way


def test_ready_pods_make_one_write_with_all_that_is_to_be_said(api: FakeApi, start: Start) -> None:
    healthy(api)
    version = api.get("jointinferenceservices", "helmet")["metadata"]["resourceVersion"]
    start()
    api.eventually(ready(api))

    (write,) = writes(api)
    assert write.path.endswith("/namespaces/edge-ai/jointinferenceservices/helmet/status")
    assert set(write.body) == {"metadata", "status"}
    assert write.body["metadata"] == {"resourceVersion": version}
    status = write.body["status"]
    assert (status["active"], status["failed"], status["observedGeneration"]) == (2, 0, 1)
    assert [one["type"] for one in status["conditions"]] == [
        "CloudWorkerReady",
        "EdgeWorkerReady",
        "Active",
        "Ready",
        "Pending",
        "Failed",
        "Running",
    ]
    assert not api.seen("POST", "events")


def test_a_crash_is_told_and_so_is_its_end(api: FakeApi, start: Start) -> None:
    healthy(api)
    start(replace(QUICK, crash_recovery=0.5, crash_recovery_limit=0.6))
    api.eventually(ready(api))
    api.put("pods", crashing())
    api.eventually(ready(api, "False"))
    assert state(api) == "Failed"
    assert api.condition("helmet", "EdgeWorkerReady")["reason"] == "WorkerCrashLooping"
    api.put("pods", pod("edge"))
    api.eventually(ready(api))

    assert state(api) == "Running"
    api.eventually(lambda: len(api.seen("POST", "events")) == 2)
    assert [one.body["reason"] for one in api.seen("POST", "events")] == ["WorkerCrashLooping", "WorkerReady"]


def test_an_unchanged_world_is_written_by_nobody(api: FakeApi, start: Start) -> None:
    healthy(api)
    first = start()
    api.eventually(ready(api))
    first.stop()
    before = len(writes(api))
    second = start()
    api.eventually(lambda: second.page("/readyz")[0] == 200)
    api.eventually(second.controller.leads)
    time.sleep(0.5)
    api.put("pods", pod("edge"))  # as it was, at another version
    time.sleep(0.5)

    assert len(writes(api)) == before


def test_a_schema_without_observedGeneration_makes_no_endless_writes(api: FakeApi, start: Start) -> None:
    api.kept_status = {"active", "failed", "startTime", "conditions"}
    healthy(api)
    start()
    api.eventually(ready(api))
    time.sleep(0.5)

    assert len(writes(api)) == 1
    assert "observedGeneration" not in writes(api)[0].body["status"]


def test_a_burst_of_changes_makes_few_writes_and_the_last_one_tells(api: FakeApi, start: Start) -> None:
    healthy(api)
    start(replace(QUICK, write_interval=1.0))
    api.eventually(ready(api))
    api.requests.clear()
    for number in range(40):
        api.put("pods", pod("edge") if number % 2 else crashing())
        time.sleep(0.02)
    api.put("pods", crashing())
    api.eventually(lambda: state(api) == "Failed")
    time.sleep(0.3)

    times = [one.time for one in writes(api)]
    assert len(times) <= 3
    assert all(later - earlier >= 0.99 for earlier, later in itertools.pairwise(times))


def test_a_pod_that_moves_to_another_service_is_seen_by_both(api: FakeApi, start: Start) -> None:
    healthy(api)
    api.put("jointinferenceservices", service("other"))
    start(replace(QUICK, gone_grace=0.3))
    api.eventually(ready(api))
    api.eventually(lambda: api.condition("other", "Ready"))
    moved = pod("edge")
    moved["metadata"]["labels"][SERVICE_LABEL] = "other"
    api.put("pods", moved)

    api.eventually(lambda: api.condition("helmet", "EdgeWorkerReady")["reason"] == "WorkerGone")
    api.eventually(lambda: api.condition("other", "EdgeWorkerReady")["reason"] == "WorkerReady")


def test_a_grace_ends_without_any_event(api: FakeApi, start: Start) -> None:
    healthy(api)
    start(replace(QUICK, gone_grace=0.7))
    api.eventually(ready(api))
    api.delete("pods", "helmet-edge")
    time.sleep(0.3)
    assert ready(api)()
    api.eventually(ready(api, "False"))

    assert api.condition("helmet", "EdgeWorkerReady")["reason"] == "WorkerGone"


def test_a_namesake_that_follows_at_once_gets_a_status_of_its_own(api: FakeApi, start: Start) -> None:
    healthy(api)
    start()
    api.eventually(ready(api))
    api.delete("jointinferenceservices", "helmet")
    again = service()
    again["metadata"]["uid"] = "another"
    api.put("jointinferenceservices", again)

    api.eventually(ready(api))


def test_a_service_that_is_being_deleted_is_left_alone(api: FakeApi, start: Start) -> None:
    leaving = service()
    leaving["metadata"]["deletionTimestamp"] = leaving["metadata"]["creationTimestamp"]
    api.put("jointinferenceservices", leaving)
    api.put("jointinferenceservices", service("other"))
    start()
    api.eventually(lambda: api.status("other"))

    assert not api.status("helmet")


def test_only_the_given_namespaces_are_asked_for(api: FakeApi, start: Start) -> None:
    healthy(api)
    elsewhere: Object = service("elsewhere")
    elsewhere["metadata"]["namespace"] = "other"
    api.put("jointinferenceservices", elsewhere)
    start(namespaces=("edge-ai", "third"))
    api.eventually(ready(api))

    paths = {one.path for one in api.requests if one.method == "GET" and not one.of("leases")}
    assert all("/namespaces/edge-ai/" in path or "/namespaces/third/" in path for path in paths)
    assert "status" not in api.get("jointinferenceservices", "elsewhere", "other")


def test_a_pod_of_no_service_and_one_of_no_worker_are_counted_once(api: FakeApi, start: Start) -> None:
    healthy(api)
    api.put("pods", pod("edge", "nowhere"))
    stranger = pod("helper", name="helmet-stranger")
    api.put("pods", stranger)
    running = start()
    api.eventually(ready(api))
    api.put("pods", stranger)
    api.eventually(lambda: running.metric("foreign_pods_total") == 2)
    time.sleep(0.2)

    assert running.metric("foreign_pods_total") == 2


# --- what must not be believed


def test_pods_that_are_not_listed_yet_are_not_missing(api: FakeApi, start: Start) -> None:
    healthy(api)
    api.on(lambda one: one.of("pods"), lambda handler, _request: handler.refuse(503), times=3)
    running = start(replace(QUICK, backoff_first=0.2))
    api.eventually(running.controller.leads)
    assert running.page("/readyz")[0] == 503
    api.eventually(ready(api))

    assert len(writes(api)) == 1
    assert running.page("/readyz") == (200, "ok\n")


def test_after_a_write_nothing_is_decided_on_what_is_older(api: FakeApi, start: Start) -> None:
    healthy(api)
    stalled = threading.Event()

    def stall(handler: Handler, _request: Request) -> bool:
        stalled.wait(10)
        return False

    api.on(lambda one: one.is_watch and one.of("jointinferenceservices"), stall)
    start()
    api.eventually(ready(api))
    api.put("pods", crashing())
    time.sleep(0.7)
    assert len(writes(api)) == 1
    stalled.set()
    api.eventually(lambda: state(api) == "Failed")

    assert len(writes(api)) == 2


def test_a_second_writer_makes_conflicts_and_nothing_of_its_own_is_lost(api: FakeApi, start: Start) -> None:
    healthy(api)
    running = start()

    def be_quicker(_handler: Handler, _request: Request) -> bool:
        theirs = api.get("jointinferenceservices", "helmet")
        theirs.setdefault("status", {})["metrics"] = [{"key": "n", "value": str(api.version)}]
        api.put("jointinferenceservices", theirs)
        return False

    api.on(is_write, be_quicker, times=3)
    api.eventually(ready(api))

    assert api.status("helmet")["metrics"]
    assert running.metric('status_writes_total{result="conflict"}') == 3
    assert running.metric('status_writes_total{result="written"}') == 1


# --- what the API server may answer to a write


@pytest.mark.parametrize("code", [500, 503, 403, 401])
def test_a_write_that_fails_is_tried_again_until_it_succeeds(api: FakeApi, start: Start, code: int) -> None:
    healthy(api)
    api.on(is_write, lambda handler, _request: handler.refuse(code), times=3)
    start()
    api.eventually(ready(api), 20)

    assert len(writes(api)) == 4


def test_a_server_that_asks_for_patience_gets_it_for_all_services(api: FakeApi, start: Start) -> None:
    healthy(api)
    for name in ("b", "c"):
        api.put("jointinferenceservices", service(name))
    api.on(is_write, lambda handler, _request: handler.refuse(429, Retry_After="1"))
    start(replace(QUICK, workers=1))
    api.eventually(ready(api))
    api.eventually(lambda: api.status("b") and api.status("c"))

    times = [one.time for one in writes(api)]
    assert len(times) == 4
    assert times[1] - times[0] >= 0.99


def test_a_refused_status_is_told_and_not_sent_again_until_something_changes(
    api: FakeApi, start: Start
) -> None:
    healthy(api)
    api.on(is_write, lambda handler, _request: handler.refuse(422, "Invalid", "status.active: no"))
    running = start()
    api.eventually(lambda: api.seen("POST", "events"))
    api.put("pods", pod("edge"))  # as it was
    time.sleep(0.5)
    assert len(writes(api)) == 1
    assert api.seen("POST", "events")[0].body["reason"] == "StatusRefused"
    assert api.seen("POST", "events")[0].body["note"] == "422: status.active: no"
    assert running.metric("controller_runtime_terminal_reconcile_errors_total") == 1
    api.put("pods", crashing())

    api.eventually(lambda: state(api) == "Failed" if api.status("helmet") else False)


def test_a_bug_about_one_service_does_not_stop_the_others(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fragile(service: Any, *arguments: Any) -> Any:
        if service.name == "cursed" and not blessed.is_set():
            raise ZeroDivisionError
        return decide(service, *arguments)

    blessed = threading.Event()
    monkeypatch.setattr("reconciler.reconcile.decide", fragile)
    api.put("jointinferenceservices", service("cursed"))
    healthy(api)
    running = start()
    api.eventually(ready(api))
    api.eventually(lambda: running.metric("controller_runtime_reconcile_panics_total") >= 2)
    assert any(one.exc_info and one.exc_info[0] is ZeroDivisionError for one in caplog.records)
    assert running.page("/healthz")[0] == 200
    blessed.set()

    api.eventually(lambda: api.status("cursed"))


# --- leading


def test_a_standby_knows_all_and_writes_nothing_until_it_leads(
    api: FakeApi, start: Start, connect: Callable[[str], Transport]
) -> None:
    healthy(api)
    leader = start(identity="first")
    api.eventually(ready(api))
    standby = start(api=connect(api.url), identity="second")
    api.eventually(lambda: standby.page("/readyz")[0] == 200)
    api.put("pods", crashing())
    api.eventually(lambda: state(api) == "Failed")
    assert standby.metric("status_writes_total") == 0
    assert standby.metric("leader_election_master_status") == 0
    before = len(writes(api))
    leader.stop()
    api.eventually(standby.controller.leads)
    time.sleep(0.5)
    assert len(writes(api)) == before, "a failover changes nothing in the world"
    api.put("jointinferenceservices", service("new"))

    api.eventually(lambda: api.status("new"))


def test_what_changed_while_nobody_led_is_written_by_the_next_leader(api: FakeApi, start: Start) -> None:
    healthy(api)
    first = start(identity="first")
    api.eventually(ready(api))
    api.on(
        lambda one: one.of("leases") and one.method == "PUT",
        lambda handler, _one: handler.refuse(503),
        times=9,
    )
    first.stop()
    second = start(identity="second")
    api.eventually(lambda: second.page("/readyz")[0] == 200)
    edited = api.get("jointinferenceservices", "helmet")
    edited["metadata"]["generation"] = 2
    api.put("jointinferenceservices", edited)
    time.sleep(0.3)
    assert api.status("helmet")["observedGeneration"] == 1
    lease = api.get("leases", "reconciler", "sedna")
    api.put("leases", {**lease, "spec": {**lease["spec"], "holderIdentity": ""}})

    api.eventually(lambda: api.status("helmet")["observedGeneration"] == 2)


def test_without_election_no_lease_is_touched(api: FakeApi, start: Start) -> None:
    healthy(api)
    start(lease=None)
    api.eventually(ready(api))

    assert not [one for one in api.requests if one.of("leases")]


# --- living and ending


def test_stopping_writes_what_was_about_to_be_written_and_gives_the_lease_away(
    api: FakeApi, start: Start
) -> None:
    healthy(api)
    running = start(replace(QUICK, coalesce_least=0.3, coalesce_most=0.3, write_interval=0.01))
    api.eventually(ready(api))
    api.put("pods", crashing())
    time.sleep(0.1)
    running.stop()

    assert running.status == 0
    assert state(api) == "Failed"
    assert api.get("leases", "reconciler", "sedna")["spec"]["holderIdentity"] == ""
    assert [one.body["reason"] for one in api.seen("POST", "events")] == ["WorkerCrashLooping"]


def test_stopping_takes_no_longer_than_it_may_though_the_server_hangs(api: FakeApi, start: Start) -> None:
    healthy(api)
    running = start(replace(QUICK, drain=5.0))
    api.eventually(ready(api))
    hanging = threading.Event()
    api.on(lambda _request: True, lambda _handler, _request: hanging.wait(20), times=100)
    api.put("pods", crashing())
    api.eventually(lambda: len(writes(api)) == 2)
    began = time.monotonic()
    running.stop()
    hanging.set()

    assert time.monotonic() - began < 6
    assert running.status == 0


def test_a_thread_that_ends_before_its_time_ends_the_program(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reconciler.reflector.Reflector.run", lambda _self: None)
    running = start()
    running.thread.join(5)

    assert running.status == 1


def test_probes_and_metrics_are_served(api: FakeApi, start: Start) -> None:
    healthy(api)
    running = start()
    api.eventually(ready(api))

    assert running.page("/healthz") == (200, "ok\n")
    assert running.page("/readyz?verbose") == (200, "ok\n")
    assert running.page("/")[0] == 404
    assert running.page("/metrics")[0] == 200
    assert running.metric('cache_objects{kind="Pod"}') == 2
    api.eventually(lambda: running.metric("status_staleness_seconds_count") == 1)
    assert running.metric("leader_election_master_status") == 1
    for name in (
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds_count",
        "workqueue_work_duration_seconds_count",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries_total",
        'controller_runtime_reconcile_total{controller="jointinferenceservice",result="success"}',
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_reconcile_time_seconds_count",
        "controller_runtime_max_concurrent_reconciles",
        "controller_runtime_active_workers",
        'reflector_relists_total{kind="Pod",reason="start"}',
        "reflector_last_event_seconds",
    ):
        assert f"\n{name}" in running.page("/metrics")[1], name


def test_a_loop_that_hangs_is_no_good_health(api: FakeApi, start: Start) -> None:
    running = start()
    api.eventually(lambda: running.page("/readyz")[0] == 200)
    running.controller._reflectors[0]._turned -= 1000
    running.controller._lease_turned -= 1000

    code, text = running.page("/healthz")
    assert code == 503
    assert "reflector jointinferenceservices in all namespaces hangs" in text
