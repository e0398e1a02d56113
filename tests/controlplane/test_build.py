"""Getting the programs: built once, or taken from elsewhere, or said in one line why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import build

ROOT = Path(__file__).parents[2]
# Answers like go, and "builds" a file; counts how often it did.
FAKE_GO = """\
#!/bin/sh
case "$1" in
version) echo "go version go1.99.0 linux/amd64" ;;
mod) ;;
build) while [ "$1" != -o ]; do shift; done; sleep 0.2; echo program > "$2"; chmod +x "$2"; echo "$2" >> "$0.log" ;;
esac
"""


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only go there is, and a cache of its own; gives the log of what it built."""
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return go.with_suffix(".log")


def test_programs_are_built_once_and_then_found(fake_go: Path) -> None:
    said: list[str] = []

    first = build.programs(say=said.append)
    announced = len(said)
    second = build.programs(say=said.append)

    assert first == second
    assert all(os.access(path, os.X_OK) for path in first.values())
    assert len(fake_go.read_text().splitlines()) == len(build.PROGRAMS)
    assert len(said) == announced > len(build.PROGRAMS)


def test_only_what_is_asked_for_is_built(fake_go: Path) -> None:
    assert list(build.programs(["etcd"])) == ["etcd"]
    assert len(fake_go.read_text().splitlines()) == 1


def test_two_at_once_build_once(fake_go: Path) -> None:
    script = Path(build.__file__)
    both = [subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in both]

    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(build.PROGRAMS)
    assert len(fake_go.read_text().splitlines()) == len(build.PROGRAMS)


def test_nothing_half_built_is_left(fake_go: Path) -> None:
    fake_go.with_suffix("").write_text(FAKE_GO.replace("sleep 0.2;", "echo broken code; exit 1;"))

    with pytest.raises(build.BuildFailedError, match="broken code"):
        build.programs(["etcd"])

    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert [path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_another_go_or_other_sources_are_another_folder(fake_go: Path) -> None:
    assert build.cache_folder("go1.1") != build.cache_folder("go1.2")
    assert build.cache_folder("go1.1") == build.cache_folder("go1.1")


def test_without_go_one_line_says_how_to_get_it(fake_go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_go", lambda: None)

    with pytest.raises(build.UnavailableError) as raised:
        build.programs(build.ASSETS)

    assert str(raised.value) == (
        "no control plane (etcd, kube-apiserver): there is no go command; "
        "install Go >= 1.26.0, or set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd"
    )


def test_assets_stand_in_for_two_programs_only(
    fake_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in build.ASSETS:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    assert build.programs(build.ASSETS) == {name: str(tmp_path / name) for name in build.ASSETS}
    assert not fake_go.exists()
    assert len(build.programs()) == len(build.PROGRAMS)
    assert len(fake_go.read_text().splitlines()) == len(build.PROGRAMS) - len(build.ASSETS)


def test_assets_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    with pytest.raises(build.UnavailableError, match="etcd is no program"):
        build.programs(build.ASSETS)


@pytest.mark.parametrize(
    ("in_ci", "outcome"), [("", "3 skipped"), ("true", "3 errors")], ids=["a skip", "in CI a failure"]
)
def test_tests_without_programs_are(tmp_path: Path, in_ci: str, outcome: str) -> None:
    arguments = [
        "-q",
        "-p",
        "no:cacheprovider",
        str(Path(__file__).with_name("test_plane.py")),
        "-k",
        "says or kubectl",
    ]
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path), "CI": in_ci}

    run = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome in run.stdout.splitlines()[-1]
    said = [line for line in run.stdout.splitlines() if "KUBEBUILDER_ASSETS is set, but" in line]
    assert in_ci or len(said) == 1
