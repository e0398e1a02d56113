"""NodePort numbers: annotation, lock file, choice; unique, repeatable, never silently moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import names, node_ports
from sedna_render.node_ports import Assigned, allocate

SMALL = range(100, 132)  # band 100-115
TINY = range(200, 204)  # no band at all


def keys(count: int) -> list[str]:
    return [f"default/s{index}" for index in range(count)]


def numbers(allocation: node_ports.Allocation) -> dict[str, int]:
    return {key: found.number for key, found in allocation.numbers.items()}


def problems(allocation: node_ports.Allocation) -> list[tuple[str, str, str]]:
    return [(found.key, found.rule, found.severity) for found in allocation.problems]


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("30000-32767", range(30000, 32768), id="the default"),
        pytest.param("1-65535", range(1, 65536), id="all ports"),
        pytest.param("80-80", range(80, 81), id="one port"),
        pytest.param("0-10", "has a number that is no port (1 to 65535)", id="port 0"),
        pytest.param("1-65536", "has a number that is no port (1 to 65535)", id="port 65536"),
        pytest.param("31000-30000", "begins above its end (31000 > 30000)", id="backwards"),
        *[
            pytest.param(
                text,
                "is not written as two port numbers with a '-' between them, such as 30000-32767",
                id=ascii(text),
            )
            for text in (
                "",
                "30000",
                "30000-",
                "-30000",
                "30000 - 32767",
                "a-b",
                "30000-32767\n",
                "1-2-3",
                "1-999999",
                "٣-٤",
            )
        ],
    ],
)
def test_a_range_is_read_or_it_is_said_what_is_wrong(text: str, expected: range | str) -> None:
    assert node_ports.parse_range(text) == expected


@pytest.mark.parametrize(
    "size, band_size",
    [(1, 0), (16, 0), (17, 16), (32, 16), (512, 16), (544, 17), (2768, 86), (4096, 128), (10000, 128)],
)
def test_the_static_band_is_that_of_kubernetes(size: int, band_size: int) -> None:
    assert node_ports.band(range(1000, 1000 + size)) == range(1000, 1000 + band_size)


@pytest.mark.parametrize(
    "key, number",
    [("default/helmet-detection", 30071), ("site-b/helmet-detection", 30054), ("default/a", 30014)],
)
def test_the_number_chosen_for_a_service_never_changes(key: str, number: int) -> None:
    assert allocate({key: None}, {}).numbers == {key: Assigned(number, "chosen", in_band=True)}


def test_the_number_of_an_annotation_comes_before_the_lock_file() -> None:
    allocation = allocate({"a/x": 30500}, {"a/x": 30001})

    assert allocation.numbers == {"a/x": Assigned(30500, "annotation", in_band=False)}
    assert allocation.lock == {"a/x": 30500}
    assert allocation.problems == []


def test_the_lock_file_comes_before_a_choice() -> None:
    allocation = allocate({"a/x": None, "a/y": None}, {"a/x": 30001, "a/y": 31000})

    assert allocation.numbers == {
        "a/x": Assigned(30001, "recorded", in_band=True),
        "a/y": Assigned(31000, "recorded", in_band=False),
    }


def test_the_next_free_number_is_taken_upward() -> None:
    start = 100 + names.stable_hash("a/x") % 16
    above = 100 + (start - 100 + 1) % 16

    assert numbers(allocate({"a/x": None}, {"b/y": start}, port_range=SMALL)) == {"a/x": above}


def test_the_band_is_searched_round_to_its_start() -> None:
    taken = {f"b/s{number}": number for number in range(100, 116) if number != 100}

    assert numbers(allocate({"a/x": None}, taken, port_range=SMALL)) == {"a/x": 100}


def test_a_full_band_is_left_upward_and_marked() -> None:
    taken = {f"b/s{number}": number for number in range(100, 117)}

    allocation = allocate({"a/x": None, "a/y": None}, taken, port_range=SMALL)

    assert allocation.numbers == {
        "a/x": Assigned(117, "chosen", in_band=False),
        "a/y": Assigned(118, "chosen", in_band=False),
    }


def test_a_small_range_has_no_band_and_is_filled_from_its_start() -> None:
    assert allocate({"a/x": None, "a/y": None}, {"b/z": 200}, port_range=TINY).numbers == {
        "a/x": Assigned(201, "chosen", in_band=False),
        "a/y": Assigned(202, "chosen", in_band=False),
    }


def test_a_number_in_the_lock_file_is_taken_though_its_service_is_not_here() -> None:
    start = names.stable_hash("a/x") % 86 + 30000

    allocation = allocate({"a/x": None}, {"elsewhere/y": start})

    assert allocation.numbers["a/x"].number != start
    assert allocation.lock == {"a/x": allocation.numbers["a/x"].number, "elsewhere/y": start}


def test_a_freed_number_leaves_the_lock_file_but_is_not_given_out_again() -> None:
    start = names.stable_hash("a/x") % 86 + 30000

    allocation = allocate({"a/x": None}, {"a/old": start}, freed=["a/old"])

    assert allocation.numbers["a/x"].number not in (start, 0)
    assert "a/old" not in allocation.lock


def test_a_freed_number_is_given_out_when_no_other_is_free_even_above_the_band() -> None:
    taken = {f"b/s{number}": number for number in range(100, 130)}

    allocation = allocate(
        {"a/x": None, "a/y": None, "a/z": None}, {**taken, "a/old": 130}, freed=["a/old"], port_range=SMALL
    )

    assert numbers(allocation) == {"a/x": 131, "a/y": 130}
    assert problems(allocation) == [("a/z", "nodeport-range", "error")]


def test_the_number_that_an_annotation_replaces_counts_as_freed() -> None:
    taken = {f"b/s{number}": number for number in range(201, 203)}

    assert numbers(
        allocate({"a/x": 203, "a/y": None}, {**taken, "a/x": 200}, port_range=range(200, 205))
    ) == {
        "a/x": 203,
        "a/y": 204,
    }


def test_a_service_that_is_here_is_never_freed() -> None:
    assert numbers(allocate({"a/x": None}, {"a/x": 30007}, freed=["a/x"])) == {"a/x": 30007}


def test_two_annotations_with_one_number_name_each_other() -> None:
    allocation = allocate({"a/x": 30001, "a/y": 30001, "a/z": None}, {})

    assert [(found.key, found.message) for found in allocation.problems] == [
        ("a/x", "the NodePort 30001 is also that of a/y (its annotation)"),
        ("a/y", "the NodePort 30001 is also that of a/x (its annotation)"),
    ]
    assert list(allocation.numbers) == ["a/z"]
    assert {found.remedy for found in allocation.problems} == {"choose another number for one of them"}


def test_an_annotation_never_moves_a_service_that_has_the_number() -> None:
    allocation = allocate({"a/new": 30001, "a/old": None}, {"a/old": 30001})

    assert [(found.key, found.message, found.remedy) for found in allocation.problems] == [
        (
            "a/new",
            "the NodePort 30001 is also that of a/old (recorded in sedna-render.lock)",
            "choose another number for one of them",
        ),
        (
            "a/old",
            "the NodePort 30001 is also that of a/new (its annotation)",
            "give a/new another number, or delete the line of a/old in sedna-render.lock to move this one",
        ),
    ]
    assert allocation.lock == {"a/old": 30001}


def test_an_annotation_with_the_number_of_a_service_that_is_not_here_tells_the_way_out() -> None:
    allocation = allocate({"a/new": 30001}, {"a/gone": 30001})

    assert [(found.key, found.remedy) for found in allocation.problems] == [
        ("a/new", "choose another number; if a/gone is gone, delete its line in sedna-render.lock")
    ]


def test_a_clash_of_many_names_five_and_counts_the_rest() -> None:
    allocation = allocate(dict.fromkeys(keys(9), 30001), {})

    assert len(allocation.problems) == 9
    assert allocation.problems[0].message.endswith("default/s5 (its annotation) and 3 more")


@pytest.mark.parametrize(
    "requests, recorded",
    [
        pytest.param({"a/new": 30001}, {"a/old": 30001}, id="of a service that is gone"),
        pytest.param({"a/new": 30001, "a/old": 30002}, {"a/old": 30001}, id="of a service that moves"),
    ],
)
def test_an_annotation_with_a_number_given_up_in_this_run_is_a_warning(
    requests: dict[str, int | None], recorded: dict[str, int]
) -> None:
    allocation = allocate(requests, recorded, freed=["a/old"])

    assert problems(allocation) == [("a/new", "nodeport-clash", "warning")]
    assert "given up by a/old" in allocation.problems[0].message
    assert numbers(allocation) == requests
    assert allocation.lock == requests


@pytest.mark.parametrize(
    "requests, recorded, message",
    [
        pytest.param(
            {"a/x": 80},
            {},
            "the NodePort 80 of its annotation is outside the range 30000-32767",
            id="annotation",
        ),
        pytest.param(
            {"a/x": None},
            {"a/x": 32768},
            "the NodePort 32768 recorded in sedna-render.lock is outside the range 30000-32767",
            id="lock file",
        ),
    ],
)
def test_a_number_outside_the_range_is_an_error(
    requests: dict[str, int | None], recorded: dict[str, int], message: str
) -> None:
    allocation = allocate(requests, recorded)

    assert [(found.rule, found.message) for found in allocation.problems] == [("nodeport-range", message)]
    assert allocation.numbers == {}
    assert allocation.lock == recorded


def test_an_exhausted_range_is_an_error_of_those_left_over() -> None:
    allocation = allocate(dict.fromkeys(keys(6)), {}, port_range=TINY)

    assert len(allocation.numbers) == 4
    assert problems(allocation) == [
        ("default/s4", "nodeport-range", "error"),
        ("default/s5", "nodeport-range", "error"),
    ]


def test_the_default_range_serves_2768_services_and_not_one_more() -> None:
    allocation = allocate(dict.fromkeys(keys(2769)), {})

    assert sorted(numbers(allocation).values()) == list(range(30000, 32768))
    assert len(allocation.problems) == 1


KEYS = st.sampled_from([f"{namespace}/s{index}" for namespace in "ab" for index in range(12)])
REQUESTS = st.dictionaries(KEYS, st.none() | st.integers(98, 134), max_size=24)
RECORDED = st.dictionaries(KEYS, st.integers(98, 134), max_size=24)


@given(REQUESTS, RECORDED, st.sets(KEYS), st.sampled_from([SMALL, TINY, range(100, 117)]), st.randoms())
def test_numbers_are_unique_in_the_range_and_independent_of_the_order(
    requests: dict[str, int | None],
    recorded: dict[str, int],
    freed: set[str],
    port_range: range,
    random: object,
) -> None:
    allocation = allocate(requests, recorded, freed, port_range)
    used = numbers(allocation)

    assert len(set(used.values())) == len(used)
    assert all(number in port_range for number in used.values())
    assert all(used[key] == asked for key, asked in requests.items() if asked is not None and key in used)
    assert all(used[key] == recorded[key] for key in used if requests[key] is None and key in recorded)
    others = {number for key, number in recorded.items() if key not in requests and key not in freed}
    assert others.isdisjoint(used.values())
    errors = {found.key for found in allocation.problems if found.severity == "error"}
    assert errors == requests.keys() - used.keys()

    shuffled = list(requests.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert allocate(dict(shuffled), dict(reversed(recorded.items())), sorted(freed), port_range) == allocation


@given(st.dictionaries(KEYS, st.none(), max_size=20), KEYS)
def test_with_the_lock_file_a_new_service_moves_no_other_and_a_second_run_changes_nothing(
    requests: dict[str, int | None], new: str
) -> None:
    before = allocate(requests, {}, port_range=SMALL)
    after = allocate({new: None, **requests}, before.lock, port_range=SMALL)
    again = allocate({new: None, **requests}, after.lock, port_range=SMALL)

    assert before.lock.items() <= after.lock.items()
    assert again.lock == after.lock
    assert numbers(again) == numbers(after)


@given(st.lists(KEYS, unique=True, min_size=1, max_size=20), st.integers(0, 19))
def test_a_service_that_goes_moves_no_other(services: list[str], index: int) -> None:
    before = allocate(dict.fromkeys(services), {}, port_range=SMALL)
    gone = services[index % len(services)]
    after = allocate(dict.fromkeys(set(services) - {gone}), before.lock, [gone], SMALL)

    assert after.lock == {key: number for key, number in before.lock.items() if key != gone}
