"""Conditions as a map by type: times, order, strangers, and texts that are safe to store."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler import conditions
from reconciler.conditions import Condition

OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"


def entry(kind: str, status: str = "True", reason: str = "Why", message: str = "text") -> dict[str, str]:
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    return said | {"lastHeartbeatTime": OLD, "lastTransitionTime": OLD}


def test_a_condition_that_says_the_same_is_kept_with_all_that_is_in_it() -> None:
    stored = entry("Ready") | {"observedGeneration": 3}
    assert conditions.set_condition(stored, Condition("Ready", "True", "Why", "text"), NEW) is stored


@pytest.mark.parametrize(
    ("wanted", "transition"),
    [
        pytest.param(Condition("Ready", "False", "Why", "text"), NEW, id="status"),
        pytest.param(Condition("Ready", "True", "Another", "text"), OLD, id="reason"),
        pytest.param(Condition("Ready", "True", "Why", "other"), OLD, id="message"),
    ],
)
def test_the_transition_moves_with_the_status_alone_and_the_heartbeat_with_every_change(
    wanted: Condition, transition: str
) -> None:
    found = conditions.set_condition(entry("Ready"), wanted, NEW)
    assert found == {**wanted._asdict(), "lastHeartbeatTime": NEW, "lastTransitionTime": transition}


def test_a_condition_that_is_new_begins_now() -> None:
    found = conditions.set_condition(None, Condition("Ready", "True", "Why", "text"), NEW)
    assert (found["lastHeartbeatTime"], found["lastTransitionTime"]) == (NEW, NEW)


def test_foreign_types_stay_as_found_before_ours() -> None:
    stored = conditions.read(
        {"conditions": [entry("Ready"), entry("Theirs"), entry("Gone"), entry("Others")]}
    )
    found = conditions.merge(
        stored, [Condition("Ready", "False", "A", "b")], frozenset({"Ready", "Gone"}), NEW
    )
    assert found[:2] == [entry("Theirs"), entry("Others")]
    assert [one["type"] for one in found] == ["Theirs", "Others", "Ready"]


def test_of_several_of_one_type_the_last_one_counts() -> None:
    stored = conditions.read({"conditions": [entry("Failed"), entry("Running"), entry("Failed", "False")]})
    assert list(stored) == ["Failed", "Running"]
    assert stored["Failed"]["status"] == "False"


@pytest.mark.parametrize(
    "status", [{}, {"conditions": None}, {"conditions": 3}, {"conditions": [3, {}, {"type": 1}]}]
)
def test_what_is_no_condition_is_none(status: dict[str, object]) -> None:
    assert conditions.read(status) == {}


def test_times_are_whole_seconds() -> None:
    assert conditions.timestamp(1767225600.999) == "2026-01-01T00:00:00Z"


# --- texts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\nb\r\n\tc", "a b c"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\ud800lone", "lone"),
        ("héllo 🚀", "héllo 🚀"),
        ("nul\x00", "nul"),
    ],
)
def test_control_characters_and_newlines_become_spaces(text: str, cleaned: str) -> None:
    assert conditions.clean(text) == cleaned


def test_a_message_is_cut_in_bytes_at_a_character() -> None:
    found = conditions.message("é" * 600)
    assert len(found.encode()) <= conditions.LONGEST_MESSAGE
    assert found.rstrip("…") == "é" * 510


@given(st.text(), st.text())
def test_every_message_is_short_clean_and_keeps_our_words_apart(own: str, quoted: str) -> None:
    found = conditions.message(own, quoted)
    assert len(found.encode()) <= conditions.LONGEST_MESSAGE
    assert found == conditions.clean(found)
    assert json.loads(json.dumps(found)) == found
    assert conditions.own_words(found) == conditions.own_words(
        conditions.message(own, "something else" * bool(quoted))
    )


def test_a_quotation_stands_in_quotes_after_our_words() -> None:
    found = conditions.message("pod a: waits", "no space\nleft")
    assert found == 'pod a: waits: "no space left"'
    assert conditions.own_words(found) == "pod a: waits"


def test_a_long_quotation_is_cut_and_closed() -> None:
    found = conditions.message("pod a", "x" * 5000)
    assert len(found.encode()) == conditions.LONGEST_MESSAGE
    assert found.endswith('x…"')


def test_somebody_elses_words_cannot_pose_as_the_border() -> None:
    assert conditions.own_words(conditions.message('reason: "forged', "quoted")) == "reason: 'forged"
