"""The published reasons, and the page that tells people about them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from reconciler.reasons import CRASHES, EVENT_REASONS, REASONS, SERVICE_REASONS, WORKER_REASONS
from reconciler.settings import Settings
from reconciler.status import OURS, RECONCILING, STALLED
from reconciler.verdict import TABLE

PAGE = (Path(__file__).parents[3] / "docs" / "conditions.md").read_text()


def section(heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1]


def cells(heading: str) -> list[list[str]]:
    rows = [line.strip("|").split("|") for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_a_reason_belongs_to_exactly_one_state() -> None:
    names = Counter(one.name for one in WORKER_REASONS)
    assert set(names.values()) == {1}
    assert all(one.state in ("Pending", "Running", "Failed") for one in WORKER_REASONS)
    assert not set(names) & set(SERVICE_REASONS)
    assert not set(names) & set(EVENT_REASONS)


def test_only_a_running_worker_can_be_ready_or_unknown() -> None:
    assert [one.name for one in WORKER_REASONS if one.ready == "True"] == ["WorkerReady"]
    assert {one.state for one in WORKER_REASONS if one.ready != "False"} == {"Running"}


def test_reasons_are_written_as_kubernetes_wants_them() -> None:
    for name in (*REASONS, *SERVICE_REASONS, *EVENT_REASONS):
        assert re.fullmatch(r"[A-Z][A-Za-z]*", name)
        assert len(name) <= 128, "an event refuses more"
    assert set(REASONS) > CRASHES


def test_the_page_has_every_reason_of_a_worker_as_it_is() -> None:
    rows = [[f"`{one.name}`", one.state, one.ready, one.meaning, one.remedy] for one in WORKER_REASONS]
    assert cells("Reasons of a worker") == rows


def test_the_page_has_the_other_reasons() -> None:
    both = {**SERVICE_REASONS, **EVENT_REASONS}
    assert cells("Other reasons") == [[f"`{name}`", text] for name, text in both.items()]


def test_the_page_has_every_condition() -> None:
    named = {name for row in cells("Conditions") for name in re.findall(r"`(\w+)`", row[0])}
    assert named == OURS
    assert {RECONCILING, STALLED} < OURS


def test_the_page_has_the_table_row_by_row() -> None:
    told = [row[0] for row in cells("How a worker is judged")]
    assert [one for one in told if not one.startswith("no pod")] == [name for name, _ in TABLE]


@pytest.mark.parametrize("reason", [one.name for one in WORKER_REASONS])
def test_every_reason_stands_in_the_table_of_verdicts(reason: str) -> None:
    if reason != "WorkerStarting":
        assert f"`{reason}`" in section("How a worker is judged")


def test_the_page_gives_the_durations_that_are_set() -> None:
    text = section("How a worker is judged")
    settings = Settings()
    for seconds in (
        settings.gone_grace,
        settings.progress_deadline,
        settings.terminating_grace,
        settings.unscheduled_grace,
        settings.not_acknowledged_grace,
        settings.image_grace,
        settings.not_ready_grace,
        settings.crash_recovery,
    ):
        assert re.search(rf"\b{seconds:g} s\b", text), seconds
