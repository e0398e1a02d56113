"""What the manifests tell the program is what the program understands: flags, port, Lease, time to end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.commands.run import command
from reconciler.settings import Settings

Manifest = dict[str, Any]


@pytest.fixture(params=["base", "overlays/cluster-wide", "overlays/namespaced"])
def objects(
    request: pytest.FixtureRequest, deploy: Path, kustomize: Callable[[Path], list[Manifest]]
) -> list[Manifest]:
    return kustomize(deploy / request.param)


@pytest.fixture
def pod(objects: list[Manifest]) -> Manifest:
    (found,) = [one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Deployment"]
    spec: Manifest = found
    return spec


@pytest.fixture
def options(pod: Manifest) -> dict[str, Any]:
    """What the program makes of the arguments; an unknown flag fails here."""
    (container,) = pod["containers"]
    name, *arguments = container["args"]
    assert name == command.name
    return command.make_context(name, arguments).params


def test_the_program_understands_its_arguments(pod: Manifest, options: dict[str, Any]) -> None:
    told = [one.partition("=")[2] for one in pod["containers"][0]["args"] if one.startswith("--namespace=")]
    assert list(options["namespace"]) == told
    assert options["leader_elect"] is True, "there are two replicas"


def test_it_listens_where_it_is_asked(pod: Manifest, options: dict[str, Any]) -> None:
    (port,) = pod["containers"][0]["ports"]
    host, _, number = options["listen"].rpartition(":")
    assert not host, "on every address"
    assert int(number) == port["containerPort"]


def test_the_probes_are_pages_of_the_program(pod: Manifest) -> None:
    container = pod["containers"][0]
    asked = {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    source = Path(__file__).parent.parent.parent.joinpath("reconciler", "controller.py").read_text()
    assert all(f'"{path}"' in source for path in asked | {"/metrics"})


def test_the_lease_that_it_may_renew_is_its_own(objects: list[Manifest], options: dict[str, Any]) -> None:
    (role,) = [
        one for one in objects if one["metadata"]["name"] == "sedna-reconciler-lease" and "rules" in one
    ]
    names = {name for rule in role["rules"] for name in rule.get("resourceNames", [])}
    assert names == {options["lease_name"]}
    assert options["lease_namespace"] is None, "the pod's own"


def test_it_may_take_as_long_to_end_as_it_wants(pod: Manifest) -> None:
    assert pod["terminationGracePeriodSeconds"] > Settings().drain


def test_the_image_starts_it(deploy: Path) -> None:
    lines = (deploy / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    last = dict(line.partition(" ")[::2] for line in lines if line and not line.startswith("#"))
    assert json.loads(last["ENTRYPOINT"]) == ["python", "-m", "reconciler"], "no shell"
    assert json.loads(last["CMD"]) == [command.name]
    assert last["EXPOSE"] == "8080"


def test_the_image_runs_as_the_user_that_the_pod_asks_for(deploy: Path, pod: Manifest) -> None:
    text = (deploy / "Containerfile").read_text(encoding="utf-8")
    (user,) = [line.split()[1] for line in text.splitlines() if line.startswith("USER")]
    security = pod["securityContext"]
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"
    final = text.rpartition("\nFROM ")[2]
    assert "USER" in final, "of the stage that is kept"


def test_the_image_takes_what_there_is_and_what_the_wheel_needs(deploy: Path) -> None:
    text = (deploy / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    copied = [
        source
        for line in text.splitlines()
        if line.startswith("COPY ") and "--from=" not in line
        for source in shlex.split(line)[1:-1]
    ]
    root = deploy.parent
    assert all((root / source).exists() for source in copied)
    assert {"pyproject.toml", "README.md", "LICENSE", "sedna_api", "reconciler"} <= set(copied)
    assert all(line.partition(":")[2].endswith("-slim") or "-slim AS" in line
               for line in text.splitlines() if line.startswith("FROM"))  # fmt: skip
