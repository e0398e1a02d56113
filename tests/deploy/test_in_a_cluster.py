"""The manifests in a real API server: accepted as they are, the pod by restricted pod security, the definition over Sedna's."""

from __future__ import annotations

import copy
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane import api
from tests.controlplane.plane import ControlPlane, wait_until

Manifest = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
OWN = "sedna-reconciler"


@pytest.fixture(scope="module")
def plane(make_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    """One of our own: here Sedna's definition is replaced, which others count on."""
    return make_control_plane()


@pytest.fixture(scope="module")
def taken_by_sednas(plane: ControlPlane) -> dict[str, dict[str, Manifest]]:
    """By generation of Sedna's definition: the services of the fixtures that it takes, as it stores them."""
    found: dict[str, dict[str, Manifest]] = {}
    for generation in ("seed", "head"):
        plane.apply_crds(generation)
        answers = {name: _try(plane, service) for name, service in _services()}
        found[generation] = {name: one.body for name, one in answers.items() if one.status == 201}
    return found


@pytest.fixture(scope="module")
def built(
    plane: ControlPlane, taken_by_sednas: dict[str, dict[str, Manifest]], deploy: Path
) -> list[Manifest]:
    """Everything installed, over Sedna's definition, with kubectl and the strictest check that the API server has."""
    assert taken_by_sednas
    kubectl = [str(Path(sys.executable).with_name("kubectl")), f"--kubeconfig={plane.kubeconfig()}"]
    crd = deploy / "components" / "crd" / "jointinferenceservices.yaml"
    for arguments in (
        ["-k", str(deploy / "overlays" / "cluster-wide")],
        ["-f", str(crd), "--force-conflicts"],
        ["-f", str(deploy / "kube-state-metrics" / "rbac.yaml")],
    ):
        command = [*kubectl, "apply", "--server-side", "--validate=strict", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert not done.stderr, "the API server warns"
    plane.wait_until_served(yaml.safe_load(crd.read_text(encoding="utf-8")))
    probe = {**_service("probe"), "spec": copy.deepcopy(_service("probe")["spec"])}
    probe["spec"]["edgeWorker"]["template"]["spec"]["fieldOfTomorrow"] = 1
    wait_until(
        lambda: "fieldOfTomorrow" in str(_try(plane, probe).body), "our definition to be the one in force"
    )
    rendered = subprocess.run(
        [*kubectl, "kustomize", str(deploy / "overlays" / "cluster-wide")], capture_output=True, check=True
    )
    return list(yaml.safe_load_all(rendered.stdout))


def _services() -> Iterator[tuple[str, Manifest]]:
    for path in sorted(ROOT.joinpath("fixtures").rglob("*.yaml")):
        case = path.parent.relative_to(ROOT / "fixtures").as_posix()
        if case.startswith("invalid/not-yaml"):
            continue
        try:
            documents = list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
        except (yaml.YAMLError, UnicodeDecodeError):  # other tests' business
            continue
        for number, document in enumerate(documents):
            if isinstance(document, dict) and document.get("kind") == "JointInferenceService":
                yield f"{case} {path.stem} {number}", document


def _service(name: str) -> Manifest:
    document: Manifest = yaml.safe_load((ROOT / "fixtures" / "readme" / "service.yaml").read_text())
    document["metadata"] = {"name": name, "namespace": "default"}
    return document


def _try(plane: ControlPlane, service: Manifest) -> api.Answer:
    """Ask for it to be made, without making it, under a name of its own."""
    wanted = {**service, "metadata": {"name": "tried", "namespace": "default"}}
    target = api.path("JointInferenceService", "default")
    return plane.api("POST", target, wanted, query={"dryRun": "All"})


def _lost(kept: Any, more: Any, path: str = "") -> Iterator[str]:
    """What is in ``kept`` and not, or otherwise, in ``more``."""
    if isinstance(kept, dict) and isinstance(more, dict):
        for key, value in kept.items():
            yield from _lost(value, more.get(key), f"{path}.{key}")
    elif isinstance(kept, list) and isinstance(more, list) and len(kept) == len(more):
        for number, (one, other) in enumerate(zip(kept, more, strict=True)):
            yield from _lost(one, other, f"{path}[{number}]")
    elif kept != more:
        yield path


def _as_written(stored: Any, written: Any) -> Any:
    """Without defaults (Sedna's says that a port's protocol is TCP, as the API server says again of the pod)."""
    if isinstance(stored, dict) and isinstance(written, dict):
        return {key: _as_written(one, written[key]) for key, one in stored.items() if key in written}
    if isinstance(stored, list) and isinstance(written, list):
        return [_as_written(*pair) for pair in zip(stored, written, strict=True)]
    return stored


@pytest.mark.parametrize("generation", ["seed", "head"])
def test_what_sednas_definition_takes_ours_takes_and_keeps(
    plane: ControlPlane,
    built: list[Manifest],
    taken_by_sednas: dict[str, dict[str, Manifest]],
    generation: str,
) -> None:
    assert built
    taken = taken_by_sednas[generation]
    assert len(taken) > 100
    written = dict(_services())
    lost = {}
    for name, stored in taken.items():
        answer, spec = _try(plane, written[name]), _as_written(stored["spec"], written[name]["spec"])
        places = [answer.message] if answer.status != 201 else list(_lost(spec, answer.body["spec"]))
        if places:
            lost[name] = places
    assert lost == {}


def test_restricted_pod_security_lets_the_pod_in_and_no_lesser_one(
    plane: ControlPlane, built: list[Manifest]
) -> None:
    (deployment,) = [one for one in built if one["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "tried", "namespace": OWN}
    target, query = api.path("Pod", OWN), {"dryRun": "All"}
    assert plane.api("POST", target, pod, query=query).status == 201

    lesser = copy.deepcopy(pod)
    del lesser["spec"]["containers"][0]["securityContext"]["capabilities"]
    refused = plane.api("POST", target, lesser, query=query)
    assert refused.status == 403
    assert "unrestricted capabilities" in refused.message


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", api.path("Pod"), 200, id="list pods everywhere"),
        pytest.param("GET", api.path("JointInferenceService"), 200, id="list services everywhere"),
        pytest.param("GET", api.path("Lease", OWN, OWN), 404, id="get its lease"),
        pytest.param("GET", api.path("Lease", OWN, "other"), 403, id="get another lease"),
        pytest.param("GET", api.path("Lease", "default", OWN), 403, id="get a lease elsewhere"),
        pytest.param("GET", api.path("Pod", "default", "any"), 403, id="get a pod"),
        pytest.param("GET", api.path("JointInferenceService", "default", "any"), 403, id="get a service"),
        pytest.param("GET", api.path("Secret", "default"), 403, id="list secrets"),
        pytest.param("GET", api.path("Node"), 403, id="list nodes"),
        pytest.param("DELETE", api.path("Pod", "default", "any"), 403, id="delete a pod"),
        pytest.param("PATCH", api.path("JointInferenceService", "default", "any"), 403, id="change a spec"),
        pytest.param(
            "PATCH", api.path("JointInferenceService", "default", "any", "status"), 404, id="change a status"
        ),
    ],
)
def test_its_account_may_do_this(
    plane: ControlPlane, built: list[Manifest], method: str, path: str, status: int
) -> None:
    assert built
    token = plane.service_account_token(OWN, OWN)
    body: Manifest | None = {} if method == "PATCH" else None
    assert plane.api(method, path, body, user=token).status == status


def test_a_status_is_kept_whole_and_shown_in_columns(
    plane: ControlPlane, built: list[Manifest], sample: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    assert built
    name = request.node.callspec.id
    plane.create(_service(name))
    status = sample["object"].get("status", {})
    target = api.path("JointInferenceService", "default", name, "status")
    stored = plane.api("PATCH", target, {"status": status}).ok()
    assert stored.get("status", {}) == status

    kubectl = [str(Path(sys.executable).with_name("kubectl")), f"--kubeconfig={plane.kubeconfig()}"]
    printed = subprocess.run(
        [*kubectl, "get", "ji", name, "-n", "default"], capture_output=True, text=True, check=True
    )
    head, row = printed.stdout.splitlines()
    titles = head.split()
    assert titles == ["NAME", "STATE", "READY", "CLOUD", "EDGE", "AGE"]
    starts = [*map(head.index, titles), None]
    cells = [row[begin:end].strip() for begin, end in itertools.pairwise(starts)]
    reasons = {one["type"]: one.get("reason", "") for one in status.get("conditions", [])}
    workers = [reasons.get(f"{worker}WorkerReady", "") for worker in ("Cloud", "Edge")]
    assert cells[1:5] == [sample["expect"]["state"], sample["expect"]["ready"], *workers]
