"""One service of a test in a real API server, and the reconciler as a process: what tests do to them, and ask of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time  # noqa: TID251 - watches programs that have their own clock
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane import api
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import ControlPlane, Object, wait_until
from tests.controlplane.pod_states import State
from tests.controlplane.processes import Process

ROOT = Path(__file__).parents[3]
OWN = "sedna-reconciler"  # its namespace, account, Lease and field manager
NAME = "helmet"
KIND = "JointInferenceService"
NODES = {"cloud": "cloud-1", "edge": "gate-1"}
GONE, CRASH, IMAGE = 3.0, 3.0, 3.0
FLAGS = (
    f"--gone-grace={GONE}",
    f"--crash-recovery={CRASH}",
    f"--crash-recovery-limit={CRASH}",
    f"--image-grace={IMAGE}",
    "--not-ready-grace=1",
    "--lease-duration=3",
    "--lease-renew-deadline=2",
    "--lease-retry=0.4",
    "--lease-timeout=1.5",
)


class Program(Process):
    """``python -m reconciler``, with graces of seconds; its log, a line of JSON each, is its standard error."""

    def __init__(self, name: str, kubeconfig: Path, log: Path, *flags: str) -> None:
        env = shutil.which("env")
        assert env
        command = [env, f"--chdir={ROOT}", sys.executable, "-m", "reconciler", *FLAGS]
        more = (f"--kubeconfig={kubeconfig}", "--listen=127.0.0.1:0", f"--identity={name}", *flags)
        super().__init__(name, [*command, *more], log)

    def lines(self, offset: int = 0) -> list[dict[str, Any]]:
        """What it logged, as far as lines are whole; other text than JSON, such as a traceback, fails the test."""
        whole = self.log_since(offset).rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def writes(self, site: Site | None = None, offset: int = 0) -> list[str]:
        """The outcomes of its tries to write a status: of one service, or of any."""
        about = f"{site.namespace}/{NAME}" if site else ""
        told = [str(one["message"]) for one in self.lines(offset) if about in one.get("service", "")]
        return [one.removeprefix("status ") for one in told if one.startswith("status ")]

    def is_synced(self, offset: int = 0) -> bool:
        """Whether it has listed both services and pods."""
        return len([one for one in self.lines(offset) if ": listed " in str(one["message"])]) == 2

    @property
    def logged(self) -> int:
        """Bytes so far."""
        return self.log.stat().st_size

    def ask_to_end(self) -> float:
        """SIGTERM, and wait; the seconds that it took."""
        began = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        wait_until(lambda: not self.alive, f"{self.name} to end", 20)
        return time.monotonic() - began


@dataclass
class Site:
    """The service `helmet` of fixtures/readme in a namespace of its own, with the pods that are rendered for it."""

    plane: ControlPlane
    kubelet: Kubelet
    namespace: str
    pods: Mapping[str, Object]

    def create_service(self) -> None:
        text = (ROOT / "fixtures" / "readme" / "service.yaml").read_text()
        self.plane.create(_within(yaml.safe_load(text), self.namespace))

    def create_pod(self, worker: str) -> None:
        self.plane.create(_within(self.pods[worker], self.namespace))

    def create(self) -> None:
        """The service and its pods."""
        self.create_service()
        for worker in self.pods:
            self.create_pod(worker)

    def delete_service(self) -> None:
        self.plane.delete(KIND, self.namespace, NAME)

    def set(self, worker: str, state: State) -> None:
        self.kubelet.set_state(self.namespace, f"{NAME}-{worker}", state)

    # --- what is stored ---------------------------------------------------------------------------

    def service(self) -> Object:
        found = self.plane.get(KIND, self.namespace, NAME)
        assert found
        return found

    def version(self) -> str:
        return str(self.service()["metadata"]["resourceVersion"])

    def status(self) -> Object:
        status: Object = self.service().get("status", {})
        return status

    def patch_status(self, status: Object) -> None:
        """As Sedna's own controller would."""
        target = api.path(KIND, self.namespace, NAME, "status")
        self.plane.api("PATCH", target, {"status": status}).ok()

    def events(self) -> list[tuple[str, str]]:
        """Type and reason of those about the service."""
        found = self.plane.items("Event", self.namespace)
        return [(one["type"], one["reason"]) for one in found if one["regarding"].get("kind") == KIND]

    def wait_for(self, what: str, timeout: float = 30) -> Object:
        """Wait for words such as ``Failed Ready=False/WorkerGone``; the status that first said so."""

        def told() -> Object | None:
            status = self.status()
            return status if summary(status) == what else None

        try:
            return wait_until(told, what, timeout)
        except AssertionError as problem:
            raise AssertionError(f"{problem}; it is {summary(self.status())}: {self.status()}") from None

    def wait_until_ready(self) -> Object:
        return self.wait_for("Running Ready=True/AllWorkersReady")


def holder(plane: ControlPlane) -> str:
    """The replica that holds the Lease; '' where none does."""
    lease = plane.get("Lease", OWN, OWN) or {"spec": {}}
    return str(lease["spec"].get("holderIdentity", "")).partition("_")[0]


def conditions(status: Object) -> dict[str, Object]:
    """By type, none of which there may be twice."""
    found = {one["type"]: one for one in status.get("conditions", [])}
    assert len(found) == len(status.get("conditions", [])), "a type twice"
    return found


def summary(status: Object) -> str:
    """The last condition's type, as Sedna's dashboards have it, and Ready."""
    told = status.get("conditions", [])
    ready: Object = next((one for one in told if one["type"] == "Ready"), {})
    return f"{told[-1]['type'] if told else '-'} Ready={ready.get('status')}/{ready.get('reason')}"


def _within(manifest: Object, namespace: str) -> Object:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
