"""Bytes to records: what is kept, what is stepped over, and how little it costs."""

from __future__ import annotations

import copy
import gc
import json
import timeit
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler import decode
from reconciler.decode import NotAList, decode_event, decode_pod_list, decode_service_list
from reconciler.records import Bookmark, Failure, Pod, Poison, Service
from tests.reconciler.heart.world import (
    NOW,
    Object,
    condition,
    crash_loop,
    done,
    end,
    managed,
    pod,
    read,
    runs,
    service,
    waits,
)


def listed(*items: Any, version: str = "77", token: str = "") -> bytes:
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return json.dumps({"kind": "List", "metadata": metadata, "items": list(items)}).encode()


def event(kind: str, one: Any) -> bytes:
    return json.dumps({"type": kind, "object": one}).encode()


# --- what is kept -------------------------------------------------------------------------------------------------


def test_a_pod_is_read_whole() -> None:
    one = pod(
        {"model": crash_loop(137, "OOMKilled", restarts=4, message="killed")},
        init={"storage-initializer": done()},
        sidecars={"proxy": waits("ImagePullBackOff", "no such image")},
        policy="OnFailure",
        deleted=20,
        status={"reason": "NodeLost", "message": "gone"},
    )
    found = read(one)
    assert (found.namespace, found.name, found.uid, found.resource_version) == (
        *("default", "helmet-edge", "uid-of-helmet-edge", "100"),
    )
    assert (found.service, found.worker, found.node, found.restart_policy) == (
        "helmet",
        "edge",
        "edge-1",
        "OnFailure",
    )
    assert (found.created, found.deletion) == (NOW - 3600, NOW + 20)
    assert (found.phase, found.reason, found.message) == ("Running", "NodeLost", "gone")
    assert (found.ready.status, found.ready.reason, found.ready.transition) == (
        "False",
        "ContainersNotReady",
        NOW - 30,
    )
    assert (found.scheduled.status, found.containers_ready.status) == ("True", "False")
    model = found.containers[0]
    assert (model.name, model.role, model.state, model.reason, model.restarts) == (
        *("model", "main", "waiting", "CrashLoopBackOff", 4),
    )
    assert model.last is not None
    assert (model.last.exit_code, model.last.reason, model.last.message) == (137, "OOMKilled", "killed")
    assert model.last.finished - model.last.started == 10
    assert [(one.name, one.role, one.state) for one in found.init_containers] == [
        ("storage-initializer", "init", "terminated"),
        ("proxy", "sidecar", "waiting"),
    ]
    assert found.init_containers[1].message == "no such image"


def test_the_latest_end_of_a_container_that_has_ended_is_its_current_one() -> None:
    one = {**runs(), "state": {"terminated": end(2)}, "lastState": {"terminated": end(1)}, "ready": False}
    last = read(pod({"model": one})).containers[0].last
    assert last is not None
    assert last.exit_code == 2


def test_the_end_of_a_long_log_is_kept() -> None:
    last = read(pod({"model": crash_loop(message="x" * 4000 + "the reason")})).containers[0].last
    assert last is not None
    assert last.message.endswith("the reason")
    assert len(last.message) <= 1024


@pytest.mark.parametrize("key", ["labels", "ownerReferences"])
def test_null_is_absent_in_metadata(key: str) -> None:
    one = pod()
    one["metadata"][key] = None
    assert read(one).name == "helmet-edge"


@pytest.mark.parametrize("key", ["containerStatuses", "initContainerStatuses", "conditions"])
def test_null_is_absent_in_the_status(key: str) -> None:
    one = pod()
    one["status"][key] = None
    assert read(one).phase == "Running"


def test_a_pod_without_a_status_is_one() -> None:
    one = pod()
    del one["status"]
    assert read(one).phase == ""


def test_equal_things_are_one_thing() -> None:
    first, second = read(pod(name="helmet-edge-1")), read(pod(name="helmet-edge-2"))
    assert first.containers[0] is second.containers[0]
    assert first.ready is second.ready
    assert first.service is second.service


def test_a_service_keeps_its_status_as_it_is_stored() -> None:
    status = {
        "conditions": [{"type": "A", "status": "True", "more": [1]}],
        "metrics": [{"key": "k", "value": "1.50"}],
    }
    found = service(
        status, managedFields=[managed("sedna-gm", ["active", "metrics"]), managed("x", ["conditions"])]
    )
    assert found.status == status
    assert [(one.name, one.time, one.owns) for one in found.managers] == [
        ("sedna-gm", NOW, ("active",)),
        ("x", NOW, ("conditions",)),
    ]
    assert (found.generation, found.created, found.deleting) == (3, NOW - 3600, False)


def test_managers_of_other_parts_are_not_asked() -> None:
    spec = {
        "manager": "kubectl",
        "time": "2026-01-01T00:00:00Z",
        "fieldsV1": {"f:spec": {"f:edgeWorker": {}}},
    }
    assert service(managedFields=[spec]).managers == ()


@pytest.mark.parametrize("status", [b"", b"{}", b"[]", b"3", b"null", b'"text"', b"{", b'{"a":"\xff"}'])
def test_a_status_that_is_no_object_is_empty(status: bytes) -> None:
    assert Service("n", "s", "u", status_json=status).status == {}


# --- lists --------------------------------------------------------------------------------------------------------


def test_a_page_has_its_items_how_to_go_on_and_its_version() -> None:
    page = decode_pod_list(listed(pod(name="helmet-edge-1"), pod(name="helmet-edge-2"), token="more"))
    assert ([one.name for one in page.items], page.continue_token, page.resource_version, page.failures) == (
        *(["helmet-edge-1", "helmet-edge-2"], "more", "77", []),
    )


def test_an_empty_list_may_be_null() -> None:
    assert decode_service_list(b'{"metadata":{"resourceVersion":"5"},"items":null}').items == []


def poisons() -> dict[str, Any]:
    """Objects that no API server should send; some do."""
    found: dict[str, Any] = {
        "a number": 3,
        "null": None,
        "a list": [],
        "empty": {},
        "metadata null": {"metadata": None},
    }
    wrong: dict[str, tuple[str, str, Any]] = {
        "no name": ("metadata", "name", None),
        "a name that is a number": ("metadata", "name", 3),
        "no such date": ("metadata", "creationTimestamp", "2026-02-31T00:00:00Z"),
        "labels that are numbers": ("metadata", "labels", {"jointinferenceservice.sedna.io/name": 1}),
        "a list for a status": ("status", "containerStatuses", {"model": {}}),
        "text for an exit code": ("status", "conditions", [{"type": "Ready", "status": True}]),
        "a phase that is a number": ("status", "phase", 1),
    }
    for name, (part, key, value) in wrong.items():
        one = copy.deepcopy(pod(name="helmet-poison"))
        one[part][key] = value
        found[name] = one
    return found


@pytest.mark.parametrize("one", poisons().values(), ids=poisons())
def test_a_poisoned_object_is_counted_and_the_others_are_read(one: Any) -> None:
    page = decode_pod_list(listed(pod(name="helmet-edge-1"), one, pod(name="helmet-edge-2")))
    assert [good.name for good in page.items] == ["helmet-edge-1", "helmet-edge-2"]
    assert [bad.kind for bad in page.failures] == ["Pod"]
    assert page.failures[0].error
    assert page.resource_version == "77"


def test_a_poisoned_object_is_named_as_far_as_it_can_be() -> None:
    one = pod(name="helmet-poison")
    one["status"]["phase"] = 1
    (found,) = decode_pod_list(listed(one)).failures
    assert (found.namespace, found.name, found.resource_version) == ("default", "helmet-poison", "100")


def test_bytes_that_are_no_utf_8_spoil_one_object_only() -> None:
    body = listed(pod(name="helmet-edge-1"), pod(name="helmet-edge-2")).replace(
        b"uid-of-helmet-edge-2", b"\xff\xfe"
    )
    page = decode_pod_list(body)
    assert ([one.name for one in page.items], len(page.failures)) == (["helmet-edge-1"], 1)


def test_a_poisoned_service_is_stepped_over() -> None:
    good = {"metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}}
    page = decode_service_list(listed(good, {"metadata": {"name": "x", "generation": "one"}}))
    assert ([one.name for one in page.items], [one.name for one in page.failures]) == (["a"], ["x"])


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"metadata":{}', b"null", b"\xff", b"[" * 100_000]
)
def test_a_body_that_is_no_list_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(NotAList):
        decode_pod_list(body)
    with pytest.raises(NotAList):
        decode_service_list(body)


# --- a watch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_an_event_carries_its_object(kind: str) -> None:
    found = decode_event(event(kind, pod()), "Pod")
    assert found.type == kind
    assert isinstance(found.object, Pod)
    metadata = {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}
    assert isinstance(
        decode_event(event(kind, {"metadata": metadata}), "JointInferenceService").object, Service
    )


def test_a_bookmark_carries_a_version() -> None:
    one = {
        "kind": "Pod",
        "metadata": {"resourceVersion": "99", "creationTimestamp": None},
        "spec": {"containers": None},
    }
    assert decode_event(event("BOOKMARK", one), "Pod") == ("BOOKMARK", Bookmark("99"))


def test_an_error_carries_its_status() -> None:
    one = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
    assert decode_event(event("ERROR", one), "Pod") == ("ERROR", Failure(410, "Expired", "too old"))


@pytest.mark.parametrize("one", poisons().values(), ids=poisons())
def test_a_poisoned_event_still_has_its_type(one: Any) -> None:
    found = decode_event(event("MODIFIED", one), "Pod")
    assert found.type == "MODIFIED"
    assert isinstance(found.object, Poison)


def test_a_watch_can_go_on_from_a_poisoned_event() -> None:
    one = pod()
    one["spec"] = "nothing"
    found = decode_event(event("ADDED", one), "Pod").object
    assert isinstance(found, Poison)
    assert found.resource_version == "100"


@given(
    st.binary(max_size=200)
    | st.sampled_from([event("ADDED", pod())]).flatmap(
        lambda one: st.integers(0, len(one)).map(lambda at: one[:at])
    )
)
def test_no_line_of_any_bytes_raises(line: bytes) -> None:
    assert isinstance(decode_event(line, "Pod").object, (Pod, Service, Bookmark, Failure, Poison))


@pytest.mark.parametrize("body", [b"", b"<html>", b"3", b"\xff"])
def test_a_failure_that_is_no_status_is_empty(body: bytes) -> None:
    assert decode.decode_failure(body) == Failure()


# --- cost ---------------------------------------------------------------------------------------------------------


def real_sized(number: int) -> Object:
    """A pod of about 9 kB, as API servers send them: most of it managedFields and spec."""
    one = pod(name=f"helmet-edge-{number}", init={"storage-initializer": done()}, node=f"edge-{number % 50}")
    env = [{"name": f"VARIABLE_{i}", "value": "v" * 30} for i in range(40)]
    mounts = [{"name": f"volume-{i}", "mountPath": f"/data/{i}", "readOnly": True} for i in range(10)]
    one["spec"]["containers"][0] |= {"env": env, "volumeMounts": mounts}
    one["spec"]["volumes"] = [
        {"name": f"volume-{i}", "hostPath": {"path": f"/data/{i}", "type": ""}} for i in range(10)
    ]
    fields: dict[str, Any] = {
        f'k:{{"name":"VARIABLE_{i}"}}': {".": {}, "f:name": {}, "f:value": {}} for i in range(50)
    }
    one["metadata"]["managedFields"] = [{"manager": "kube", "fieldsV1": {"f:spec": {"f:env": fields}}}]
    one["status"]["conditions"] += [
        condition("Initialized", "True"),
        condition("PodReadyToStartContainers", "True"),
    ]
    return one


@pytest.fixture(scope="module")
def page() -> bytes:
    return listed(*(real_sized(number) for number in range(500)))


def test_decoding_is_several_times_as_fast_as_reading_the_json(page: bytes) -> None:
    """In absolute numbers: 20,000 such pods in about one second of a core."""
    assert 8_000 < len(page) / 500 < 10_000

    def seconds(work: Any) -> float:
        return min(timeit.repeat(lambda: work(page), number=1, repeat=7))

    assert seconds(decode_pod_list) * 1.5 < seconds(json.loads)


def test_a_pod_that_is_well_takes_less_than_a_kilobyte(page: bytes) -> None:
    decode_pod_list(page)  # what is shared is made once
    tracemalloc.start()
    try:
        pods = decode_pod_list(page).items
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / len(pods) < 1000
