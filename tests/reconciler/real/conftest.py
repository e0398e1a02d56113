"""A real API server with Sedna's definitions and the rights of deploy/, and the reconciler beside it as its account."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from click.testing import CliRunner

from sedna_render import cli
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane, Object
from tests.reconciler.real.site import NODES, OWN, ROOT, Program, Site

WORKER = "jointinferenceservice.sedna.io/worker-type"
# Without the Deployment and what belongs to it: the program runs here.
RIGHTS = ("Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")

Kubectl = Callable[..., CompletedProcess[str]]
Start = Callable[..., Program]


@pytest.fixture(scope="session")
def rights(kubectl: Kubectl) -> list[Object]:
    """The rights that deploy/ gives, as its cluster-wide overlay is built."""
    built = kubectl("kustomize", str(ROOT / "deploy" / "overlays" / "cluster-wide"))
    assert (built.returncode, built.stderr) == (0, "")
    return [one for one in yaml.safe_load_all(built.stdout) if one["kind"] in RIGHTS]


@pytest.fixture(scope="session")
def plane(busy_control_plane: ControlPlane, rights: list[Object]) -> ControlPlane:
    busy_control_plane.apply_crds("head")
    for manifest in rights:
        busy_control_plane.apply(manifest)
    return busy_control_plane


@pytest.fixture
def start(plane: ControlPlane, tmp_path: Path) -> Iterator[Start]:
    """Starts the reconciler as an account; ends it in order when the test ends."""
    numbers = itertools.count(1)
    started: list[Program] = []

    def run(*flags: str, namespace: str = OWN) -> Program:
        name = f"replica-{next(numbers)}"
        kubeconfig = plane.kubeconfig(plane.service_account_token(namespace, OWN))
        program = Program(
            name, kubeconfig, tmp_path / f"{name}.log", f"--lease-namespace={namespace}", *flags
        )
        program.start()
        started.append(program)
        return program

    yield run
    for program in started:
        program.thaw()
        program.stop()


@pytest.fixture
def reconciler(start: Start) -> Program:
    """One replica, for the whole cluster, with the rights that deploy/ gives."""
    return start()


@pytest.fixture(scope="session")
def pods() -> dict[str, Object]:
    """The pods that are rendered for fixtures/readme, by worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        rendered = CliRunner().invoke(cli.cli, ["render", "fixtures/readme"], standalone_mode=False)
    assert rendered.return_value == 0, rendered.stderr
    found = [one for one in yaml.safe_load_all(rendered.stdout) if one["kind"] == "Pod"]
    return {one["metadata"]["labels"][WORKER]: one for one in found}


@pytest.fixture
def site(plane: ControlPlane, kubelet: Kubelet, pods: dict[str, Object], namespace: str) -> Iterator[Site]:
    """The nodes of a service that is not applied yet."""
    for node in NODES.values():
        kubelet.add_node(node)
    here = Site(plane, kubelet, namespace, pods)
    yield here
    # Else it would be there, and without pods, for the next test's reconciler, until its namespace has gone.
    here.delete_service()
