"""What a user installs: the wheel, in an empty environment, used from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FIXTURE = ROOT / "fixtures" / "helmet-detection"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree, built as an index would get it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and what it asks for, no more."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    return programs


def _run(installed: Path, program: str, *arguments: str, folder: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(
        [installed / program, *arguments], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_template_and_schema_and_nothing_else_of_the_repository(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = {f"sedna_render/templates/{path.name}" for path in (ROOT / "templates").iterdir()}
    schemas = {
        f"sedna_render/schemas/{path.name}" for path in (ROOT / "sedna_render" / "schemas").glob("*.json")
    }
    assert templates
    assert schemas
    assert templates | schemas <= names
    assert {"sedna_render/py.typed", "sedna_api/py.typed"} <= names
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"reconciler", "sedna_api", "sedna_render"}


def test_it_renders_from_any_folder_what_the_working_tree_renders(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(FIXTURE, tmp_path / "fixtures" / "helmet-detection")
    here = subprocess.run(
        [sys.executable, "-m", "sedna_render", "render", "fixtures/helmet-detection"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    there = _run(installed, "sedna-render", "render", "fixtures/helmet-detection", folder=tmp_path)
    assert "kind: Service" in there
    assert there == here.stdout


def test_it_is_also_a_module(installed: Path, tmp_path: Path) -> None:
    assert "Usage" in _run(installed, "python", "-m", "sedna_render", "--help", folder=tmp_path)


def test_help_names_the_commands(installed: Path, tmp_path: Path) -> None:
    printed = _run(installed, "sedna-render", "--help", folder=tmp_path)
    assert "render" in printed
    assert "check" in printed


def test_the_version_is_that_of_the_package(installed: Path, tmp_path: Path) -> None:
    of_metadata = _run(
        installed,
        "python",
        "-c",
        "from importlib.metadata import version; print(version('sedna-render'))",
        folder=tmp_path,
    )
    of_module = _run(
        installed, "python", "-c", "import sedna_render; print(sedna_render.__version__)", folder=tmp_path
    )
    assert of_module == of_metadata


def test_kubernetes_is_neither_installed_nor_needed(installed: Path, tmp_path: Path) -> None:
    found = _run(
        installed,
        "python",
        "-c",
        "from importlib.util import find_spec; print(find_spec('kubernetes'))",
        folder=tmp_path,
    )
    assert found.strip() == "None"
