"""What holds for every service: the user's pod template survives, order plays no part, strings stay strings."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import sedna_render
from sedna_render import cli

ROOT = Path(__file__).parents[2]
API_VERSION = "sedna.io/v1alpha1"
CONFIG = {"cloudAddress": "192.0.2.1"}
INJECTED = (
    *("NAMESPACE", "SERVICE_NAME", "WORKER_NAME", "JOB_NAME", "MODEL_URL", "DATA_PATH_PREFIX"),
    *("BIG_MODEL_BIND_PORT", "BIG_MODEL_BIND_IP", "BIG_MODEL_IP", "BIG_MODEL_PORT"),
    *("HEM_NAME", "HEM_PARAMETERS", "LC_SERVER"),
)
FREE = ("JOB_NAME", "DATA_PATH_PREFIX", "BIG_MODEL_BIND_IP", "LC_SERVER")
MODEL_FOLDERS = ("/home/data/m", "/downloads", "/pvc/claim")
URLS = ("/m/big.pb", "https://example.com/m/big.pb", "s3://bucket/m/big.pb", "pvc://claim/big.pb")

# --- pod templates as Kubernetes accepts them ---------------------------------------------------------------------

names = st.from_regex(r"[a-z]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
plain = st.recursive(
    st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
env_names = st.from_regex(r"X[A-Z_0-9]{1,6}", fullmatch=True)
references = st.sampled_from(
    [
        {"fieldRef": {"fieldPath": "metadata.name"}},
        {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}},
        {"resourceFieldRef": {"containerName": "c", "resource": "limits.cpu", "divisor": "1m"}},
        {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}},
        {"secretKeyRef": {"name": "s", "key": "k"}},
        {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}},
    ]
)
env_entries = st.one_of(
    st.builds(lambda name, value: {"name": name, "value": value}, env_names, texts),
    st.builds(lambda name, value: {"name": name, "valueFrom": value}, env_names, references),
    st.builds(lambda name: {"name": name}, env_names),
)
probes = st.sampled_from(
    [
        {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
        {"tcpSocket": {"port": 80}, "failureThreshold": 30},
        {"exec": {"command": ["sh", "-c", "true"]}},
        {"grpc": {"port": 81, "service": ""}},
    ]
)
container_fields = st.fixed_dictionaries(
    {"image": st.just("example.com/a:1")},
    optional={
        "command": st.lists(texts, max_size=2),
        "args": st.lists(texts, max_size=3),
        "env": st.lists(env_entries, max_size=4, unique_by=lambda entry: entry["name"]),
        "envFrom": st.just([{"prefix": "P_", "configMapRef": {"name": "c"}}]),
        "livenessProbe": probes,
        "startupProbe": probes,
        "resources": st.sampled_from(
            [{"limits": {"nvidia.com/gpu": "1"}}, {"requests": {"cpu": "100m", "memory": 64}}]
        ),
        "securityContext": st.sampled_from([{}, {"privileged": False, "capabilities": {"drop": ["ALL"]}}]),
        "imagePullPolicy": st.sampled_from(["Always", "Never"]),
        "lifecycle": st.just({"preStop": {"sleep": {"seconds": 1}}}),
        "workingDir": texts,
        "tty": st.booleans(),
        "futureOfContainers": plain,
    },
)
volume_sources: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"emptyDir": {}},
        {"hostPath": {"path": "/data", "type": "DirectoryOrCreate"}},
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}], "defaultMode": 420}},
        {"persistentVolumeClaim": {"claimName": "other"}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"futureOfVolumes": {"a": [1]}},
    ]
)
tolerations = st.sampled_from([{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoSchedule"}])
pod_fields = st.fixed_dictionaries(
    {},
    optional={
        "nodeName": names,
        "nodeSelector": st.dictionaries(names, names, max_size=2),
        "tolerations": st.lists(tolerations, max_size=2),
        "affinity": st.sampled_from(
            [
                {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
                {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"labelSelector": {}, "topologyKey": "z"}
                        ]
                    }
                },
            ]
        ),
        "securityContext": st.sampled_from(
            [{}, {"fsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}]
        ),
        "serviceAccountName": names,
        "automountServiceAccountToken": st.booleans(),
        "terminationGracePeriodSeconds": st.integers(0, 60),
        "dnsConfig": st.just({"options": [{"name": "ndots", "value": "2"}]}),
        "hostAliases": st.just([{"ip": "192.0.2.5", "hostnames": ["a"]}]),
        "imagePullSecrets": st.just([{"name": "s"}]),
        "priorityClassName": names,
        "runtimeClassName": names,
        "topologySpreadConstraints": st.just(
            [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]
        ),
        "resources": st.just({"limits": {"cpu": "2"}}),
        "restartPolicy": st.just("Always"),
        "futureOfPods": plain,
    },
)


@st.composite
def pod_specs(draw: st.DrawFn) -> dict[str, Any]:
    """A pod spec: containers, init containers and sidecars, volumes that they mount, ports that do not clash."""
    used = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    volumes = draw(st.lists(names, max_size=3, unique=True))
    spec = draw(pod_fields)
    containers = []
    for number, name in enumerate(used):
        container = {"name": f"c-{name}", **draw(container_fields)}
        mounted: list[str] = []
        if volumes:
            mounted = draw(st.lists(st.sampled_from(volumes), max_size=2, unique=True))
        has_mounts: bool = draw(st.booleans())
        if mounted or has_mounts:
            container["volumeMounts"] = [
                {"name": f"v-{item}", "mountPath": f"/mnt/{item}"} for item in mounted
            ]
        if draw(st.booleans()):
            container["ports"] = [{"name": f"p-{number}", "containerPort": 8000 + number}]
        containers.append(container)
    split = draw(st.integers(0, len(containers) - 1))
    initial = containers[:split]
    for container in initial:
        if draw(st.booleans()):
            container["restartPolicy"] = "Always"
    if volumes:
        sources: list[dict[str, Any]] = [draw(volume_sources) for _ in volumes]
        spec["volumes"] = [
            {"name": f"v-{item}", **source} for item, source in zip(volumes, sources, strict=True)
        ]
    if initial:
        spec["initContainers"] = initial
    spec["containers"] = containers[split:]
    # A user writes the fields in any order.
    return {key: spec[key] for key in draw(st.permutations(list(spec)))}


overrides = st.dictionaries(st.sampled_from(FREE), texts, max_size=4)


def with_env(spec: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    """The spec with env entries of its own for names that are also injected, between the user's others."""
    changed = copy.deepcopy(spec)
    for container in changed["containers"]:
        own = container.get("env", [])
        extra = [{"name": name, "value": value} for name, value in values.items()]
        if extra:
            container["env"] = [*own[:1], *extra, *own[1:]]
    return changed


def objects(
    cloud: dict[str, Any], edge: dict[str, Any], url: str = URLS[0], name: str = "s"
) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": API_VERSION,
            "kind": "JointInferenceService",
            "metadata": {"name": name},
            "spec": {
                "cloudWorker": {"model": {"name": "m"}, "template": {"spec": cloud}},
                "edgeWorker": {
                    "model": {"name": "m"},
                    "hardExampleMining": {"name": "IBT", "parameters": [{"key": "a", "value": "b"}]},
                    "template": {"spec": edge},
                },
            },
        },
        {
            "apiVersion": API_VERSION,
            "kind": "Model",
            "metadata": {"name": "m"},
            "spec": {"url": url, "format": "pb"},
        },
    ]


def config(workload: str, expose: str) -> dict[str, str]:
    return {**CONFIG, "workload": workload, "expose": expose}


def rendered_pods(given_objects: list[dict[str, Any]], settings_: dict[str, str]) -> list[dict[str, Any]]:
    """The pod specs of the cloud worker and of the edge worker."""
    manifests = sedna_render.render(given_objects, config=settings_)
    workloads = [manifest["spec"] for manifest in manifests if manifest["kind"] in ("Pod", "Deployment")]
    return [spec["template"]["spec"] if "template" in spec else spec for spec in workloads]


def without_injected(rendered: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A rendered pod spec less all that section 4 and 5 of the contract put there, by name."""
    rest = copy.deepcopy(rendered)
    for field in ("hostNetwork", "dnsPolicy"):
        if field not in own:
            rest.pop(field, None)
    for container, mine in zip(rest["containers"], own["containers"], strict=True):
        own_names = {entry["name"] for entry in mine.get("env", [])}
        remains = {
            "env": [
                entry
                for entry in container["env"]
                if entry["name"] in own_names or entry["name"] not in INJECTED
            ],
            "volumeMounts": [
                mount
                for mount in container["volumeMounts"]
                if not mount["mountPath"].startswith(MODEL_FOLDERS)
            ],
        }
        for field, left in remains.items():
            container[field] = left
            if not left and field not in mine:
                del container[field]
    for field, added in (
        ("initContainers", {"storage-initializer"}),
        ("volumes", {"mz", "sedna-model", "sedna-storage-initializer"}),
    ):
        left = [entry for entry in rest.get(field, []) if entry["name"] not in added]
        rest[field] = left
        if not left and field not in own:
            del rest[field]
    return rest


profiles = st.tuples(st.sampled_from(["Pod", "Deployment"]), st.sampled_from(["NodePort", "EdgeMesh"]))


@settings(max_examples=40)
@given(cloud=pod_specs(), edge=pod_specs(), own=overrides, profile=profiles, url=st.sampled_from(URLS))
def test_the_users_pod_template_survives_whole(
    cloud: dict[str, Any], edge: dict[str, Any], own: dict[str, str], profile: tuple[str, str], url: str
) -> None:
    cloud, edge = with_env(cloud, own), with_env(edge, own)
    given_objects = objects(cloud, edge, url)
    before = copy.deepcopy(given_objects)

    pods = rendered_pods(given_objects, config(*profile))

    assert [without_injected(pod, mine) for pod, mine in zip(pods, (cloud, edge), strict=True)] == [
        cloud,
        edge,
    ]
    assert given_objects == before  # nothing that was handed in is changed


@settings(max_examples=20)
@given(cloud=pod_specs(), edge=pod_specs())
def test_the_same_survives_behind_an_external_address(cloud: dict[str, Any], edge: dict[str, Any]) -> None:
    given_objects = objects(cloud, edge)
    given_objects[0]["metadata"]["annotations"] = {
        "render.sedna.io/expose": "External",
        "render.sedna.io/big-model-address": "big.example.com",
    }

    pods = rendered_pods(given_objects, {})

    assert [without_injected(pod, mine) for pod, mine in zip(pods, (cloud, edge), strict=True)] == [
        cloud,
        edge,
    ]


@settings(max_examples=25)
@given(cloud=pod_specs(), edge=pod_specs(), own=overrides, profile=profiles, url=st.sampled_from(URLS))
def test_what_was_rendered_renders_to_itself(
    cloud: dict[str, Any], edge: dict[str, Any], own: dict[str, str], profile: tuple[str, str], url: str
) -> None:
    once = rendered_pods(objects(with_env(cloud, own), with_env(edge, own), url), config(*profile))

    again = rendered_pods(objects(once[0], once[1], url), config(*profile))

    assert again == once
    assert json.dumps(again) == json.dumps(once)


@settings(max_examples=15)
@given(data=st.data(), specs=st.lists(pod_specs(), min_size=2, max_size=3))
def test_the_order_of_objects_plays_no_part(data: st.DataObject, specs: list[dict[str, Any]]) -> None:
    everything = [objects(spec, spec, name=f"s{number}")[0] for number, spec in enumerate(specs)]
    everything += [objects(specs[0], specs[0])[1]]

    shuffled = data.draw(st.permutations(everything))

    assert json.dumps(sedna_render.render(shuffled, config=CONFIG)) == json.dumps(
        sedna_render.render(everything, config=CONFIG)
    )


# --- strings, through the bytes and kubectl ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder of this module's runs, below a .git of its own."""
    path = tmp_path_factory.mktemp("properties")
    (path / ".git").mkdir()
    before = Path.cwd()
    os.chdir(path)
    yield path
    os.chdir(before)


def invoke(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.cli, arguments, input=stdin, standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), result.stdout, result.stderr


def as_kubectl_reads(text: str) -> list[dict[str, Any]]:
    kubectl = Path(sys.executable).with_name("kubectl")
    command = [str(kubectl), "annotate", "--local", "-f", "-", "-o", "json", "probe=1"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    decoder, position, found = json.JSONDecoder(), 0, []
    output = done.stdout.decode()
    while output[position:].strip():
        position += len(output[position:]) - len(output[position:].lstrip())
        item, position = decoder.raw_decode(output, position)
        del item["metadata"]["annotations"]["probe"]
        found.append(item)
    return found


hostile = st.one_of(
    texts,
    st.sampled_from(
        [
            "yes",
            "012",
            "0o7",
            "1e3",
            "1_0",
            "12:30",
            "=",
            "<<",
            "~",
            "null",
            ".inf",
            "2024-01-01",
            "- a",
            "a: b",
            "a #b",
        ]
    ),
    st.text("\n\r\t\x85\u2028\u2029\ufeff '\"\\#:-|>{}[]$&*!%@`", max_size=12),
)
label_values = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,10}[A-Za-z0-9])?)?", fullmatch=True)


@settings(max_examples=8)
@given(
    strings=st.lists(hostile, min_size=30, max_size=60),
    labels=st.lists(label_values, min_size=5, max_size=10),
)
def test_every_string_comes_back_from_kubectl(folder: Path, strings: list[str], labels: list[str]) -> None:
    entries = [{"name": f"X{number}", "value": text} for number, text in enumerate(strings)]
    container = {"name": "c", "image": "a/b:1", "args": strings, "command": strings, "env": entries}
    given_objects = objects({"containers": [container]}, {"containers": [container]})
    worker = given_objects[0]["spec"]["edgeWorker"]
    worker["hardExampleMining"]["parameters"] = [{"key": text, "value": text} for text in strings]
    metadata = {
        "annotations": {f"example.com/a{number}": text for number, text in enumerate(strings)},
        "labels": {f"example.com/l{number}": text for number, text in enumerate(labels)},
    }
    worker["template"]["metadata"] = metadata
    (folder / "strings").mkdir(exist_ok=True)
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": given_objects})
    (folder / "strings" / "o.json").write_text(content)

    status, stdout, stderr = invoke("render", "strings", "--expose", "EdgeMesh")

    assert status == 0, stderr
    _, cloud, edge = as_kubectl_reads(stdout)
    for pod in (cloud, edge):
        [read] = pod["spec"]["containers"]
        assert read["args"] == read["command"] == strings
        assert [entry["value"] for entry in read["env"][-len(strings) :]] == strings
    assert edge["metadata"]["annotations"].items() >= metadata["annotations"].items()
    assert edge["metadata"]["labels"].items() >= metadata["labels"].items()
    [parameters] = [
        entry["value"] for entry in edge["spec"]["containers"][0]["env"] if entry["name"] == "HEM_PARAMETERS"
    ]
    assert json.loads(parameters.replace("$$", "$")) == [{"key": text, "value": text} for text in strings]


def test_documents_and_paths_may_come_in_any_order(folder: Path) -> None:
    spec = {"containers": [{"name": "c", "image": "a/b:1"}]}
    services = [json.dumps(objects(spec, spec, name=name)[0]) for name in ("a", "b", "c")]
    model = json.dumps(objects(spec, spec)[1])
    place = folder / "order"
    place.mkdir()
    (place / "model.yaml").write_text(model)
    outputs = set()
    for order in (services, services[::-1], [services[1], services[2], services[0]]):
        (place / "services.yaml").write_text("\n---\n".join(order))
        for paths in (
            ["order"],
            ["order/model.yaml", "order/services.yaml"],
            ["order/services.yaml", "order/*.yaml"],
        ):
            outputs.add(invoke("render", *paths, "--expose", "EdgeMesh")[:2])  # messages name lines

    assert len(outputs) == 1
    assert outputs.pop()[0] == 0


# --- one service and the others ---------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove", "part"]),
        st.sampled_from("abcdefgh"),
        st.sampled_from("abcdefgh"),
    ),
    min_size=2,
    max_size=7,
)
numbers = iter(range(10**6))


@settings(max_examples=25)
@given(steps=STEPS, layout=st.sampled_from(["service", "object"]))
def test_a_services_bytes_are_its_own_whatever_comes_and_goes_beside_it(
    folder: Path, steps: list[tuple[str, str, str]], layout: str
) -> None:
    place = f"fleet{next(numbers)}"
    spec = {"containers": [{"name": "c", "image": "a/b:1"}]}
    (folder / place / "in").mkdir(parents=True)
    (folder / place / "sedna-render.yaml").write_text(
        json.dumps(
            {"apiVersion": "render.sedna.io/v1alpha1", "kind": "RenderConfig", **CONFIG, "layout": layout}
        )
    )
    (folder / place / "in" / "model.json").write_text(json.dumps(objects(spec, spec)[1]))
    there: set[str] = set()
    before: dict[str, bytes] = {}
    for step, name, other in steps:
        paths = [f"{place}/in"]
        file = folder / place / "in" / f"{name}.json"
        if step == "add":
            there |= {name, other}
            for added in (name, other):
                (folder / place / "in" / f"{added}.json").write_text(
                    json.dumps(objects(spec, spec, name=f"s{added}")[0])
                )
        elif step == "remove":
            there.discard(name)
            file.unlink(missing_ok=True)
        elif name in there:
            paths = [f"{place}/in/{name}.json", f"{place}/in/model.json"]

        status, stdout, stderr = invoke("render", *paths, "--allow-empty", "-o", f"{place}/out")

        assert (status, stdout) == (0, ""), stderr
        out = folder / place / "out"
        after = {path.name: path.read_bytes() for path in out.glob("[!.]*")} if out.exists() else {}
        assert {path.split(".")[1 if layout == "service" else 2].partition("-")[0] for path in after} == {
            f"s{item}" for item in there
        }
        for path in before.keys() & after.keys():
            assert after[path] == before[path], path
        before = after
    ports = [
        line for content in before.values() for line in content.decode().splitlines() if "nodePort:" in line
    ]
    assert len(ports) == len(set(ports)) == len(there)


def test_the_seed_of_pythons_hashes_plays_no_part() -> None:
    outputs = set()
    for seed in ("0", "1", "4242"):
        command = [
            sys.executable,
            "-m",
            "sedna_render",
            "render",
            "fixtures/helmet-detection",
            "fixtures/many-in-one-file",
        ]
        command += ["fixtures/affinity-cloud", "--templates", "templates"]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False
        )
        outputs.add((done.returncode, done.stdout, done.stderr))

    assert len(outputs) == 1
    assert outputs.pop()[0] == 0
