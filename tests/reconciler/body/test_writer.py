from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.records import Service
from reconciler.time_source import SYSTEM
from reconciler.transport import Answer, Transport
from reconciler.writer import Bucket, Outcome, Result, StatusWriter, outcome_of
from tests.reconciler.body.fake_api import NAMESPACE, FakeApi, Handler, Request, service, status_of

PATCH = {"status": {"active": 2}}


def stored(api: FakeApi) -> Service:
    made = api.put("jointinferenceservices", service())
    return Service(NAMESPACE, "helmet", "uid-of-helmet", made["metadata"]["resourceVersion"], generation=3)


@pytest.fixture
def writer(transport: Transport) -> StatusWriter:
    return StatusWriter(transport, lambda: True, timeout=1.0)


def test_it_patches_the_status_alone_as_itself_at_the_version_that_it_knows(
    api: FakeApi, writer: StatusWriter
) -> None:
    known = stored(api)
    outcome = writer.write(known, PATCH)

    (request,) = api.seen("PATCH", "jointinferenceservices")
    assert (
        request.path == f"/apis/sedna.io/v1alpha1/namespaces/{NAMESPACE}/jointinferenceservices/helmet/status"
    )
    assert request.query == {"fieldManager": "sedna-reconciler"}
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert request.body == {**PATCH, "metadata": {"resourceVersion": known.resource_version}}
    assert outcome.result is Result.WRITTEN
    assert outcome.service is not None
    assert outcome.service.resource_version == str(api.version)


def test_a_version_that_is_not_the_latest_is_a_conflict_and_is_not_tried_again(
    api: FakeApi, writer: StatusWriter
) -> None:
    known = stored(api)
    stored(api)

    assert writer.write(known, PATCH).result is Result.CONFLICT
    assert len(api.seen("PATCH", "jointinferenceservices")) == 1


def test_a_patch_that_changes_nothing_is_told_apart(api: FakeApi, writer: StatusWriter) -> None:
    api.put("jointinferenceservices", service(active=2))
    made = api.get("jointinferenceservices", "helmet")
    known = Service(NAMESPACE, "helmet", "u", made["metadata"]["resourceVersion"])

    assert writer.write(known, PATCH).result is Result.NOOP


def test_nothing_is_sent_without_the_lease(api: FakeApi, transport: Transport) -> None:
    outcome = StatusWriter(transport, lambda: False).write(stored(api), PATCH)

    assert outcome.result is Result.NOT_LEADING
    assert not api.seen("PATCH", "jointinferenceservices")


def refused(code: int, message: str = "", retry_after: float = 0.0) -> Answer:
    return Answer(code, json.dumps(status_of(code, "", message)).encode(), retry_after)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        pytest.param(refused(404), Result.GONE, id="404"),
        pytest.param(refused(409), Result.CONFLICT, id="409"),
        pytest.param(refused(400), Result.REFUSED, id="400"),
        pytest.param(refused(422), Result.REFUSED, id="422"),
        pytest.param(refused(413), Result.REFUSED, id="413"),
        pytest.param(refused(500, "etcdserver: request is too large"), Result.REFUSED, id="500 of etcd"),
        pytest.param(
            refused(500, "rpc error: trying to send message larger than max (3 vs. 2)"),
            Result.REFUSED,
            id="500 of gRPC",
        ),
        pytest.param(refused(500, "etcdserver: request timed out"), Result.ERROR, id="500"),
        pytest.param(refused(502), Result.ERROR, id="502"),
        pytest.param(refused(403, "forbidden"), Result.ERROR, id="403"),
        pytest.param(refused(401), Result.ERROR, id="401"),
        pytest.param(refused(429, retry_after=2.0), Result.THROTTLED, id="429"),
        pytest.param(refused(503), Result.THROTTLED, id="503"),
        pytest.param(Answer(503, b"<html>busy"), Result.THROTTLED, id="503 in HTML"),
        pytest.param(Answer(200, b"<html>login"), Result.ERROR, id="200 in HTML"),
        pytest.param(Answer(200, b""), Result.ERROR, id="200 and nothing"),
    ],
)
def test_what_an_answer_means(answer: Answer, result: Result) -> None:
    outcome = outcome_of(answer, "1")

    assert outcome.result is result
    assert outcome.retry_after == answer.retry_after
    assert outcome.service is None


def test_what_the_server_said_is_kept_for_people() -> None:
    assert outcome_of(refused(422, "status.active: must be a number"), "1").message == (
        "422: status.active: must be a number"
    )


def test_a_cut_connection_is_an_error(api: FakeApi, writer: StatusWriter) -> None:
    known = stored(api)
    api.on(lambda request: request.method == "PATCH", lambda handler, _request: handler.cut())

    outcome = writer.write(known, PATCH)
    assert outcome.result is Result.ERROR
    assert len(api.seen("PATCH", "jointinferenceservices")) == 1


@pytest.mark.parametrize(
    ("kept", "keeps"), [(None, True), ({"active"}, False)], ids=["our schema", "Sedna's schema"]
)
def test_a_dry_run_tells_whether_the_schema_keeps_observedGeneration(
    api: FakeApi, writer: StatusWriter, kept: set[str] | None, keeps: bool
) -> None:
    api.kept_status = kept
    known = stored(api)
    version = api.version

    assert writer.keeps_observed_generation(known) is keeps
    (request,) = api.seen("PATCH", "jointinferenceservices")
    assert request.query["dryRun"] == "All"
    assert api.version == version


@pytest.mark.parametrize(("code", "keeps"), [(422, False), (500, None), (404, None), (403, None)], ids=str)
def test_a_dry_run_that_fails_tells_only_what_it_tells(
    api: FakeApi, writer: StatusWriter, code: int, keeps: bool | None
) -> None:
    def refuse(handler: Handler, _request: Request) -> None:
        handler.refuse(code)

    api.on(lambda request: request.method == "PATCH", refuse)

    assert writer.keeps_observed_generation(stored(api)) is keeps


class Clock:
    now = 0.0


def bucket_of(clock: Clock) -> Bucket:
    return Bucket(SYSTEM._replace(monotonic=lambda: clock.now), rate=100.0, burst=200.0)


def test_the_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    bucket = bucket_of(clock)

    assert [bucket.take() for _ in range(200)] == [0.0] * 200
    assert bucket.take() == pytest.approx(0.01)
    clock.now += 0.5
    assert [bucket.take() == 0 for _ in range(51)] == [True] * 50 + [False]


def test_the_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    bucket = bucket_of(clock)
    clock.now += 1000

    assert sum(bucket.take() == 0 for _ in range(300)) == 200


def test_a_server_that_asks_us_to_wait_stops_all_of_us() -> None:
    clock = Clock()
    bucket = bucket_of(clock)
    bucket.pause(3)
    bucket.pause(1)

    assert bucket.take() == pytest.approx(3)
    clock.now += 3
    assert bucket.take() == 0


def test_outcomes_without_a_service_have_one_shape() -> None:
    empty: Any = Outcome(Result.NOT_LEADING)

    assert empty == (Result.NOT_LEADING, None, "", 0.0)
