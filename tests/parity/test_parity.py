"""What Sedna's own controller created, recorded, against what we render: every difference is a named one.

The recordings are in tests/golden: requests that the controller sent at the seed's commit (April 2021, bare Pods) and at
v0.7 (Deployments), random parts masked, injected env sorted by name. The names are those of docs/parity.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sedna_render
from sedna_render.findings import InputError

ROOT = Path(__file__).parents[2]
RELEASES = {
    "seed": ("seed_createpod.json", {}),
    "v0.7": ("deployment_createworkers.json", {"workload": "Deployment", "expose": "EdgeMesh"}),
}
WORKER_TYPE = "jointinferenceservice.sedna.io/worker-type"


class Difference(NamedTuple):
    """One value that is not the same: None stands for "not there"."""

    release: str
    kind: str
    worker: str
    path: tuple[str, ...]
    theirs: Any
    ours: Any


def ends(*steps: str) -> Callable[[Difference], bool]:
    return lambda found: found.path[-len(steps) :] == steps


def holds(*steps: str) -> Callable[[Difference], bool]:
    return lambda found: any(found.path[i : i + len(steps)] == steps for i in range(len(found.path)))


def env(*names: str) -> Callable[[Difference], bool]:
    return lambda found: any(holds("env", name)(found) for name in names)


def mount_prefix(found: Difference) -> bool:
    return (
        found.release == "seed"
        and str(found.theirs).replace("/hostpath/", "/home/data/").rstrip("/") == found.ours
    )


#: Name, as docs/parity.md has it, and which differences it explains.
DEVIATIONS: dict[str, Callable[[Difference], bool]] = {
    "mount-prefix": lambda found: mount_prefix(found) and not ends("mountPath")(found),
    "mount-path-without-slash": lambda found: (
        ends("mountPath")(found) and (mount_prefix(found) or str(found.theirs).rstrip("/") == found.ours)
    ),
    "worker-type-selected": lambda found: (
        found.theirs is None and found.ours == found.worker and found.path[-1] == WORKER_TYPE
    ),
    "no-external-ips": lambda found: found.path[:2] == ("spec", "externalIPs") and found.ours is None,
    "fixed-names": lambda found: found.path in (("metadata", "name"), ("metadata", "generateName")),
    "fixed-worker-name": lambda found: (
        env("WORKER_NAME")(found)
        and found.theirs == f"{found.worker}worker-XXXXX"
        and len(found.ours) == len(found.theirs)
    ),
    "fixed-node-port": lambda found: (
        found.release == "seed"
        and (ends("nodePort")(found) or (env("BIG_MODEL_PORT")(found) and found.theirs == "31080"))
    ),
    "no-owner": lambda found: found.path[:2] == ("metadata", "ownerReferences") and found.ours is None,
    "no-uid-label": lambda found: (
        found.path[-1] == "jointinferenceservice.sedna.io/uid" and found.ours is None
    ),
    "no-app-label": lambda found: found.path[-1] == "app.sedna.io" and found.ours is None,
    "managed-by": lambda found: found.path[-1] == "app.kubernetes.io/managed-by" and found.theirs is None,
    "job-name": lambda found: env("JOB_NAME")(found) and found.theirs is None,
    "bind-all-addresses": lambda found: env("BIG_MODEL_BIND_IP")(found) and found.theirs is None,
    "data-path-prefix": lambda found: (
        found.release == "seed" and env("DATA_PATH_PREFIX")(found) and found.theirs is None
    ),
    "empty-parameters": lambda found: (
        env("HEM_PARAMETERS")(found) and (found.theirs, found.ours) == ("null", "[]")
    ),
    "env-once": lambda found: found.path[-1] == "(order of env)" and len(found.theirs) > len(found.ours),
    "secret-by-reference": lambda found: (
        (env("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")(found) and ends("value")(found))
        or (env("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")(found) and holds("secretKeyRef")(found))
    ),
    "host-network-dns": lambda found: (
        ends("dnsPolicy")(found) and found.worker == "edge" and found.theirs is None
    ),
    "host-network": lambda found: (
        found.release == "v0.7"
        and ends("hostNetwork")(found)
        and found.worker == "edge"
        and found.ours is True
    ),
    "service-port": lambda found: (
        found.kind == "Service"
        and found.theirs is None
        and found.path[1:] in (("ports", "0", "name"), ("ports", "0", "protocol"), ("type",))
    ),
    "one-replica": lambda found: (
        found.path == ("spec", "replicas") and (found.theirs, found.ours) == (None, 1)
    ),
    "recreate": lambda found: found.kind == "Deployment" and found.path[:2] == ("spec", "strategy"),
    "first-address": lambda found: env("BIG_MODEL_IP")(found) and found.theirs == "fd00::1",
    "initializer-of-releases": lambda found: (
        found.release == "seed"
        and holds("initContainers", "storage-initializer")(found)
        and (ends("image")(found) or env("INDIRECT_URL_MARK")(found))
    ),
    "nothing-empty": lambda found: (
        found.theirs == {} and found.ours is None and (found.path[0] == "status" or ends("resources")(found))
    ),
}

#: Cases in which the controller creates pods that cannot work, or dies, and we refuse: with which rules.
REFUSED = {
    "http-models": {"model-archive"},
    "file-scheme": {"model-url-scheme"},
    "root-file": {"model-url-root"},
    "dir-trailing-slash": {"model-url-trailing-slash"},
    "edge-model-missing": {"model-not-found"},
    "cloud-model-missing": {"model-not-found"},
    "bad-url-escape": {"model-url-unparseable"},
}
REFUSED_BY_RELEASE = {
    "seed": {
        "cloud-no-nodename": {"no-cloud-address"},
        "cloud-node-missing": {"no-cloud-address"},
        "node-no-ip": {"no-cloud-address"},
    },
    "v0.7": {
        "s3-secret-bad": {"model-credential-without-endpoint"},
        "multi-container-and-template-meta": {"restart-policy"},
    },
}
#: The recorded Secrets: what GM read of them beside the values.
SECRETS = {"good": ("play.min.io", ""), "http": ("minio.default:9000", "0")}


def recordings(release: str) -> dict[str, dict[str, Any]]:
    name, _ = RELEASES[release]
    cases = json.loads((ROOT / "tests" / "golden" / name).read_text())
    return {case["case"]: case for case in cases}


CASES = [
    pytest.param(release, case, id=f"{release}-{case}")
    for release in RELEASES
    for case in recordings(release)
]


def objects_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield case["jointInferenceService"]
    yield from case["nodes"].values()
    for name, reference in case["models"].items():
        url, _, credential = reference.partition("|")
        spec = {"url": url, "format": "pb", **({"credentialName": credential} if credential else {})}
        metadata = {"name": name, "namespace": "default"}
        yield {"apiVersion": "sedna.io/v1alpha1", "kind": "Model", "metadata": metadata, "spec": spec}
    for name, (endpoint, use_https) in SECRETS.items():
        annotations = {"s3-endpoint": endpoint, **({"s3-usehttps": use_https} if use_https else {})}
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "data": {"ACCESS_KEY_ID": "QUs=", "SECRET_ACCESS_KEY": "QUs="},
        }


def created(case: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What the controller created, by kind and worker."""
    found = {}
    for request in case["requests"]:
        if request["method"] == "POST":
            body = request["body"]
            metadata = body["metadata"]
            name = metadata.get("name") or metadata["generateName"].rstrip("-")
            found[(body["kind"], "edge" if name.endswith("edge") else "cloud")] = body
    return found


def values(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The leaves of an object by path; named lists by name, so that an added entry is one difference."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from values(value, (*path, key))
    elif isinstance(data, list) and data:
        named = path[-1] in ("env", "containers", "initContainers", "volumes", "volumeMounts")
        for index, value in enumerate(data):
            yield from values(value, (*path, value["name"] if named else str(index)))
        if path[-1] == "env":
            yield (*path, "(order of env)"), [entry["name"] for entry in data]
    else:
        yield path, data


def differences(release: str, case: dict[str, Any]) -> Iterator[Difference]:
    theirs = created(case)
    for manifest in sedna_render.render(objects_of(case), config=RELEASES[release][1]):
        worker = manifest["metadata"]["labels"][WORKER_TYPE]
        other = theirs.pop((manifest["kind"], worker), None)
        if other is None:
            assert case["injectedFailures"], "an object that the controller did not create"
            continue
        before, after = dict(values(other)), dict(values(manifest))
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path), after.get(path)
            if path[-1] == "(order of env)":
                old, new = own_order(case, path, old or [], new or [])
            if old != new:
                yield Difference(release, manifest["kind"], worker, path, old, new)
    assert not theirs, "an object of the controller's that is not rendered"


def own_order(
    case: dict[str, Any], path: tuple[str, ...], old: list[str], new: list[str]
) -> tuple[list[str], list[str]]:
    """The order of the user's own entries: the recordings have the injected ones sorted, behind them."""
    container = path[-3]
    spec = case["jointInferenceService"]["spec"]
    own = {
        entry["name"]
        for worker in spec.values()
        for entry_container in worker["template"]["spec"]["containers"]
        if entry_container["name"] == container
        for entry in entry_container.get("env", [])
    }
    return [name for name in old if name in own], [name for name in new if name in own]


@pytest.mark.parametrize("release, case", CASES)
def test_every_difference_from_the_controller_is_a_named_one(release: str, case: str) -> None:
    recording = recordings(release)[case]
    refused = (REFUSED | REFUSED_BY_RELEASE[release]).get(case)
    if refused:
        with pytest.raises(InputError) as caught:
            sedna_render.render(objects_of(recording), config=RELEASES[release][1])
        assert {finding.rule for finding in caught.value.findings} == refused
        return

    unnamed = [
        found
        for found in differences(release, recording)
        if not any(explains(found) for explains in DEVIATIONS.values())
    ]

    assert unnamed == []


def test_every_named_deviation_is_seen_in_a_recording_and_told_in_the_docs() -> None:
    seen = {
        name
        for release, case in (param.values for param in CASES)
        if case not in REFUSED | REFUSED_BY_RELEASE[str(release)]
        for found in differences(str(release), recordings(str(release))[str(case)])
        for name, explains in DEVIATIONS.items()
        if explains(found)
    }
    told = (ROOT / "docs" / "parity.md").read_text()

    assert seen == DEVIATIONS.keys()
    assert [name for name in DEVIATIONS if f"`{name}`" not in told] == []
    assert [rule for rules in REFUSED.values() for rule in rules if f"`{rule}`" not in told] == []
