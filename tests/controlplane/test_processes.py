"""Programs beside the tests end with them, whatever way the tests end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.plane import wait_until
from tests.controlplane.processes import Process, free_ports

ROOT = Path(__file__).parents[2]
# Only Linux tells a child that its parent has died, and has /proc.
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
# A test run in small: starts a program with a child of its own, tells both ids, and ends as it is told to.
RUN = """
import os, sys, pathlib
from tests.controlplane.processes import Process
log = pathlib.Path(sys.argv[1])
process = Process("sleeper", ["/bin/sh", "-c", "sleep 600 & echo $!; wait"], log)
process.start()
while not log.read_text().strip(): pass
print(process.pid, log.read_text().strip(), flush=True)
exec(sys.argv[2])
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def run(log: Path, ending: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(log), ending],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@on_linux
@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("pass", id="end"),
        pytest.param("1 / 0", id="exception"),
        pytest.param("sys.exit(3)", id="exit"),
    ],
)
def test_a_run_that_ends_takes_program_and_children_with_it(tmp_path: Path, ending: str) -> None:
    output, _ = run(tmp_path / "log", ending).communicate(timeout=30)

    assert [is_alive(int(pid)) for pid in output.split()] == [False, False]


@on_linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_run_that_is_killed_takes_the_program_with_it(tmp_path: Path, number: signal.Signals) -> None:
    with run(tmp_path / "log", "import time; time.sleep(600)") as parent:
        assert parent.stdout
        program, child = map(int, parent.stdout.readline().split())
        parent.send_signal(number)
        parent.wait(timeout=30)

        wait_until(lambda: not is_alive(program), "the program to end")
    os.kill(child, signal.SIGKILL)  # of a shell that was killed: nobody could have told it


def test_a_frozen_program_can_be_stopped(tmp_path: Path) -> None:
    process = Process("sleeper", ["/bin/sleep", "600"], tmp_path / "log")
    process.start()
    process.freeze()

    process.stop()

    assert not process.alive


def test_a_program_can_be_killed_and_started_again(tmp_path: Path) -> None:
    process = Process("sleeper", ["/bin/sleep", "600"], tmp_path / "log")
    process.start()
    first = process.pid
    process.kill()
    process.start()

    assert process.alive
    assert process.pid != first
    process.kill()


def test_what_a_program_says_is_in_its_log(tmp_path: Path) -> None:
    process = Process("echo", ["/bin/sh", "-c", "echo out; echo err >&2"], tmp_path / "log")
    process.start()
    wait_until(lambda: not process.alive, "it to end")

    assert process.log_since() == "out\nerr\n"
    assert process.log_since(4) == "err\n"


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
