from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cache import EVERYWHERE, Cache, Key
from reconciler.records import Pod, Service


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def make_pod(name: str, service: str = "s", namespace: str = "n", version: str = "1") -> Pod:
    return Pod(namespace, name, f"uid-{name}", version, service)


def make_service(name: str = "s", version: str = "1", namespace: str = "n") -> Service:
    return Service(namespace, name, f"uid-{name}", version)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> Cache:
    return Cache(clock, 90.0)


def test_a_pod_that_moves_to_another_service_touches_both(cache: Cache) -> None:
    cache.put_pod(make_pod("p", "old"))

    assert cache.put_pod(make_pod("p", "new")) == {("n", "old"), ("n", "new")}
    assert cache.snapshot(("n", "old")).pods == ()
    assert [pod.name for pod in cache.snapshot(("n", "new")).pods] == ["p"]


def test_a_list_drops_what_it_does_not_hold_and_tells_whose_it_was(cache: Cache) -> None:
    cache.put_pod(make_pod("stays", "a"))
    cache.put_pod(make_pod("goes", "b"))

    touched = cache.replace_pods(EVERYWHERE, [make_pod("stays", "a")])

    assert touched == {("n", "a"), ("n", "b")}
    assert cache.snapshot(("n", "b")).pods == ()


def test_what_a_list_could_not_read_stays_as_it_was(cache: Cache) -> None:
    cache.put_pod(make_pod("garbled", "a"))
    cache.put_service(make_service("a"))

    cache.replace_pods(EVERYWHERE, [], [("n", "garbled")])
    cache.replace_services(EVERYWHERE, [], [("n", "a")])

    service, pods = cache.snapshot(("n", "a"))
    assert service is not None
    assert [pod.name for pod in pods] == ["garbled"]


def test_a_list_of_one_namespace_leaves_the_others_alone(cache: Cache) -> None:
    cache.put_pod(make_pod("p", namespace="other"))
    cache.put_service(make_service(namespace="other"))

    cache.replace_pods("n", [])
    cache.replace_services("n", [])

    service, pods = cache.snapshot(("other", "s"))
    assert service is not None
    assert len(pods) == 1


def test_a_namespace_is_synced_when_pods_and_services_were_listed(cache: Cache) -> None:
    cache.replace_pods("n", [])
    assert not cache.synced("n")
    cache.replace_services("n", [])

    assert cache.synced("n")
    assert not cache.synced("other")


def test_a_list_of_everything_syncs_every_namespace(cache: Cache) -> None:
    cache.replace_pods(EVERYWHERE, [])
    cache.replace_services(EVERYWHERE, [])

    assert cache.synced("any")


KEY: Key = ("n", "s")


def written(cache: Cache, version: str = "20") -> None:
    cache.put_service(make_service(version="10"))
    cache.wrote(KEY, version)


def test_after_our_write_a_key_is_held_until_the_watch_brings_it(cache: Cache) -> None:
    written(cache)
    assert cache.held(KEY)
    cache.put_service(make_service(version="20"))

    assert not cache.held(KEY)


def test_versions_are_compared_as_numbers(cache: Cache) -> None:
    written(cache, "100")
    cache.put_service(make_service(version="99"))

    assert cache.held(KEY)


@pytest.mark.parametrize("scope", [EVERYWHERE, "n"])
def test_a_bookmark_past_our_write_is_enough(cache: Cache, scope: str) -> None:
    written(cache)
    cache.seen(scope, "19")
    assert cache.held(KEY)
    cache.seen(scope, "21")

    assert not cache.held(KEY)


def test_a_deleted_service_is_not_held(cache: Cache) -> None:
    written(cache)
    cache.drop_service(KEY)

    assert not cache.held(KEY)


def test_a_write_answered_after_the_deletion_holds_nothing(cache: Cache) -> None:
    cache.wrote(KEY, "20")

    assert not cache.held(KEY)


def test_a_list_ends_the_wait_even_when_time_went_back(cache: Cache) -> None:
    written(cache)
    cache.seen(EVERYWHERE, "15")
    cache.replace_services(EVERYWHERE, [make_service(version="5")])

    assert not cache.held(KEY)
    cache.wrote(KEY, "6")
    assert cache.held(KEY)


def test_a_watch_that_is_down_does_not_hold_a_key_for_ever(cache: Cache, clock: Clock) -> None:
    written(cache)
    clock.now += 89
    assert cache.held(KEY)
    clock.now += 2

    assert not cache.held(KEY)


CHANGES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("pqr"), st.sampled_from("ab"), st.sampled_from("mn")),
    st.tuples(st.just("drop"), st.sampled_from("pqr"), st.sampled_from("mn")),
    st.tuples(
        st.just("list"),
        st.sampled_from(["", "m", "n"]),
        st.dictionaries(st.tuples(st.sampled_from("mn"), st.sampled_from("pqr")), st.sampled_from("ab")),
    ),
)


@given(st.lists(CHANGES, max_size=30))
def test_snapshots_are_those_of_a_plain_dictionary_and_every_change_is_told(
    changes: list[tuple[object, ...]],
) -> None:
    cache = Cache(Clock())
    model: dict[Key, str] = {}

    def answers() -> dict[Key, set[str]]:
        found: dict[Key, set[str]] = {}
        for (namespace, name), service in model.items():
            found.setdefault((namespace, service), set()).add(name)
        return found

    for change in changes:
        before = answers()
        match change:
            case "put", str(name), str(service), str(namespace):
                model[namespace, name] = service
                touched = cache.put_pod(make_pod(name, service, namespace))
            case "drop", str(name), str(namespace):
                model.pop((namespace, name), None)
                touched = cache.drop_pod((namespace, name))
            case "list", str(scope), dict(items):
                items = {key: service for key, service in items.items() if scope in ("", key[0])}
                model = {key: value for key, value in model.items() if scope not in ("", key[0])} | items
                touched = cache.replace_pods(scope, [make_pod(k[1], s, k[0]) for k, s in items.items()])
            case _:
                raise AssertionError
        after = answers()
        assert {key for key in {*before, *after} if before.get(key) != after.get(key)} <= touched
        for namespace in "mn":
            for service in "ab":
                pods = cache.snapshot((namespace, service)).pods
                assert {pod.name for pod in pods} == after.get((namespace, service), set())
                assert len(pods) == len({pod.name for pod in pods})
        assert cache.service_keys() == set(after)
