"""Whole processes, measured from outside: wall clock, CPU of the process and its children, peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time  # noqa: TID251 - a benchmark is the one place that asks for the time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: What ru_maxrss counts in: kilobytes, on macOS bytes.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Run(NamedTuple):
    """What one or (as medians) several runs of a process took: seconds, seconds, bytes."""

    wall: float
    cpu: float
    memory: int


class Command(NamedTuple):
    """One contender: its arguments, where its standard output goes, and a folder that it must find absent."""

    arguments: Sequence[str]
    stdout: str = os.devnull
    fresh: str = ""


def sedna_render(*arguments: str) -> list[str]:
    """The command line as users start it: the console script where there is one, else the module."""
    script = os.path.join(os.path.dirname(sys.executable), "sedna-render")
    program = [script] if os.path.exists(script) else [sys.executable, "-m", "sedna_render"]
    return [*program, *arguments]


def workload(*arguments: str) -> list[str]:
    """A process of `benchmarks.workloads`, for what is no command of its own."""
    return [sys.executable, "-m", "benchmarks.workloads", *arguments]


def side_by_side(commands: Mapping[str, Command], repeat: int, *, warm_up: bool = True) -> dict[str, Run]:
    """The median run of each command, all of them taken in turn, so that a busy moment hits all alike."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(repeat + warm_up):
        for name, command in commands.items():
            run = _once(command)
            if turn or not warm_up:
                runs[name].append(run)
    return {name: _median(taken) for name, taken in runs.items()}


def _median(runs: Sequence[Run]) -> Run:
    return Run(
        statistics.median(run.wall for run in runs),
        statistics.median(run.cpu for run in runs),
        max(run.memory for run in runs),
    )


def _once(command: Command) -> Run:
    if command.fresh and os.path.exists(command.fresh):
        os.rename(command.fresh, f"{command.fresh}.{time.monotonic_ns()}")
    # Compiled modules stay, and the environment of this process changes nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with open(command.stdout, "wb") as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command.arguments,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        # Said here because wait4 took the status away from Popen.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.stderr.write(errors.read().decode(errors="replace"))
            sys.exit(f"exit {process.returncode}: {' '.join(command.arguments)}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT)
