"""Programs that run beside the tests and end with them: each in a process group of its own, with its log in a file."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path

_GUARD = Path(__file__).with_name("die_with_parent.py")
_STOP_WITHIN = 10.0  # seconds from SIGTERM to SIGKILL
_running: weakref.WeakSet[Process] = weakref.WeakSet()


class Process:
    """One program; it may be ended, killed, frozen, and started again with the same command."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        assert not self.alive, f"{self.name} runs already"
        guarded = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), *self.command]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                guarded, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        _running.add(self)

    @property
    def pid(self) -> int:
        assert self._process, f"{self.name} was never started"
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End it in order, by force where it does not; nothing happens when it has ended."""
        if self._process is None or not self.alive:
            return
        self.thaw()
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it as a crash would: SIGKILL, children included."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def freeze(self) -> None:
        """Keep its connections open and answer nothing, until ``thaw``."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def resident_memory(self) -> int:
        """Bytes (RSS), as Linux counts them."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def log_since(self, offset: int = 0) -> str:
        """What it wrote after the first so many bytes."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        if self.alive:
            with contextlib.suppress(ProcessLookupError):  # it ended in between
                os.killpg(self.pid, number)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on now; all are held until the last is known, so they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@atexit.register
def _end_all() -> None:
    for process in list(_running):
        process.kill()
