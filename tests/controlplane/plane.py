"""A Kubernetes control plane on loopback: etcd and kube-apiserver, and on demand the two that make things happen.

Starts, stops and answers; knows nothing of pytest. What is built and where from is build.py's business.
"""

from __future__ import annotations

import itertools
import json
import os
import time  # noqa: TID251 - waits for programs that have their own clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tests.controlplane import api, configuration
from tests.controlplane.api import Answer, Client, Object, RefusedError, Watch
from tests.controlplane.configuration import ADMIN, USERS
from tests.controlplane.processes import Process, free_ports

T = TypeVar("T")

_CRDS = Path(__file__).parent / "crds"
_READY_WITHIN = 60.0  # seconds; 3 to 4 on a quiet machine
_TRIES = 3  # a port that was free may be taken before the program listens


class NotReadyError(AssertionError):
    """The control plane did not start; the text ends with what its programs logged."""


class ControlPlane:
    """One cluster without nodes. ``api`` speaks to it; everything ends with ``stop`` or with this process."""

    def __init__(
        self, programs: Mapping[str, str], data: Path, logs: Path, apiserver_flags: Sequence[str] = ()
    ) -> None:
        """Data holds etcd's files and the certificate, logs one file a program; flags are added to kube-apiserver's."""
        self._programs = dict(programs)
        self._data = data
        self._logs = logs
        self._more_flags = tuple(apiserver_flags)
        self._users = itertools.count(1)
        self._names = itertools.count(1)
        self._processes: dict[str, Process] = {}
        self.port = 0
        self._client: Client | None = None

    # --- starting and ending ----------------------------------------------------------------------

    def start(self) -> None:
        """Start etcd and kube-apiserver and wait until they serve."""
        configuration.write_credentials(self._data)
        for left in reversed(range(_TRIES)):
            self._start_on(*free_ports(3))
            try:
                self._wait_until_ready()
            except NotReadyError:
                self.stop()
                if not left:
                    raise
            else:
                return

    def start_controllers(self, programs: Mapping[str, str]) -> None:
        """Start kube-controller-manager and kube-scheduler where they do not run; they are ready when they act."""
        self._programs |= programs
        for name, flags in {
            "kube-controller-manager": configuration.controller_manager_flags(self._data),
            "kube-scheduler": (),
        }.items():
            if name not in self._processes:
                common = (f"--kubeconfig={self.kubeconfig()}", "--leader-elect=false", "--secure-port=0")
                self._run(name, (*common, *flags))

    def stop(self) -> None:
        """End all programs, the last started first; at once, as nothing of them is kept but their logs."""
        if self._client:
            self._client.close()
            self._client = None
        while self._processes:
            self._processes.popitem()[1].kill()

    def process(self, name: str) -> Process:
        """A program by name: to kill, freeze or restart it (on the same port and data)."""
        return self._processes[name]

    def restart_apiserver(self) -> None:
        """Kill kube-apiserver and start it again, on the same port and data; open connections break."""
        self.process("kube-apiserver").kill()
        self.process("kube-apiserver").start()
        self._wait_until_ready()

    def log_sizes(self) -> dict[str, int]:
        """Bytes logged so far by program; ``logs_since`` shows what came later."""
        return {name: os.path.getsize(process.log) for name, process in self._processes.items()}

    def logs_since(self, sizes: Mapping[str, int] | None = None) -> str:
        """What the programs logged since, a headed part each; the last lines of each only."""
        parts = []
        for name, process in self._processes.items():
            lines = process.log_since((sizes or {}).get(name, 0)).splitlines()
            if lines:
                parts.append("\n".join([f"-- {name}, {len(lines)} lines in {process.log}", *lines[-25:]]))
        return "\n".join(parts)

    def _start_on(self, client_port: int, peer_port: int, port: int) -> None:
        client, peer = (f"http://127.0.0.1:{number}" for number in (client_port, peer_port))
        self.port = port
        # etcd keeps its cluster's addresses: a second try needs a folder of its own.
        self._run("etcd", configuration.etcd_flags(self._data / f"etcd-{peer_port}", client, peer))
        self._run(
            "kube-apiserver", (*configuration.apiserver_flags(self._data, client, port), *self._more_flags)
        )

    def _run(self, name: str, flags: Iterable[str]) -> None:
        process = Process(name, (self._programs[name], *flags), self._logs / f"{name}.log")
        process.start()
        self._processes[name] = process

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + _READY_WITHIN
        while not self._ready():
            dead = [process.name for process in self._processes.values() if not process.alive]
            if dead or time.monotonic() > end:
                raise NotReadyError(f"the control plane does not start (ended: {dead})\n{self.logs_since()}")
            time.sleep(0.05)

    def _ready(self) -> bool:
        try:
            # Its certificate is there as soon as the server is, and stays the same.
            self._client = self._client or Client(self.port, str(self._data / "apiserver.crt"))
            ready = self._client.request("GET", "/readyz", token=ADMIN, timeout=5)
            # Not part of readiness, and everything in the end wants to be in it.
            default = self.api("GET", api.path("Namespace", None, "default"))
            return (ready.status, default.status) == (200, 200)
        except OSError:
            return False

    # --- speaking to it ---------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def api(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | list[Any] | str | None = None,
        *,
        user: str = ADMIN,
        content_type: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request as a user (or with a token). PATCH is a merge-patch unless told otherwise."""
        return self._connected().request(
            method, path, body, token=user, content_type=content_type, query=query
        )

    def watch(self, path: str, *, user: str = ADMIN, query: Mapping[str, str] | None = None) -> Watch:
        return self._connected().watch(path, token=user, query=query)

    def _connected(self) -> Client:
        assert self._client, "the control plane does not run"
        return self._client

    def create(self, manifest: Mapping[str, Any], **query: str) -> Object:
        """Create an object and return it as stored; raises RefusedError."""
        return self.api("POST", api.path_of(manifest, collection=True), manifest, query=query).ok()

    def apply(self, manifest: Mapping[str, Any], *, manager: str = "tests", **query: str) -> Object:
        """Server-side apply, conflicts forced; raises RefusedError."""
        query = {"fieldManager": manager, "force": "true", **query}
        return self.api("PATCH", api.path_of(manifest), manifest, content_type=api.APPLY, query=query).ok()

    def get(self, kind: str, namespace: str | None, name: str) -> Object | None:
        """An object, or None where there is none."""
        answer = self.api("GET", api.path(kind, namespace, name))
        return None if answer.status == 404 else answer.ok()

    def items(self, kind: str, namespace: str | None = None, **query: str) -> list[Object]:
        """All objects of a kind, in a namespace or everywhere; ``labelSelector=`` and the like narrow it."""
        found: list[Object] = self.api("GET", api.path(kind, namespace), query=query).ok()["items"]
        return found

    def delete(self, kind: str, namespace: str | None, name: str, **query: str) -> None:
        """Delete an object; none being there is as good."""
        answer = self.api("DELETE", api.path(kind, namespace, name), query=query)
        if answer.status != 404:
            answer.ok()

    # --- what tests need before they begin --------------------------------------------------------

    def make_namespace(self, prefix: str = "test") -> str:
        """A new namespace, its name never used before in this control plane."""
        name = f"{prefix}-{next(self._names)}"
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def new_user(self) -> str:
        """A plain user without rights, not used by another test; the name is also its token."""
        number = next(self._users)
        assert number <= USERS, "more users than the token file has: raise USERS"
        return f"user-{number}"

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token of a new service account, as a pod would have it; goes where a user goes."""
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }
        self.apply(account)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        target = api.path("ServiceAccount", namespace, name, "token")
        return str(self.api("POST", target, request).ok()["status"]["token"])

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """The kubeconfig file of a user (or of a token)."""
        path = self._data / f"{user[-40:].replace('/', '-')}.kubeconfig"
        path.write_text(
            json.dumps(configuration.kubeconfig(self.url, str(self._data / "apiserver.crt"), user))
        )
        path.chmod(0o600)
        return path

    def apply_crds(self, generation: str) -> None:
        """Sedna's CRDs: ``seed`` (v0.3.0) or ``head``; one generation after the other is fine. Waits until served."""
        for file in sorted((_CRDS / generation).glob("*.yaml")):
            name = ".".join(file.stem.split("_")[::-1])
            target = api.path("CustomResourceDefinition", None, name)
            query = {"fieldManager": "crds", "force": "true"}
            crd = self.api("PATCH", target, file.read_text(), content_type=api.APPLY, query=query).ok()
            self.wait_until_served(crd)

    def wait_until_served(self, crd: Mapping[str, Any]) -> None:
        """Wait until a CRD is established and its objects can be listed."""
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        listed = f"/apis/{group}/{crd['spec']['versions'][0]['name']}/{plural}"
        wait_until(
            lambda: self.api("GET", listed, query={"limit": "1"}).status == 200, f"{plural} to be served"
        )
        name = crd["metadata"]["name"]
        wait_until(
            lambda: _is_established(self.get("CustomResourceDefinition", None, name)), f"{name} established"
        )


def wait_until(check: Callable[[], T | None], what: str, timeout: float = 30.0) -> T:
    """The first truthy answer; the test fails when none comes in time (seconds)."""
    end = time.monotonic() + timeout
    while not (found := check()):
        assert time.monotonic() < end, f"waited {timeout:g} s for {what}"
        time.sleep(0.05)
    return found


def _is_established(crd: Object | None) -> bool:
    conditions = (crd or {}).get("status", {}).get("conditions", [])
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


__all__ = ["ADMIN", "Answer", "ControlPlane", "NotReadyError", "Object", "RefusedError", "wait_until"]
