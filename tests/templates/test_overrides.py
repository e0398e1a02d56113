"""Templates that a user replaces one by one: by flag and by configuration, and every way in which one can be broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sedna_render import cli

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "templates"
CASE = ROOT / "fixtures" / "helmet-detection"
CONFIG = "apiVersion: render.sedna.io/v1alpha1\nkind: RenderConfig\n"


@pytest.fixture(autouse=True)
def in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "in").mkdir()
    for name in ("service.yaml", "models.yaml", "nodes.yaml"):
        (tmp_path / "in" / name).write_bytes((CASE / name).read_bytes())


def render(*arguments: str, **files: str) -> tuple[int, str, str]:
    """Render the example with files of the folder ``mine``; ``pod`` stands for ``pod.yaml``."""
    for name, text in files.items():
        (Path("mine") / f"{name.replace('__', '.')}.yaml").write_text(text)
    arguments = arguments or ("--templates", "mine")
    result = CliRunner().invoke(cli.cli, ["render", "in", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.stdout, result.stderr


def errors(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if ": error[" in line]


def shipped(name: str) -> str:
    return (SHIPPED / f"{name}.yaml").read_text()


def test_the_templates_that_ship_give_the_same_when_given_as_overrides() -> None:
    plain = render("--no-color")

    copied = render(**{path.stem.replace(".", "__"): path.read_text() for path in SHIPPED.iterdir()})

    assert copied == plain


def test_the_templates_that_ship_give_the_same_bytes_by_jinja2() -> None:
    plain = render("--no-color")

    forced = {
        path.stem.replace(".", "__"): "{# by Jinja2 #}" + path.read_text() for path in SHIPPED.iterdir()
    }

    assert render(**forced) == plain


def test_one_file_is_replaced_and_the_others_stay() -> None:
    changed = shipped("pod").replace("metadata:\n", "metadata:\n  generation: 7\n")

    status, stdout, _ = render(pod=changed)

    assert status == 0
    assert stdout.count("generation: 7") == 2
    assert stdout.replace("  generation: 7\n", "") == render("--no-color")[1]


def test_the_configuration_names_the_folder_relative_to_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sedna-render.yaml").write_text(f"{CONFIG}templates: mine\n")
    (tmp_path / "mine" / "service.nodeport.yaml").write_text(
        shipped("service.nodeport").replace("tcp-0", "big")
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    result = CliRunner().invoke(cli.cli, ["render", "../in"], standalone_mode=False)

    assert result.return_value == 0, result.stderr
    assert "- name: big\n" in result.stdout


def test_the_flag_stands_before_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "sedna-render.yaml").write_text(f"{CONFIG}templates: nowhere\n")

    assert render("--templates", "mine")[0] == 0


def test_conditions_loops_and_included_files_work_in_a_manifest() -> None:
    text = shipped("service.nodeport").replace(
        "  type: NodePort\n",
        "  type: NodePort\n{% if port == 5000 %}  sessionAffinity: ClientIP\n{% endif %}"
        "  loadBalancerSourceRanges:\n{% for net in ['192.0.2.0/24', '198.51.100.0/24'] %}    - {{ net }}\n{% endfor %}",
    )

    status, stdout, stderr = render(service__nodeport=text)

    assert status == 0, stderr
    assert "sessionAffinity: ClientIP" in stdout
    assert '  - "192.0.2.0/24"\n  - "198.51.100.0/24"\n' in stdout


def test_a_services_own_text_that_looks_like_a_template_stays_text() -> None:
    path = Path("in/service.yaml")
    path.write_text(path.read_text().replace("rtsp://localhost/video", "'{{ 7*7 }}{% raw %}{# x #} {y: z}'"))

    for text in (shipped("pod"), "{# by Jinja2 #}" + shipped("pod")):
        status, stdout, _ = render(pod=text)

        assert status == 0
        assert 'value: "{{ 7*7 }}{% raw %}{# x #} {y: z}"' in stdout


# Template, its text, the line that is named (0: the file), and a part of what is said.
BROKEN: dict[str, tuple[str, str, int, str]] = {
    "syntax": (
        "pod",
        shipped("pod").replace("spec: {{ pod_spec }}", "spec: {{ pod_spec"),
        10,
        "not a valid template",
    ),
    "unknown tag": ("pod", "a: 1\n{% iff x %}\n", 2, "Encountered unknown tag 'iff'"),
    "an end without a beginning": ("pod", "{# c #}\na: 1\n{% endif %}\n", 3, "not a valid template"),
    "undefined": ("pod", shipped("pod").replace("{{ name }}", "{{ nmae }}"), 5, "nmae"),
    "undefined by Jinja2": ("pod", "{# c #}" + shipped("pod").replace("{{ name }}", "{{ nmae }}"), 5, "nmae"),
    "undefined in a condition": ("pod", "a: 1\nb: 2\n{% if nmae %}c: 1{% endif %}\n", 3, "nmae"),
    "undefined attribute": ("pod", "a: 1\nb: {{ labels.nothing.here }}\n", 2, "nothing"),
    "an expression that raises": ("pod", "a: 1\n\nb: {{ 1 // 0 }}\n", 3, "ZeroDivisionError"),
    "a filter that is not there": ("pod", "a: 1\nb: {{ name | no_such_filter }}\n", 2, "no_such_filter"),
    "a forbidden attribute": ("pod", "a: 1\nb: {{ name.__class__ }}\n", 2, "__class__"),
    "an include that is not there": ("pod", "a: 1\n{% include 'nothing.yaml' %}\n", 2, "nothing.yaml"),
    "no YAML": ("pod", shipped("pod").replace("  name: {{ name }}", "  name: {{ name }}\n\tx: 1"), 6, "tab"),
    "no YAML by Jinja2": ("pod", "{# c #}" + shipped("pod").replace("  labels:", "   labels:"), 7, ""),
    "duplicate key": ("pod", shipped("pod") + "kind: Pod\n", 11, "kind: is given twice"),
    "two documents": ("pod", shipped("pod") + "---\na: 1\n", 0, "2 YAML documents"),
    "no document": ("pod", "# nothing\n", 0, "0 YAML documents"),
    "a list": ("pod", "- a\n", 0, "not a mapping"),
    "wrong kind": ("pod", shipped("pod").replace("kind: Pod", "kind: Job"), 3, "Job"),
    "wrong name": ("pod", shipped("pod").replace("name: {{ name }}", "name: fixed"), 5, "fixed"),
    "wrong namespace": (
        "pod",
        shipped("pod").replace("namespace: {{ namespace }}", "namespace: x"),
        6,
        " x/",
    ),
    "no name": ("pod", shipped("pod").replace("  name: {{ name }}\n", ""), 4, "None"),
    "metadata that is text": ("pod", "kind: Pod\nmetadata: x\n", 2, "None"),
    "schema: a field": (
        "service.nodeport",
        shipped("service.nodeport").replace("protocol:", "protcol:"),
        14,
        "protcol",
    ),
    "schema: a type": (
        "service.nodeport",
        shipped("service.nodeport").replace("port: {{ port }}", 'port: "x"'),
        15,
        "port",
    ),
    "a list inside text": (
        "pod",
        shipped("pod").replace("name: {{ name }}", "name: x-{{ labels }}"),
        5,
        "inside other text",
    ),
    "part: an unknown field": ("worker.cloud", "a: []\n" + shipped("worker.cloud"), 1, "unknown field a"),
    "part: env that is no list": ("worker.cloud", "env:\n  A: 1\n", 2, "env"),
    "part: an env value": ("worker.cloud", "env:\n  - name: A\n    value: 5\n", 3, "string"),
    "part: an entry without a name": ("worker.cloud", "env:\n  - value: x\n", 2, "name"),
    "part: a pod field": (
        "worker.edge",
        shipped("worker.edge").replace("hostNetwork: true", "hostNetwork: on please"),
        5,
        "hostNetwork",
    ),
    "part: spec that is text": ("worker.edge", "spec: x\nenv: []\n", 1, "spec"),
    "part: a volume": (
        "model.hostpath",
        shipped("model.hostpath").replace("      path:", "      pth:"),
        5,
        "pth",
    ),
    "part: a mount": (
        "model.hostpath",
        shipped("model.hostpath").replace("    mountPath:", "    mntPath:"),
        9,
        "mntPath",
    ),
    "part: an init container": ("model.hostpath", "initContainers:\n  - nam: x\n", 2, "nam"),
}


@pytest.mark.parametrize(
    ("name", "text", "line", "said"), [pytest.param(*case, id=key) for key, case in BROKEN.items()]
)
def test_a_broken_template_is_named_with_its_line(name: str, text: str, line: int, said: str) -> None:
    status, stdout, stderr = render(**{name.replace(".", "__"): text})

    assert (status, stdout) == (2, "")
    assert "Traceback" not in stderr
    assert errors(stderr), stderr
    place = f"mine/{name}.yaml:{line}:" if line else f"mine/{name}.yaml: "
    assert errors(stderr)[0].startswith(place), stderr
    assert f"error[template]: template {name}.yaml" in errors(stderr)[0]
    assert said in stderr
    assert "\ue000" not in stderr


def test_a_near_miss_of_a_variable_is_suggested() -> None:
    text = shipped("pod").replace("{{ name }}", "{{ nmae }}")

    for form in (text, "{# by Jinja2 #}" + text):
        assert "did you mean name?" in render(pod=form)[2]


def test_one_mistake_in_a_template_is_told_once_for_many_services() -> None:
    path = Path("in/service.yaml")
    first = path.read_text()
    path.write_text(f"{first}---\n{first.replace('name: helmet-detection', 'name: another')}")

    _, _, stderr = render(pod=shipped("pod").replace("{{ name }}", "{{ nmae }}"))

    assert len(errors(stderr)) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("pods.yaml", "did you mean pod.yaml?", id="near-miss"),
        pytest.param("worker.yml", "templates are: deployment.yaml", id="other"),
    ],
)
def test_a_file_that_replaces_nothing_is_an_error(name: str, said: str) -> None:
    (Path("mine") / name).write_text("a: 1\n")

    status, _, stderr = render()

    assert status == 2
    assert errors(stderr)[0].startswith(
        f"mine/{name}: error[template]: template {name}: no template is called"
    )
    assert said in stderr


def test_other_files_may_lie_beside_templates() -> None:
    for name in ("README.md", ".pod.yaml.swp", ".hidden.yaml"):
        (Path("mine") / name).write_text("{{ nonsense")

    assert render()[0] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"\xff\xfe", "UTF-8", id="no-text"),
        pytest.param(b"", "0 YAML documents", id="empty"),
    ],
)
def test_a_template_that_is_no_text_is_an_error(content: bytes, said: str) -> None:
    Path("mine/pod.yaml").write_bytes(content)

    status, _, stderr = render()

    assert status == 2
    assert said in stderr


def test_a_folder_that_is_not_there_is_an_error() -> None:
    status, _, stderr = render("--templates", "nowhere")

    assert status == 2
    assert errors(stderr)[0].startswith("nowhere: error[template]")


def test_a_broken_template_that_no_service_needs_is_not_looked_at() -> None:
    assert render(deployment="{{ nonsense")[0] == 0


def test_every_template_that_ships_is_used_by_some_case() -> None:
    """A template that nothing fills would rot: break each one in turn, and some render must fail."""
    config: dict[str, Any] = {"cloudAddress": "192.0.2.1", "edgeAutonomy": True}
    models = {"claim": "pvc://c/m", "download": "s3://b/m", "hostpath": "/a/b"}
    unused = set()
    for path in SHIPPED.iterdir():
        needs = {
            "deployment.yaml": ["--workload", "Deployment"],
            "hpa.yaml": ["--workload", "Deployment"],
            "service.clusterip.yaml": ["--expose", "EdgeMesh"],
        }.get(path.name, [])
        url = models.get(path.name.split(".")[1], "/a/b")
        objects = [
            {
                "apiVersion": "sedna.io/v1alpha1",
                "kind": "JointInferenceService",
                "metadata": {"name": "s"},
                "spec": {
                    worker: {
                        "model": {"name": "m"},
                        "template": {"spec": {"containers": [{"name": "c", "image": "a/b:1"}]}},
                        "hpa": {"maxReplicas": 2},
                        **({"hardExampleMining": {"name": "IBT"}} if worker == "edgeWorker" else {}),
                    }
                    for worker in ("cloudWorker", "edgeWorker")
                },
            },
            {
                "apiVersion": "sedna.io/v1alpha1",
                "kind": "Model",
                "metadata": {"name": "m"},
                "spec": {"url": url, "format": "x"},
            },
        ]
        folder = Path("used") / path.name
        (folder / "in").mkdir(parents=True)
        (folder / "mine").mkdir()
        (folder / "in" / "o.json").write_text("\n".join(map(json.dumps, objects)))
        (folder / "sedna-render.yaml").write_text(
            json.dumps({**config, "apiVersion": "render.sedna.io/v1alpha1", "kind": "RenderConfig"})
        )
        (folder / "mine" / path.name).write_text("a: {{ nonsense }}\n")
        arguments = ["render", str(folder / "in"), "--templates", str(folder / "mine"), *needs]
        result = CliRunner().invoke(cli.cli, arguments, standalone_mode=False)
        if result.return_value != 2 or f"template {path.name}" not in result.stderr:
            unused.add(path.name)
    assert unused == set()
