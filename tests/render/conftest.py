"""One small service, rendered through the command line: a test says only what it changes and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from sedna_render import cli

API_VERSION = "sedna.io/v1alpha1"
PREFIX = "render.sedna.io/"
CONFIG = {"apiVersion": "render.sedna.io/v1alpha1", "kind": "RenderConfig"}


class Rendered(NamedTuple):
    """What a run gave: exit status, manifests, findings as data, and both streams as text."""

    status: int
    manifests: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    stdout: str
    stderr: str

    @property
    def rules(self) -> set[str]:
        return {found["rule"] for found in self.findings}

    @property
    def errors(self) -> list[str]:
        return [found["rule"] for found in self.findings if found["severity"] == "error"]

    def finding(self, rule: str) -> dict[str, Any]:
        """The only finding of a rule."""
        found = [finding for finding in self.findings if finding["rule"] == rule]
        assert len(found) == 1, (rule, self.findings)
        return found[0]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [manifest for manifest in self.manifests if manifest["kind"] == kind]

    def workload(self, worker: str) -> dict[str, Any]:
        """The Pod or Deployment of a worker."""
        return next(
            manifest
            for manifest in self.manifests
            if manifest["kind"] in ("Pod", "Deployment")
            and manifest["metadata"]["name"].endswith(f"-{worker}")
        )

    def pod(self, worker: str) -> dict[str, Any]:
        """The spec of a worker's pod."""
        workload = self.workload(worker)
        spec: dict[str, Any] = (
            workload["spec"]["template"]["spec"] if workload["kind"] == "Deployment" else workload["spec"]
        )
        return spec

    def env(self, worker: str, container: int = 0) -> dict[str, Any]:
        """Name to value (or valueFrom) of a container's env; a name that is there twice fails."""
        entries = self.pod(worker)["containers"][container].get("env", [])
        found = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}
        assert len(found) == len(entries), entries
        return found


def service(
    name: str = "helmet",
    *,
    namespace: str | None = None,
    annotations: Mapping[str, str] | None = None,
    cloud: Mapping[str, Any] | None = None,
    edge: Mapping[str, Any] | None = None,
    cloud_worker: Mapping[str, Any] | None = None,
    edge_worker: Mapping[str, Any] | None = None,
    parameters: list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    """A service; ``cloud`` and ``edge`` are fields of the pod specs, ``*_worker`` of the workers around them."""

    def template(node: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
        spec = {
            "nodeName": node,
            "containers": [{"name": "main", "image": "example.com/main:1"}],
            **(given or {}),
        }
        return {"spec": {key: value for key, value in spec.items() if value is not None}}

    mining: dict[str, Any] = {"name": "IBT", **({} if parameters is None else {"parameters": parameters})}
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = {
            PREFIX + key if "/" not in key else key: value for key, value in annotations.items()
        }
    return {
        "apiVersion": API_VERSION,
        "kind": "JointInferenceService",
        "metadata": metadata,
        "spec": {
            "cloudWorker": {
                "model": {"name": "big"},
                "template": template("cloud-1", cloud),
                **(cloud_worker or {}),
            },
            "edgeWorker": {
                "model": {"name": "little"},
                "hardExampleMining": mining,
                "template": template("edge-1", edge),
                **(edge_worker or {}),
            },
        },
    }


def model(
    name: str, url: str, *, namespace: str | None = None, credential: str = "", **annotations: str
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    if annotations:
        metadata["annotations"] = {
            PREFIX + key.replace("_", "-"): value for key, value in annotations.items()
        }
    spec = {"url": url, "format": "pb", **({"credentialName": credential} if credential else {})}
    return {"apiVersion": API_VERSION, "kind": "Model", "metadata": metadata, "spec": spec}


def models(
    big: str = "/data/big/model.pb", little: str = "/data/little/model.pb", **more: Any
) -> list[dict[str, Any]]:
    return [model("big", big, **more), model("little", little, **more)]


def node(name: str, *addresses: str, labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A Node; an address is written ``InternalIP=192.0.2.1``."""
    parted = [address.partition("=") for address in addresses]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {"addresses": [{"type": kind, "address": value} for kind, _, value in parted]},
    }


class Make(NamedTuple):
    """What tests make objects with."""

    service: Callable[..., dict[str, Any]] = service
    model: Callable[..., dict[str, Any]] = model
    models: Callable[..., list[dict[str, Any]]] = models
    node: Callable[..., dict[str, Any]] = node


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Rendered]:
    """Run ``render`` in a folder of its own over files written from objects (or given as text), under a configuration."""

    def run_render(
        *objects: dict[str, Any],
        config: Mapping[str, Any] | None = None,
        lock: str = "",
        files: Mapping[str, str | bytes] | None = None,
        args: tuple[str, ...] = (),
    ) -> Rendered:
        monkeypatch.chdir(tmp_path)
        (tmp_path / ".git").mkdir(exist_ok=True)
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / "objects.json").write_text("".join(f"{json.dumps(item)}\n" for item in objects))
        for name, content in (files or {}).items():
            (tmp_path / "in" / name).write_bytes(content.encode() if isinstance(content, str) else content)
        if config is not None:
            (tmp_path / "sedna-render.yaml").write_text(json.dumps({**CONFIG, **config}))
        if lock:
            (tmp_path / "sedna-render.lock").write_text(lock)
        arguments = ["render", "in", "--format", "json", "--error-format", "json", *args]
        result = CliRunner().invoke(cli.cli, arguments, standalone_mode=False)
        assert result.exception is None, result.exception
        status = int(result.return_value)
        assert status == 0 or result.stdout == ""
        items = json.loads(result.stdout)["items"] if result.stdout else []
        return Rendered(status, items, json.loads(result.stderr or "[]"), result.stdout, result.stderr)

    return run_render


@pytest.fixture
def render(run: Callable[..., Rendered], make: Make) -> Callable[..., Rendered]:
    """Render one service with its two models; keywords of ``service``, and config, objects, args, lock."""

    def render_one(
        *,
        config: Mapping[str, Any] | None = None,
        objects: list[dict[str, Any]] | None = None,
        args: tuple[str, ...] = (),
        lock: str = "",
        big: str = "/data/big/model.pb",
        little: str = "/data/little/model.pb",
        **of_service: Any,
    ) -> Rendered:
        mine = make.service(**of_service)
        namespace = mine["metadata"].get("namespace")
        return run(
            mine,
            *make.models(big, little, namespace=namespace),
            *(objects or []),
            config={"cloudAddress": "192.0.2.1"} if config is None else config,
            args=args,
            lock=lock,
        )

    return render_one
