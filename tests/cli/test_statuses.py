"""Exit statuses, help, and the forms of messages: what scripts and people rely on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from sedna_render import __version__, cli, pipeline

ROOT = Path(__file__).parents[2]
CASE = "fixtures/helmet-detection"
BROKEN = "fixtures/invalid/model-not-found-near-miss"
MANY = {"apiVersion": "sedna.io/v1alpha1", "kind": "Model", "spec": {"url": "x"}}


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("NO_COLOR", raising=False)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The program as a process runs it, less the process."""
    status = cli.run(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sedna_render", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


def test_status_0_is_fine_and_warnings_do_not_change_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "render", CASE)

    assert status == 0
    assert "kind: Pod" in out
    assert "warning[" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["render", BROKEN], "1 error", id="input"),
        pytest.param(["render", "no/such/path"], "no/such/path", id="path"),
        pytest.param(["rendr"], "Did you mean render?", id="command-near-miss"),
        pytest.param(["xyz"], "Commands are: ", id="command"),
        pytest.param(["render", "--expos", "NodePort"], "--expose", id="option-near-miss"),
        pytest.param(["render", "--expose", "nowhere"], "EdgeMesh", id="choice"),
        pytest.param(["render", "--expose"], "requires an argument", id="argument"),
        pytest.param(["render", CASE, "--config", "no-such.yaml"], "no-such.yaml", id="config"),
        pytest.param(["check", CASE], "give -o DIR", id="check-without-folder"),
        pytest.param(["completion", "tcsh"], "bash", id="shell"),
    ],
)
def test_status_2_is_wrong_input_or_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *arguments)

    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "output",
    [
        pytest.param("file", id="a-file"),
        pytest.param("file/below", id="below-a-file"),
        pytest.param("/proc/sedna-render", id="a-folder-that-cannot-be"),
    ],
)
def test_status_3_is_the_file_systems(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("here already")

    status, out, err = run(capsys, "render", CASE, "-o", str(tmp_path / output))

    assert (status, out) == (3, "")
    assert "sedna-render: error: " in err
    assert (tmp_path / "file").read_text() == "here already"


def test_status_70_is_a_bug_and_says_what_to_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("canary from an input")

    monkeypatch.setattr(pipeline, "decide", broken)

    status, out, err = run(capsys, "render", CASE)
    _, _, debugged = run(capsys, "render", CASE, "--debug")

    assert (status, out) == (70, "")
    assert "this is a bug (RuntimeError at " in err
    assert f"sedna-render {__version__}" in err
    assert "--debug" in err
    assert "canary" not in err
    assert "Traceback" not in err
    assert "Traceback" in debugged


def test_status_130_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "decide", interrupted)

    status, out, err = run(capsys, "render", CASE)

    assert (status, out) == (130, "")
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_bug() -> None:
    command = f"{sys.executable} -m sedna_render render {CASE} {CASE} fixtures/hostile-strings | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "---\n"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "this is a bug" not in done.stderr
    assert done.returncode in (0, 3, 141)


def test_the_module_and_its_exit_status_are_those_of_the_command() -> None:
    assert process("render", CASE).returncode == 0
    assert process("render", BROKEN).returncode == 2


# --- help ---------------------------------------------------------------------------------------------------------


def test_the_list_of_commands_has_every_status(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")

    assert status == 0
    for name in cli.COMMANDS:
        assert f"  {name} " in out
    for code in ("0 ", "1 ", "2 ", "3 ", "70 ", "130 "):
        assert f"\n    {code}" in out
    assert run(capsys, "-h")[1] == out


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, name, "--help")

    assert (status, err) == (0, "")
    assert out.startswith(f"Usage: sedna-render {name}")
    assert all(len(line) <= 120 for line in out.splitlines())


def test_no_option_is_without_help() -> None:
    def options() -> Iterator[tuple[str, click.Option]]:
        context = click.Context(cli.cli)
        for name in cli.COMMANDS:
            command = cli.cli.get_command(context, name)
            assert command is not None
            yield from ((name, option) for option in command.params if isinstance(option, click.Option))

    # --format with its choices says it all.
    assert {(name, option.name) for name, option in options() if not option.help} <= {("render", "form")}


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_the_version_is_printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *arguments) == (0, f"sedna-render {__version__}\n", "")


@pytest.mark.parametrize(
    ("shell", "check"), [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])]
)
def test_completion_scripts_are_scripts(
    shell: str, check: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "completion", shell)

    assert status == 0
    assert "_SEDNA_RENDER_COMPLETE" in out
    if shutil.which(check[0]):
        (tmp_path / "script").write_text(out)
        subprocess.run([*check, str(tmp_path / "script")], check=True)


def test_completion_completes() -> None:
    environment = {
        **os.environ,
        "_SEDNA_RENDER_COMPLETE": "bash_complete",
        "COMP_WORDS": "sedna-render re",
        "COMP_CWORD": "1",
    }
    program = "import sys; sys.argv = ['sedna-render']; from sedna_render.cli import main; main([])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "plain,render" in done.stdout, done.stderr


# --- messages -----------------------------------------------------------------------------------------------------


def test_findings_as_json_are_all_of_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "render", BROKEN, "--error-format", "json")

    found = json.loads(err)
    assert (status, out) == (2, "")
    [error] = [item for item in found if item["severity"] == "error"]
    assert error["rule"] == "model-not-found"
    assert error["file"] == f"{BROKEN}/service.yaml"
    assert error["line"] > 0
    assert error["column"] > 0
    assert set(error) == {
        "rule",
        "severity",
        "file",
        "line",
        "column",
        "object",
        "field",
        "message",
        "remedy",
    }


def test_no_findings_as_json_are_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "render", CASE, "--expose", "EdgeMesh", "--error-format", "json")

    assert (status, json.loads(err)) == (0, [])


def test_findings_for_github_are_workflow_commands(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, "render", BROKEN, "--error-format", "github")

    [line] = [line for line in err.splitlines() if line.startswith("::error ")]
    assert line.startswith(f"::error file={BROKEN}/service.yaml,line=")
    assert "title=sedna-render model-not-found::" in line


def test_a_finding_cannot_bring_a_workflow_command_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**MANY, "metadata": {"name": "x\n::stop-commands::y%0A,"}}))

    _, _, err = run(capsys, "render", str(tmp_path), "--error-format", "github")

    assert all(line.startswith(("::error file=", "::warning file=")) for line in err.splitlines())


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        pytest.param([], {}, False, id="no-terminal"),
        pytest.param(["--color"], {}, True, id="asked-for"),
        pytest.param(["--no-color"], {}, False, id="asked-not-to"),
        pytest.param(["--color"], {"NO_COLOR": "1"}, True, id="the-flag-stands-before-NO_COLOR"),
    ],
)
def test_colours_are_for_terminals(
    arguments: list[str],
    environment: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    _, out, err = run(capsys, "render", BROKEN, *arguments)

    assert ("\x1b[" in err) == coloured
    assert "\x1b[" not in out


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("", True), ("1", False)])
def test_no_color_is_heard_on_a_terminal(
    no_color: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)

    _, _, err = run(capsys, "render", BROKEN)

    assert ("\x1b[" in err) == coloured


def test_no_escape_of_an_input_reaches_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({**MANY, "metadata": {"name": "x\x1b[31m"}, "spec": {"url": "\x1b]0;y\x07"}})
    )

    for form in ("text", "github"):
        _, _, err = run(capsys, "render", str(tmp_path), "--error-format", form)

        assert err
        assert not set(err) & {"\x1b", "\x07"}


def test_fifty_findings_are_shown_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [{**MANY, "metadata": {"name": f"Bad_{number:03}"}} for number in range(70)]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, items)))

    status, _, err = run(capsys, "render", str(tmp_path))
    _, _, as_json = run(capsys, "render", str(tmp_path), "--error-format", "json")

    total = len(json.loads(as_json))
    assert status == 2
    assert total >= 70
    assert err.count(": error[") == 50
    assert f"… and {total - 50} more" in err
    assert f"{total} errors" in err


def test_an_error_is_never_among_those_that_are_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = [{"name": "A", "value": str(number)} for number in range(80)]  # 79 warnings: A is there 80 times
    container = {"name": "c", "image": "a/b:1", "env": env}
    service = {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": "JointInferenceService",
        "metadata": {"name": "s"},
        "spec": {
            "cloudWorker": {"model": {"name": "m"}, "template": {"spec": {"containers": [container]}}},
            "edgeWorker": {
                "model": {"name": "missing"},
                "hardExampleMining": {"name": "IBT"},
                "template": {"spec": {"containers": [container]}},
            },
        },
    }
    model = {**MANY, "metadata": {"name": "m"}, "spec": {"url": "/a/b", "format": "x"}}
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, [service, model])))

    _, _, err = run(capsys, "render", str(tmp_path), "--expose", "EdgeMesh")

    assert "error[model-not-found]" in err


def test_quiet_shows_errors_only_and_verbose_what_was_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / CASE, tmp_path / "in")
    (tmp_path / "in" / "more.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")

    assert run(capsys, "render", str(tmp_path / "in"), "-q")[2] == ""
    assert "warning[" in run(capsys, "render", str(tmp_path / "in"))[2]
    assert "passed over: 1 ConfigMap\n" in run(capsys, "render", str(tmp_path / "in"), "-v")[2]
    assert "error[" in run(capsys, "render", BROKEN, "--quiet")[2]
    assert run(capsys, "render", str(tmp_path / "in"), "-q", "-o", str(tmp_path / "out"))[1:] == ("", "")


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    content = "\n---\n".join(
        (ROOT / CASE / f"{name}.yaml").read_text() for name in ("service", "models", "nodes")
    )

    result = CliRunner().invoke(cli.cli, ["render", "-"], input=content, standalone_mode=False)
    _, out, _ = run(capsys, "render", CASE)

    assert result.return_value == 0
    assert "# Source" not in result.stdout
    without = [
        line
        for line in out.splitlines()
        if "# Source" not in line and "/source:" not in line and line != "  annotations:"
    ]
    assert result.stdout.splitlines() == without


def test_standard_input_and_files_go_together() -> None:
    files = [f"{CASE}/models.yaml", f"{CASE}/nodes.yaml"]
    content = (ROOT / CASE / "service.yaml").read_text()

    result = CliRunner().invoke(cli.cli, ["render", "-", *files], input=content, standalone_mode=False)

    assert result.return_value == 0
    assert "<stdin>:" in result.stderr


def test_json_is_one_list_with_the_same_objects(capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    _, as_json, _ = run(capsys, "render", CASE, "--format", "json")
    _, as_yaml, _ = run(capsys, "render", CASE)

    items = json.loads(as_json)
    assert (items["apiVersion"], items["kind"]) == ("v1", "List")
    assert items["items"] == list(yaml.safe_load_all(as_yaml))


def test_inputs_without_a_service_are_an_error_unless_that_is_fine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")

    refused = run(capsys, "render", str(tmp_path))
    allowed = run(capsys, "render", str(tmp_path), "--allow-empty")

    assert refused[0] == 2
    assert "no JointInferenceService in the inputs; there is only: ConfigMap" in refused[2]
    assert allowed == (0, "", "")
