"""The rights that deploy/ gives are enough, and none of them is too much: without any one something does not work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pytest

from tests.controlplane import pod_states
from tests.controlplane.plane import ControlPlane, Object, wait_until
from tests.reconciler.real.site import NAME, OWN, Program, Site

Start = Callable[..., Program]


class Right(NamedTuple):
    """A verb on a resource, and what the log says without it; whether a first status is written even so."""

    verb: str
    resource: str
    says: str
    writes: bool


RIGHTS = [
    Right("list", "pods", 'cannot list resource "pods"', writes=False),
    Right("watch", "pods", 'cannot watch resource "pods"', writes=True),
    Right("list", "jointinferenceservices", 'cannot list resource "jointinferenceservices"', writes=False),
    Right("watch", "jointinferenceservices", 'cannot watch resource "jointinferenceservices"', writes=True),
    Right(
        "patch",
        "jointinferenceservices/status",
        'cannot patch resource "jointinferenceservices/status"',
        writes=False,
    ),
    Right("create", "events", "an event was refused: 403", writes=True),
    Right("get", "leases", "the lease cannot be read: 403", writes=False),
    Right("create", "leases", "the lease cannot be written: 403", writes=False),
    Right("update", "leases", "the lease cannot be written: 403", writes=True),
]


def without(rules: Iterable[Object], verb: str = "", resource: str = "") -> list[Object]:
    """The rules, one right taken away from them (and what is then empty: a rule without verbs is none)."""
    left = []
    for rule in rules:
        verbs = [one for one in rule["verbs"] if not (one == verb and resource in rule["resources"])]
        left += [{**rule, "verbs": verbs}] if verbs else []
    return left


@pytest.fixture
def rules(rights: list[Object]) -> list[Object]:
    """Of all roles in deploy/."""
    return [rule for one in rights for rule in one.get("rules", [])]


@pytest.fixture
def grant(plane: ControlPlane, namespace: str) -> Iterator[Callable[[list[Object]], None]]:
    """Gives rules, and nothing else, to an account of the reconciler in the test's own namespace."""

    def give(rules: list[Object]) -> None:
        group = "rbac.authorization.k8s.io"
        about = {"apiVersion": f"{group}/v1", "metadata": {"name": OWN, "namespace": namespace}}
        plane.apply({**about, "kind": "Role", "rules": rules})
        plane.apply(
            {
                **about,
                "kind": "RoleBinding",
                "roleRef": {"apiGroup": group, "kind": "Role", "name": OWN},
                "subjects": [{"kind": "ServiceAccount", "name": OWN, "namespace": namespace}],
            }
        )

    yield give
    plane.delete("RoleBinding", namespace, OWN)


def test_the_table_is_about_all_rights(rules: list[Object]) -> None:
    given = {(verb, name) for rule in rules for verb in rule["verbs"] for name in rule["resources"]}

    assert given == {(right.verb, right.resource) for right in RIGHTS}


def test_the_rights_of_deploy_are_enough(site: Site, reconciler: Program) -> None:
    site.create()
    site.wait_until_ready()
    site.set("edge", pod_states.crash_loop)
    site.wait_for("Failed Ready=False/WorkerCrashLooping")
    site.plane.delete("Pod", site.namespace, f"{NAME}-cloud")
    wait_until(lambda: ("Warning", "WorkerCrashLooping") in site.events(), "an event")
    reconciler.stop()

    log = reconciler.log_since()
    assert "is forbidden: User" not in log
    assert "lease released: 200" in log


@pytest.mark.parametrize(
    "right", [pytest.param(one, id=f"{one.verb} {one.resource.replace('/', ' ')}") for one in RIGHTS]
)
def test_without_a_right_something_does_not_work_and_the_log_says_what(
    site: Site,
    start: Start,
    rules: list[Object],
    grant: Callable[[list[Object]], None],
    right: Right,
) -> None:
    grant(without(rules, right.verb, right.resource))
    site.create()
    # Only for this namespace: what the account may do elsewhere does not matter.
    program = start(f"--namespace={site.namespace}", namespace=site.namespace)
    if right.writes:
        # An event is about a change, so there is one.
        site.wait_until_ready()
        site.set("edge", pod_states.crash_loop)
    wait_until(lambda: right.says in program.log_since().replace('\\"', '"'), right.says, 15)

    if not right.writes:
        assert site.status() == {}
    if right.resource == "events":
        site.wait_for("Failed Ready=False/WorkerCrashLooping")
        assert site.events() == []
    if right.verb == "update":
        # It holds the Lease for as long as it was made for, and cannot renew it.
        lost = "no longer the leader"
        wait_until(lambda: lost in program.log_since(), lost, 10)
