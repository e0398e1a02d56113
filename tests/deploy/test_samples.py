"""The samples of status are such as the contract allows: what the other tests of this folder stand on."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from reconciler.reasons import REASONS, SERVICE_REASONS

STATES = ("Pending", "Running", "Failed")
WORKERS = ("CloudWorkerReady", "EdgeWorkerReady")
ORDER = (*WORKERS, "Active", "Ready", "Reconciling", "Stalled")


@pytest.fixture
def conditions(written: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The conditions by type."""
    found = written["object"]["status"]["conditions"]
    by_type = {one["type"]: one for one in found}
    assert len(by_type) == len(found), "one of each type"
    return by_type


def test_exactly_one_state_is_true_and_it_comes_last(conditions: dict[str, dict[str, Any]]) -> None:
    *_, first, second, last = conditions.values()
    assert {first["type"], second["type"], last["type"]} == set(STATES)
    assert [first["status"], second["status"], last["status"]] == ["False", "False", "True"]


def test_the_others_come_before_in_their_order(conditions: dict[str, dict[str, Any]]) -> None:
    assert list(conditions)[:-3] == [name for name in ORDER if name in conditions]
    assert {*WORKERS, "Active", "Ready"} <= conditions.keys()


def test_stalled_means_failed_and_reconciling_means_on_the_way(
    conditions: dict[str, dict[str, Any]],
) -> None:
    failed = conditions["Failed"]["status"] == "True"
    assert ("Stalled" in conditions) == failed
    under_way = not failed and any(conditions[worker]["status"] == "False" for worker in WORKERS)
    assert ("Reconciling" in conditions) == under_way
    assert {conditions[name]["status"] for name in ("Stalled", "Reconciling") if name in conditions} <= {
        "True"
    }


def test_ready_is_the_sum_of_the_workers(conditions: dict[str, dict[str, Any]]) -> None:
    bad = [worker for worker in WORKERS if conditions[worker]["status"] != "True"]
    assert (conditions["Ready"]["status"] == "True") == (not bad)
    if bad:
        assert conditions["Ready"]["reason"] == conditions[bad[0]]["reason"], (
            "the cloud's, where both are bad"
        )
        assert all(conditions[worker]["message"] in conditions["Ready"]["message"] for worker in bad)


def test_an_entry_is_written_when_it_changes_and_never_later_than_it_says(
    conditions: dict[str, dict[str, Any]],
) -> None:
    for one in conditions.values():
        changed, told = (
            dt.datetime.fromisoformat(one[key]) for key in ("lastTransitionTime", "lastHeartbeatTime")
        )
        assert changed <= told


def test_a_workers_reason_is_published_and_means_its_status(
    conditions: dict[str, dict[str, Any]],
) -> None:
    for worker in WORKERS:
        assert conditions[worker]["status"] == REASONS[conditions[worker]["reason"]].ready


def test_the_state_is_the_worst_of_the_workers(conditions: dict[str, dict[str, Any]]) -> None:
    states = {REASONS[conditions[worker]["reason"]].state for worker in WORKERS}
    (true,) = [name for name in STATES if conditions[name]["status"] == "True"]
    assert true == min(states, key=("Failed", "Pending", "Running").index)


def test_the_others_reasons_are_published_and_messages_are_short_lines(
    conditions: dict[str, dict[str, Any]],
) -> None:
    for one in conditions.values():
        assert one["reason"] in REASONS.keys() | SERVICE_REASONS.keys()
        assert one["message"].isprintable()
        assert len(one["message"].encode()) <= 1024


def test_failed_counts_the_workers_that_failed(
    written: dict[str, Any], conditions: dict[str, dict[str, Any]]
) -> None:
    states = [REASONS[conditions[worker]["reason"]].state for worker in WORKERS]
    assert written["object"]["status"]["failed"] == states.count("Failed")


def test_every_judgement_occurs(samples: list[dict[str, Any]]) -> None:
    expected = [one["expect"] for one in samples]
    assert {one["argocd"] for one in expected} == {"Healthy", "Progressing", "Degraded", "Suspended"}
    for judge in ("flux", "flux_edge_may_be_away", "kstatus"):
        assert {one[judge] for one in expected} == {"Current", "InProgress", "Failed"}
