"""A pytest plugin: the control plane, its clients and the kubelet stand-in as fixtures, for every folder of tests.

Registered in tests/conftest.py. Programs are built when the first test that needs them is about to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane

Kubectl = Callable[..., subprocess.CompletedProcess[str]]

_STARTED = pytest.StashKey[ControlPlane]()
_LOGGED = pytest.StashKey[dict[str, int]]()


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
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failed test shows what the control plane logged while it ran."""
    report = yield
    if report.failed and _STARTED in item.config.stash and item.get_closest_marker("controlplane"):
        report.sections.append(("control plane", item.config.stash[_STARTED].logs_since(item.stash.get(_LOGGED, None))))
    return report


@pytest.fixture(scope="session")
def control_plane_programs(request: pytest.FixtureRequest) -> Callable[..., dict[str, str]]:
    """Paths of programs by name, building what is not built; skips (in CI: fails) where that cannot be."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", end="", file=sys.stderr, flush=True)

    def get(*names: str) -> dict[str, str]:
        must = os.environ.get("CI") == "true"
        try:
            return build.programs(build.PROGRAMS if must else names, say)
        except build.Unavailable as error:
            # One text for all tests: pytest folds them into one line.
            (pytest.fail if must else pytest.skip)(str(error))

    return get


@pytest.fixture(scope="session")
def make_control_plane(
    control_plane_programs: Callable[..., dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., ControlPlane]]:
    """Starts one more control plane, for tests that break it; arguments are flags of kube-apiserver."""
    started: list[ControlPlane] = []
    programs = control_plane_programs(*build.ASSETS)

    def make(*apiserver_flags: str) -> ControlPlane:
        data = Path(stack_of_folders.name, str(len(started)))
        data.mkdir()
        plane = ControlPlane(programs, data, tmp_path_factory.mktemp("control-plane-logs"), apiserver_flags)
        started.append(plane)
        plane.start()
        return plane

    with tempfile.TemporaryDirectory(prefix="control-plane-", ignore_cleanup_errors=True) as folder:
        yield make
        for plane in started:
            plane.stop()
