"""The program as a process of its own: signals, flags, and a leader that is frozen."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time  # noqa: TID251 - waits for a program that has its own clock
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reconciler.body.fake_api import FakeApi, Request, crashing, kubeconfig, pod, service

ROOT = Path(__file__).parents[3]
LEASE = ["--lease-duration=2", "--lease-renew-deadline=1.5", "--lease-retry=0.3", "--lease-timeout=1"]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(api: FakeApi, tmp_path: Path) -> Iterator[Start]:
    file = tmp_path / "config"
    file.write_text(kubeconfig(api.url))
    processes: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-m", "reconciler", *arguments],
            cwd=ROOT,
            env={
                **os.environ,
                "RECONCILER_KUBECONFIG": str(file),
                "RECONCILER_LISTEN": f"127.0.0.1:{free_port()}",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(made)
        return made

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def healthy(api: FakeApi) -> None:
    api.put("jointinferenceservices", service())
    api.put("pods", pod("cloud"))
    api.put("pods", pod("edge"))


def writes(api: FakeApi) -> list[Request]:
    return [one for one in api.seen("PATCH", "jointinferenceservices") if "dryRun" not in one.query]


def is_ready(api: FakeApi) -> Callable[[], bool]:
    return lambda: api.condition("helmet", "Ready").get("status") == "True"


def test_SIGTERM_ends_it_well_and_gives_the_lease_away(api: FakeApi, start: Start) -> None:
    healthy(api)
    process = start()
    api.eventually(is_ready(api), 20)
    process.send_signal(signal.SIGTERM)
    _, logs = process.communicate(timeout=10)

    assert process.returncode == 0
    assert api.get("leases", "sedna-reconciler", "default")["spec"]["holderIdentity"] == ""
    lines = [json.loads(line) for line in logs.splitlines()]
    assert {"time", "level", "logger", "message"} <= set(lines[0])
    assert lines[-1]["message"] == "stopped"
    assert "a-token" not in logs


def test_requests_are_counted_and_memory_is_told(api: FakeApi, start: Start) -> None:
    healthy(api)
    port = free_port()
    start("--listen", f"127.0.0.1:{port}", "--no-leader-elect")
    api.eventually(is_ready(api), 20)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()

    assert '\nrest_client_requests_total{code="200",method="PATCH"} 2.0\n' in text
    assert "\nprocess_resident_memory_bytes " in text


def test_a_second_SIGTERM_ends_it_at_once(api: FakeApi, start: Start) -> None:
    healthy(api)
    process = start()
    api.eventually(is_ready(api), 20)
    api.on(lambda _request: True, lambda _handler, _request: time.sleep(15), times=100)
    api.put("pods", crashing())
    api.eventually(lambda: len(writes(api)) == 2)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)

    assert process.wait(2) == 1


def test_a_frozen_leader_writes_nothing_after_another_has_taken_over(api: FakeApi, start: Start) -> None:
    healthy(api)
    leader = start(*LEASE, "--identity=first")
    api.eventually(is_ready(api), 20)
    standby = start(*LEASE, "--identity=second")
    api.eventually(lambda: len(api.seen("GET", "pods", watch=True)) >= 2, 20)
    leader.send_signal(signal.SIGSTOP)

    def holder() -> str:
        return str(api.get("leases", "sedna-reconciler", "default")["spec"]["holderIdentity"])

    api.eventually(lambda: holder().startswith("second"), 20)
    api.put("pods", crashing())
    api.eventually(lambda: len(writes(api)) == 2)
    before = len(writes(api))
    leader.send_signal(signal.SIGCONT)
    # It finds the crash in its watch, and would have written it.
    api.put("pods", pod("cloud", ready=False))
    time.sleep(3)

    # The standby alone wrote, without a conflict; the one that thawed is a candidate again, and alive.
    assert len(writes(api)) - before <= 1
    assert holder().startswith("second")
    assert leader.poll() is None
    assert standby.poll() is None
    standby.send_signal(signal.SIGTERM)
    assert standby.wait(10) == 0
    api.eventually(lambda: holder().startswith("first"), 10)


def test_an_address_that_is_taken_is_an_error_of_one_line(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        _, errors = process.communicate(timeout=20)

    assert process.returncode == 1
    assert errors.startswith("reconciler: error: cannot listen at 127.0.0.1:")
    assert "Traceback" not in errors


def test_status_watch_prints_a_line_whenever_something_changes(api: FakeApi, start: Start) -> None:
    healthy(api)
    process = start("status", "--watch", "--format", "json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    api.put("pods", crashing())
    second = json.loads(process.stdout.readline())
    api.delete("jointinferenceservices", "helmet")
    third = json.loads(process.stdout.readline())

    assert [one["status"]["conditions"][-1]["type"] for one in (first, second)] == ["Running", "Failed"]
    assert third == {"namespace": "edge-ai", "name": "helmet", "status": None}
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert {one.method for one in api.requests} == {"GET"}
    assert not [one for one in api.requests if one.of("leases")]
