"""Starting is a feature: what the command line imports, seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

# What each costs at the start of the program, beside `python -c pass` at 12 ms.
TOO_DEAR = (
    "asyncio",  # 46 ms
    "concurrent.futures",
    "importlib.metadata",  # 43 ms
    "jinja2",  # 51 ms; the templates that come with the program need no compiler
    "kubernetes",  # 300 ms
    "logging",
    "multiprocessing",
    "ruamel",  # 24 ms
    "rich",
)

PROGRAM = """
import json, sys
from sedna_render.cli import main
sys.argv = ["sedna-render", *sys.argv[1:]]
try:
    status = main()
except SystemExit as stop:
    status = stop.code
json.dump({"status": status or 0, "modules": sorted(sys.modules)}, sys.stderr)
"""


def _run(*arguments: str, folder: Path = ROOT) -> tuple[str, set[str]]:
    """Standard output of the program, and the modules that it had imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    report = json.loads(done.stderr.splitlines()[-1])
    assert report["status"] == 0, done.stderr
    return done.stdout, set(report["modules"])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["render", "fixtures/helmet-detection"], id="render to standard output"),
        pytest.param(["render", "fixtures/edgemesh-deployment"], id="render Deployments"),
        pytest.param(["render", "fixtures/s3-credentials"], id="render a downloaded model"),
    ],
)
def test_nothing_dear_is_imported(arguments: list[str]) -> None:
    printed, modules = _run(*arguments)
    assert printed
    assert [name for name in TOO_DEAR if name in modules] == []


def test_nothing_dear_is_imported_when_a_folder_is_written_and_checked(tmp_path: Path) -> None:
    output = str(tmp_path / "output")
    _, rendering = _run("render", "fixtures/edgemesh", "-o", output)
    _, checking = _run("check", "fixtures/edgemesh", "-o", output)
    assert [name for name in TOO_DEAR if name in rendering | checking] == []


def test_rendering_imports_nothing_third_party_but_click_and_yaml() -> None:
    _, modules = _run("render", "fixtures/helmet-detection")
    # What the environment itself imports at every start (.pth files) is not ours.
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    tops = {name.partition(".")[0] for name in modules} - {
        name.partition(".")[0] for name in bare.stdout.split()
    }
    # PyYAML's extension, being compiled by Cython, registers a module of that name.
    known = sys.stdlib_module_names | {"cython_runtime"}
    foreign = {name for name in tops if name not in known and not name.startswith("_")}
    assert foreign == {"click", "sedna_api", "sedna_render", "yaml"}
