"""From pods to a status and back, through a real API server, node controller and the rights of deploy/."""

from __future__ import annotations

import time  # noqa: TID251 - watches a program that has its own clock

import pytest

from tests.controlplane import pod_states
from tests.controlplane.plane import wait_until
from tests.reconciler.real.site import (
    CRASH,
    GONE,
    IMAGE,
    NAME,
    NODES,
    OWN,
    Program,
    Site,
    conditions,
    holder,
    summary,
)

QUIET = 4.0  # seconds; longer than any grace of these tests


@pytest.fixture
def ready(site: Site, reconciler: Program) -> Site:
    """A service whose workers run and are ready, and are said to be."""
    assert reconciler.alive
    site.create()
    site.wait_until_ready()
    return site


def test_what_runs_is_ready_and_then_nothing_is_written(ready: Site, reconciler: Program) -> None:
    status = ready.status()
    told = conditions(status)

    assert (status["active"], status["failed"]) == (2, 0)
    assert {name: one["status"] for name, one in told.items()} == {
        "CloudWorkerReady": "True",
        "EdgeWorkerReady": "True",
        "Active": "True",
        "Ready": "True",
        "Pending": "False",
        "Failed": "False",
        "Running": "True",
    }
    assert list(told)[-1] == "Running"

    version, end = ready.version(), time.monotonic() + QUIET
    while time.monotonic() < end:
        assert ready.version() == version
        time.sleep(0.1)
    assert reconciler.writes(ready) in (["written"] * count for count in (1, 2, 3))


def test_another_start_over_an_unchanged_world_writes_nothing(ready: Site, reconciler: Program) -> None:
    reconciler.stop()
    version, before = ready.version(), reconciler.logged
    reconciler.start()

    wait_until(lambda: reconciler.is_synced(before), "the second start to have listed")
    wait_until(lambda: holder(ready.plane) == reconciler.name, "the second start to lead")
    # The last question before a first write, and the answer of Sedna's definition.
    asked = "unknown field"
    wait_until(lambda: asked in reconciler.log_since(before), "the second start to look at a service")
    time.sleep(1)

    assert ready.version() == version
    assert reconciler.writes(ready, before) == []


def test_a_crash_loop_is_a_failure_until_it_has_run_for_long_enough(ready: Site) -> None:
    ready.set("cloud", pod_states.with_(pod_states.crash_loop, exit_code=3))
    status = ready.wait_for("Failed Ready=False/WorkerCrashLooping")
    told = conditions(status)

    assert (told["Failed"]["status"], told["Running"]["status"], status["failed"]) == ("True", "False", 1)
    assert "Stalled" in told
    assert "exit code 3" in told["CloudWorkerReady"]["message"]
    assert told["EdgeWorkerReady"]["status"] == "True"

    # Between two crashes it is ready, and not well.
    began = time.monotonic()
    ready.set("cloud", pod_states.with_(pod_states.restarted, exit_code=3, restarts=3))
    status = ready.wait_until_ready()

    assert time.monotonic() - began >= CRASH
    assert "Stalled" not in conditions(status)
    assert status["failed"] == 0
    wait_until(lambda: ("Warning", "WorkerCrashLooping") in ready.events(), "an event of the crash")


def test_an_image_that_cannot_be_pulled_is_a_failure_after_its_grace(site: Site, reconciler: Program) -> None:
    site.kubelet.script = lambda pod: (
        pod_states.image_pull_error if pod["metadata"]["name"].endswith("-edge") else pod_states.running
    )
    began = time.monotonic()
    site.create()
    site.wait_for("Pending Ready=False/WorkerStarting")
    status = site.wait_for("Failed Ready=False/WorkerImageError")

    assert time.monotonic() - began >= IMAGE
    assert "registry.example.com/helmet-little:1.4" in conditions(status)["EdgeWorkerReady"]["message"]
    # The kubelet's two spellings of it take turns; that is no change.
    version, writes = site.version(), len(reconciler.writes(site))
    site.set("edge", pod_states.with_(pod_states.image_pull_error, backing_off=False))
    time.sleep(1.5)
    assert (site.version(), len(reconciler.writes(site))) == (version, writes)
    site.set("edge", pod_states.running)
    site.wait_until_ready()


def test_an_edge_that_is_away_is_unreachable_and_no_failure(ready: Site) -> None:
    ready.kubelet.go_offline(NODES["edge"])
    status = ready.wait_for("Running Ready=Unknown/EdgeUnreachable", 60)
    told = conditions(status)

    assert (status["active"], status["failed"]) == (2, 0)
    assert told["Failed"]["status"] == "False"
    assert told["EdgeWorkerReady"]["status"] == "Unknown"
    assert told["CloudWorkerReady"]["status"] == "True"
    assert not {"Stalled", "Reconciling"} & set(told)

    ready.kubelet.come_back(NODES["edge"])
    ready.wait_until_ready()


def test_a_pod_that_is_deleted_is_gone_after_its_grace_and_may_come_again(ready: Site) -> None:
    began = time.monotonic()
    ready.plane.delete("Pod", ready.namespace, f"{NAME}-cloud")
    wait_until(lambda: ready.plane.get("Pod", ready.namespace, f"{NAME}-cloud") is None, "the pod to go")
    assert not summary(ready.status()).startswith("Failed")
    status = ready.wait_for("Failed Ready=False/WorkerGone")

    assert time.monotonic() - began >= GONE
    assert (status["active"], status["failed"]) == (1, 1)
    assert conditions(status)["Active"]["status"] == "False"
    ready.create_pod("cloud")
    ready.wait_until_ready()


def test_what_sednas_controller_left_collapses_and_its_metrics_stay(site: Site, reconciler: Program) -> None:
    reconciler.stop()
    site.create()
    metrics = [{"key": "mAP", "value": "0.91"}, {"key": "rate", "value": "0.2"}]
    left = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-03-01T08:00:05Z"}
        for kind in ("Running", "Failed", "Running", "Failed")
    ]
    foreign = {"type": "Audited", "status": "True", "reason": "ByHand"}
    start = "2026-03-01T08:00:00Z"
    site.patch_status(
        {
            "active": 1,
            "failed": -1,
            "startTime": start,
            "conditions": [*left, foreign],
            "metrics": metrics,
        }
    )
    reconciler.start()
    status = site.wait_until_ready()

    told = conditions(status)
    assert next(iter(told)) == "Audited"
    assert foreign.items() <= told["Audited"].items()
    assert [told[kind]["status"] for kind in ("Pending", "Failed", "Running")] == ["False", "False", "True"]
    assert (status["active"], status["failed"]) == (2, 0)
    assert status["metrics"] == metrics
    assert status["startTime"] == start
    managers = {one["manager"] for one in site.service()["metadata"]["managedFields"]}
    assert OWN in managers
