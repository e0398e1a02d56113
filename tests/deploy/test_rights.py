"""What the reconciler may do: exactly the rights that its contract lists, each where it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

Manifest = dict[str, Any]
Right = tuple[str, str, str]  # group, resource, verb

WATCHING: set[Right] = {
    ("", "pods", "list"),
    ("", "pods", "watch"),
    ("sedna.io", "jointinferenceservices", "list"),
    ("sedna.io", "jointinferenceservices", "watch"),
    ("sedna.io", "jointinferenceservices/status", "patch"),
    ("events.k8s.io", "events", "create"),
}
LEASE: set[Right] = {("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "update")}


def _rights(rules: Iterable[Mapping[str, Any]]) -> set[Right]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _granted(built: list[Manifest]) -> dict[str, set[Right]]:
    """Rights of the reconciler's account by namespace ('*' for all), as far as something binds them."""
    roles = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one["rules"]
        for one in built
        if one["kind"] in {"Role", "ClusterRole"}
    }
    granted: dict[str, set[Right]] = {}
    for binding in built:
        if binding["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        namespace = binding["metadata"].get("namespace")
        reference = binding["roleRef"]
        rules = roles.pop((reference["kind"], namespace, reference["name"]))
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "sedna-reconciler", "namespace": "sedna-reconciler"}
        ]
        granted.setdefault(namespace or "*", set()).update(_rights(rules))
    assert not roles, "a role that nothing binds"
    return granted


def test_the_base_may_hold_its_lease_and_nothing_else(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    assert _granted(kustomize(deploy / "base")) == {"sedna-reconciler": LEASE}


def test_cluster_wide_it_may_watch_everywhere_and_hold_its_lease_at_home(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    granted = _granted(kustomize(deploy / "overlays" / "cluster-wide"))
    assert granted == {"*": WATCHING, "sedna-reconciler": LEASE}


def test_namespaced_it_may_watch_where_it_is_told_to_and_hold_its_lease_at_home(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    built = kustomize(deploy / "overlays" / "namespaced")
    assert _granted(built) == {"site": WATCHING, "sedna-reconciler": LEASE}
    (deployment,) = [one for one in built if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert [one for one in container["args"] if one.startswith("--namespace")] == ["--namespace=site"]


def test_it_may_read_and_change_no_lease_but_its_own(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    (role,) = [one for one in kustomize(deploy / "base") if one["kind"] == "Role"]
    unlimited = [rule for rule in role["rules"] if not rule.get("resourceNames")]
    assert {verb for rule in unlimited for verb in rule["verbs"]} == {"create"}
    assert {name for rule in role["rules"] for name in rule.get("resourceNames", [])} == {"sedna-reconciler"}


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.parent.parent.joinpath("deploy").rglob("*.yaml"))
)
def test_no_role_has_a_star(path: Path) -> None:
    documents = [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]
    rules = [rule for one in documents for rule in one.get("rules") or []]
    stars = [right for right in _rights(rules) if "*" in right]
    assert not stars


def test_only_pods_that_ask_for_the_token_get_it(
    deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> None:
    by_kind = {one["kind"]: one for one in kustomize(deploy / "base")}
    assert by_kind["ServiceAccount"]["automountServiceAccountToken"] is False
    spec = by_kind["Deployment"]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is True
    assert spec["serviceAccountName"] == by_kind["ServiceAccount"]["metadata"]["name"]


def test_the_page_gives_a_reason_for_every_right(deploy: Path) -> None:
    page = (deploy / "README.md").read_text(encoding="utf-8")
    table = page.partition("## Rights")[2].partition("\n## ")[0]
    missing = [
        (resource, verb)
        for _, resource, verb in sorted(WATCHING | LEASE)
        if not any(f"`{resource}`" in line and f"`{verb}`" in line for line in table.splitlines())
    ]
    assert not missing
