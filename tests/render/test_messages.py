"""What messages say, and what they must never say or do, through the front door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sedna_render import cli
from sedna_render.cli.exit_status import ExitStatus

README = Path(__file__).parents[2] / "fixtures" / "readme"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in README.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def render(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.cli, ["render", ".", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result


@pytest.mark.parametrize("written", ["1.10", "1.0", "0777", "010", "1e3", "-0.0", "0x1F", "1_000"])
def test_the_quoted_form_of_a_number_is_what_was_written(written: str, site: Path) -> None:
    edit(site / "service.yaml", "nodeName: gate-1", f"nodeName: {written}")

    result = render()

    assert result.return_value == ExitStatus.INPUT
    assert f'write nodeName: "{written}"' in result.stderr


@pytest.mark.parametrize(
    "kind, version",
    [
        ("InferenceService", "serving.kserve.io/v1beta1"),
        ("Model", "ml.example.com/v1"),
        ("Dataset", "sedna.io/v1alpha1"),
    ],
)
def test_objects_of_other_projects_are_passed_over(kind: str, version: str, site: Path) -> None:
    (site / "other.yaml").write_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")

    assert render().return_value == ExitStatus.FINE


@pytest.mark.parametrize(
    "kind, version, rule",
    [
        ("jointinferenceservice", "sedna.io/v1alpha1", "unknown-kind"),
        ("JointInferenceServise", "sedna.io/v1alpha1", "unknown-kind"),
        ("models", "sedna.io/v1alpha1", "unknown-kind"),
        ("JointInferenceService", "sedna.io/v1alpha2", "unknown-api-version"),
        ("JointInferenceService", "v1", "unknown-api-version"),
        ("Model", "sedna/v1alpha1", "unknown-api-version"),
        ("Model", "v1", "unknown-api-version"),
    ],
)
def test_objects_that_are_nearly_ours_are_errors(kind: str, version: str, rule: str, site: Path) -> None:
    (site / "other.yaml").write_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")

    result = render()

    assert result.return_value == ExitStatus.INPUT
    assert f"error[{rule}]" in result.stderr


def test_text_of_an_input_stays_within_its_line(site: Path) -> None:
    edit(site / "service.yaml", "nodeName: gate-1", 'nodeName: "$(a\\n::error::b\\u202e)"')

    result = render()

    assert result.return_value == ExitStatus.INPUT
    assert not [line for line in result.stderr.splitlines() if line.startswith("::")]
    assert "\u202e" not in result.stderr


def test_a_document_of_bare_text_is_not_shown(site: Path) -> None:
    (site / "token.yaml").write_text("ghp_EXAMPLE\n")

    result = render()

    assert "not-an-object" in result.stderr
    assert "ghp_EXAMPLE" not in result.stderr


def test_a_value_that_lost_its_indentation_is_not_shown(site: Path) -> None:
    (site / "secret.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  creds: |\n  AKIAEXAMPLE:hunter2\n"
    )

    result = render()

    assert result.return_value == ExitStatus.INPUT
    assert "AKIAEXAMPLE" not in result.stderr
    assert "hunter2" not in result.stderr


def test_job_name_without_a_value_is_a_difference_and_no_bug(site: Path) -> None:
    edit(
        site / "service.yaml",
        "image: registry.example.com/helmet-little:1.4",
        "image: x, env: [{name: JOB_NAME, value: }]",
    )

    result = render()

    assert result.return_value == ExitStatus.FINE
    assert "job-name-differs" in result.stderr


def test_an_unknown_field_called_template_survives(site: Path) -> None:
    edit(
        site / "service.yaml", "nodeName: gate-1", "nodeName: gate-1\n        template: {spec: {nodeName: n}}"
    )

    result = render()

    assert result.return_value == ExitStatus.FINE
    assert "template:" in result.stdout


def test_a_configuration_that_is_not_in_force_is_told(site: Path) -> None:
    (site / "below").mkdir()
    (site / "sedna-render.yaml").rename(site / "below" / "sedna-render.yaml")

    result = render("--expose", "EdgeMesh")

    assert "warning[unused-config]" in result.stderr


def test_many_workers_on_one_port_of_a_node_are_told_once_each(site: Path) -> None:
    service = (
        (site / "service.yaml")
        .read_text()
        .replace("image: registry.example.com/helmet-little:1.4", "image: x, ports: [{containerPort: 8080}]")
    )
    (site / "service.yaml").write_text(
        "\n---\n".join(service.replace("name: helmet\n", f"name: helmet-{number}\n") for number in range(20))
    )

    result = render()

    assert result.stderr.count("error[host-port-clash]") == 19


def test_manifests_are_utf_8_whatever_the_locale_is(site: Path) -> None:
    edit(
        site / "service.yaml",
        "image: registry.example.com/helmet-little:1.4",
        "image: x, env: [{name: A, value: é}]",
    )

    for environment in (
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ):
        result = subprocess.run(
            [sys.executable, "-m", "sedna_render", "render", ".", "-q"],
            capture_output=True,
            check=True,
            env={"PYTHONPATH": str(README.parents[1]), **environment},
        )
        assert 'value: "é"' in result.stdout.decode()


@pytest.mark.parametrize("closing, status", [(">&-", ExitStatus.SYSTEM), ("2>&-", ExitStatus.FINE)])
def test_a_closed_stream_is_no_bug(closing: str, status: int, site: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m sedna_render render . -q {closing}"],
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(README.parents[1])},
    )

    assert result.returncode == status


def test_a_reader_that_goes_away_is_exit_3(site: Path) -> None:
    result = subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail; {sys.executable} -m sedna_render check . -o out | true; exit ${{PIPESTATUS[0]}}",
        ],
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(README.parents[1])},
    )

    # The reader may be gone before or after the few lines are written.
    assert result.returncode in (ExitStatus.DRIFT, ExitStatus.SYSTEM)
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("written", ["1.10", "0777"])
def test_the_quoted_form_in_the_configuration_is_what_was_written_too(written: str, site: Path) -> None:
    edit(site / "sedna-render.yaml", "cloudAddress: 192.0.2.10", f"cloudAddress: {written}")

    result = render()

    assert result.return_value == ExitStatus.INPUT
    assert f'write cloudAddress: "{written}"' in result.stderr
