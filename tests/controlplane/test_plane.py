"""The control plane as other tests rely on it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.controlplane import api, build
from tests.controlplane.plane import ControlPlane, wait_until

Kubectl = Callable[..., CompletedProcess[str]]
CRDS = Path(__file__).parent / "crds"


def test_it_says_what_it_is(control_plane: ControlPlane) -> None:
    version = control_plane.api("GET", "/version").ok()

    assert version["gitVersion"].startswith("v1.")
    assert int(version["minor"].rstrip("+")) >= int(build.VERSION.split(".")[1])


def test_a_plain_user_may_do_nothing_until_a_role_says_so(
    control_plane: ControlPlane, namespace: str
) -> None:
    user = control_plane.new_user()
    pods = api.path("Pod", namespace)
    before = control_plane.api("GET", pods, user=user)
    subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
    allow(control_plane, namespace, subjects)

    assert before.status == 403
    wait_until(lambda: control_plane.api("GET", pods, user=user).status == 200, "the role to count")
    assert control_plane.api("GET", api.path("Secret", namespace), user=user).status == 403


def test_a_service_account_has_its_token_and_its_rights(control_plane: ControlPlane, namespace: str) -> None:
    token = control_plane.service_account_token(namespace, "reader")
    allow(control_plane, namespace, [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}])

    pods = api.path("Pod", namespace)
    wait_until(lambda: control_plane.api("GET", pods, user=token).status == 200, "the role to count")


def allow(plane: ControlPlane, namespace: str, subjects: list[dict[str, str]]) -> None:
    """A role that may list pods, bound to these."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "reads-pods", "namespace": namespace},
    }
    plane.apply(
        {**role, "kind": "Role", "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}
    )
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads-pods"}
    plane.apply({**role, "kind": "RoleBinding", "roleRef": reference, "subjects": subjects})


def test_nobody_knows_a_wrong_token(control_plane: ControlPlane) -> None:
    assert control_plane.api("GET", api.path("Pod"), user="nobody").status == 401


def test_kubectl_speaks_to_it(kubectl: Kubectl, namespace: str) -> None:
    result = kubectl("get", "namespace", namespace, "-o", "name")

    assert (result.stdout, result.stderr) == (f"namespace/{namespace}\n", "")


@pytest.mark.parametrize("generations", [("seed", "head"), ("head", "seed")], ids=" then ".join)
def test_both_generations_of_sednas_crds_are_served(
    control_plane: ControlPlane, namespace: str, generations: tuple[str, str]
) -> None:
    model = {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "big", "namespace": namespace},
        "spec": {"url": "/data/big.pb", "format": "pb"},
    }
    for generation in generations:
        control_plane.apply_crds(generation)
        model["metadata"] = {"name": generation, "namespace": namespace}
        assert control_plane.create(model)["spec"] == model["spec"]


def test_crds_hold_no_prose() -> None:
    assert [path for path in CRDS.rglob("*.yaml") if "description: " in path.read_text()] == []


def test_a_watch_sees_what_changes_and_can_be_closed(control_plane: ControlPlane, namespace: str) -> None:
    path = api.path("ConfigMap", namespace)
    version = control_plane.api("GET", path).ok()["metadata"]["resourceVersion"]
    watch = control_plane.watch(path, query={"resourceVersion": version})
    events = iter(watch)
    control_plane.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": namespace}}
    )

    event, stored = next(events)
    watch.close()

    assert (event, stored["metadata"]["name"]) == ("ADDED", "one")
    assert list(events) == []


def test_errors_are_answers_until_they_are_asked_for_an_object(control_plane: ControlPlane) -> None:
    answer = control_plane.api("POST", api.path("Namespace"), {"kind": "Namespace", "apiVersion": "v1"})

    assert answer.status == 422
    with pytest.raises(api.RefusedError, match=r"422: Namespace .*name or generateName is required"):
        answer.ok()


def test_requests_go_on_after_a_restart(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.restart_apiserver()

    assert control_plane.get("Namespace", None, namespace)


@pytest.mark.slow
def test_another_control_plane_is_another_cluster(
    make_control_plane: Callable[..., ControlPlane], namespace: str
) -> None:
    other = make_control_plane("--enable-priority-and-fairness=true")

    assert other.get("Namespace", None, namespace) is None
    other.process("etcd").freeze()
    assert other.api("GET", "/livez").status in (200, 500)
    other.stop()


def test_it_does_not_outlive_its_end(make_control_plane: Callable[..., ControlPlane]) -> None:
    other = make_control_plane()
    pids = [str(other.process(name).pid) for name in build.ASSETS]
    other.stop()

    left = subprocess.run(
        ["ps", "-o", "pid=", "-p", ",".join(pids)], capture_output=True, text=True, check=False
    )
    assert left.stdout == ""
