"""Every folder of fixtures is rendered through the front door, and what comes out is a snapshot to be reviewed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from sedna_render import cli
from sedna_render.cli.exit_status import ExitStatus

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
GROUPS = ("examples", "examples-models", "invalid")


EXPECTATION = re.compile(r"(?P<what>Renders|Errors)(?:, with warnings)?(?:: (?P<rules>[a-z0-9, -]+))?\.")
RULE = re.compile(r"^[^\n]*? (error|warning)\[([a-z0-9-]+)\]:", re.MULTILINE)


def expectation(path: Path) -> tuple[str, set[str]]:
    """What the first line of a case's ``case.md`` says: Renders or Errors, and the rules that must be named."""
    found = EXPECTATION.fullmatch((path / "case.md").read_text().splitlines()[0])
    assert found, f"{path.name}/case.md says nothing that fixtures/README.md knows"
    return found["what"], set(filter(None, (found["rules"] or "").split(", ")))


def rules(stderr: str, severity: str) -> set[str]:
    return {rule for found, rule in RULE.findall(stderr) if found == severity}


def cases(folder: Path, prefix: str = "") -> list[object]:
    found = sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in GROUPS)
    return [pytest.param(path, id=f"{prefix}{path.name}") for path in found]


def inputs(path: Path) -> list[str]:
    """The PATH arguments: the folder; or its two parts, where the case is about two configurations."""
    parts = [path / name for name in ("north", "south") if (path / name).is_dir()]
    return [str(part.relative_to(ROOT)) for part in parts or [path]]


def render(path: Path) -> tuple[int, str, str]:
    """Exit status, standard output and messages of ``sedna-render render`` on a folder of fixtures."""
    result = CliRunner().invoke(cli.cli, ["render", *inputs(path)], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.stdout, result.stderr


def with_messages(stdout: str, stderr: str) -> str:
    """The manifests, behind what was said about them as comments."""
    return "".join(f"# {line}\n" for line in stderr.splitlines()) + stdout


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("path", cases(FIXTURES))
def test_fixture_renders(path: Path, yaml_snapshot: SnapshotAssertion) -> None:
    status, stdout, stderr = render(path)

    assert (status, stderr if status else "") == (ExitStatus.FINE, "")
    what, warned = expectation(path)
    assert what == "Renders"
    assert warned <= rules(stderr, "warning")
    assert with_messages(stdout, stderr) == yaml_snapshot


@pytest.mark.parametrize("path", cases(FIXTURES / "invalid", "invalid-"))
def test_invalid_fixture_is_refused(path: Path, text_snapshot: SnapshotAssertion) -> None:
    status, stdout, stderr = render(path)

    assert status == ExitStatus.INPUT
    assert stdout == ""
    assert "Traceback" not in stderr
    what, named = expectation(path)
    assert what == "Errors"
    assert not named or rules(stderr, "error") == named
    assert stderr == text_snapshot


def expected_of_history() -> dict[str, str]:
    """The column "expected" of both tables in examples/README.md, by case."""
    found: dict[str, str] = {}
    heads: list[str] = []
    for line in (FIXTURES / "examples" / "README.md").read_text().splitlines():
        row = [cell.strip() for cell in line.split("|")]
        if row[1:2] == ["case"]:
            heads = row
        elif len(row) > 2 and row[1].startswith("`"):
            found[row[1].strip("`")] = row[heads.index("expected")]
    return found


EXPECTED = expected_of_history()


@pytest.mark.parametrize("path", cases(FIXTURES / "examples", "example-"))
def test_service_of_sedna_renders_or_is_refused(path: Path, text_snapshot: SnapshotAssertion) -> None:
    status, stdout, stderr = render(path)

    expected = EXPECTED[path.name]
    assert status == (ExitStatus.FINE if expected == "renders" else ExitStatus.INPUT)
    assert bool(stdout) == (status == ExitStatus.FINE)
    assert not rules(stderr, "error") - set(re.findall(r"`([a-z0-9-]+)`", expected))
    assert with_messages(stdout, stderr) == text_snapshot


MODELS = sorted((FIXTURES / "examples-models").glob("*.yaml"))
SERVICE = """\
apiVersion: sedna.io/v1alpha1
kind: JointInferenceService
metadata: {{name: example, namespace: {namespace}}}
spec:
  cloudWorker:
    model: {{name: {model}}}
    template: {{spec: {{nodeName: cloud-1, containers: [{{name: big, image: "big:1"}}]}}}}
  edgeWorker:
    model: {{name: {model}}}
    hardExampleMining: {{name: IBT}}
    template: {{spec: {{nodeName: gate-1, containers: [{{name: little, image: "little:1"}}]}}}}
"""


@pytest.mark.parametrize("path", [pytest.param(path, id=f"model-{path.stem}") for path in MODELS])
def test_model_of_sedna_renders_or_is_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text_snapshot: SnapshotAssertion
) -> None:
    """Each in a service that uses it as its big and as its little model."""
    text = path.read_text()
    name = re.search(r"^  name: *\"?([^\s\"]+)", text, re.MULTILINE)
    namespace = re.search(r"^  namespace: *\"?([^\s\"]+)", text, re.MULTILINE)
    assert name
    (tmp_path / "models.yaml").write_text(text)
    (tmp_path / "service.yaml").write_text(
        SERVICE.format(model=name[1], namespace=namespace[1] if namespace else "default")
    )
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(
        cli.cli, ["render", "models.yaml", "service.yaml", "--expose", "EdgeMesh"], standalone_mode=False
    )

    expected = EXPECTED[path.stem]
    assert result.return_value == (ExitStatus.FINE if expected == "renders" else ExitStatus.INPUT)
    assert not rules(result.stderr, "error") - set(re.findall(r"`([a-z0-9-]+)`", expected))
    assert with_messages(result.stdout, result.stderr) == text_snapshot


def test_all_of_sednas_history_is_there() -> None:
    services = cases(FIXTURES / "examples")
    assert (len(services), len(MODELS), len(EXPECTED)) == (26, 67, 93)


def test_line_ends_and_encodings_of_one_text_give_the_same_bytes() -> None:
    first, *others = (
        re.sub(r"fixtures/[^/]+/", "", "".join(render(FIXTURES / name)[1:]))
        for name in ("lf", "crlf-bom", "utf-16")
    )

    assert others == [first, first]
