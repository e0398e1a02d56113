from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from reconciler import commands
from reconciler.commands import flags
from reconciler.commands.status import Row, table
from reconciler.settings import Settings
from tests.reconciler.body.fake_api import FakeApi, crashing, kubeconfig, pod, service

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    def call(*arguments: str) -> tuple[int, str, str]:
        status = commands.invoke(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield call
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(capture=False)


@pytest.fixture
def cluster(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    file = tmp_path / "config"
    file.write_text(kubeconfig(api.url))
    monkeypatch.setenv("RECONCILER_KUBECONFIG", str(file))
    return api


def two_services(api: FakeApi) -> None:
    api.put("jointinferenceservices", service("a"))
    api.put("pods", pod("cloud", "a"))
    api.put("pods", pod("edge", "a"))
    api.put("jointinferenceservices", service("b"))
    api.put("pods", pod("cloud", "b"))
    api.put("pods", crashing("edge", "b"))


# --- status


def test_status_prints_a_table_and_writes_nothing(cluster: FakeApi, run: Run) -> None:
    two_services(cluster)
    status, out, err = run("status")

    crash = "edge worker: pod b-edge on node edge-node ends again and again: container worker (exit code 1)"
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "NAMESPACE   NAME   STATE     READY   CLOUD         EDGE                 MESSAGE",
        "edge-ai     a      Running   True    WorkerReady   WorkerReady          cloud and edge worker are ready",
        "edge-ai     b      Failed    False   WorkerReady   WorkerCrashLooping   " + crash,
    ]
    assert {one.method for one in cluster.requests} == {"GET"}


def test_status_prints_the_whole_status_as_json(cluster: FakeApi, run: Run) -> None:
    two_services(cluster)
    _, out, _ = run("status", "edge-ai/b", "--format", "json")

    (one,) = json.loads(out)
    assert (one["namespace"], one["name"], one["status"]["failed"]) == ("edge-ai", "b", 1)


def test_status_of_a_service_that_is_not_there_is_an_error(cluster: FakeApi, run: Run) -> None:
    two_services(cluster)
    status, out, err = run("status", "a", "nowhere")

    assert status == 1
    assert len(out.splitlines()) == 2
    assert err == "reconciler: error: there is no service nowhere\n"


def test_status_asks_only_for_the_given_namespace(cluster: FakeApi, run: Run) -> None:
    run("status", "-n", "edge-ai")

    assert all("/namespaces/edge-ai/" in one.path for one in cluster.requests)


def test_status_without_rights_says_so_on_one_line(cluster: FakeApi, run: Run) -> None:
    cluster.on(
        lambda _request: True, lambda handler, _request: handler.refuse(403, "Forbidden", "you may not")
    )
    status, out, err = run("status")

    assert (status, out) == (1, "")
    assert err == "reconciler: error: the cluster cannot be read: 403: you may not\n"


def test_a_table_without_services_is_its_header() -> None:
    assert table([]) == "NAMESPACE   NAME   STATE   READY   CLOUD   EDGE   MESSAGE\n"


def test_a_table_has_a_dash_where_there_is_nothing() -> None:
    assert table([Row("n", "s", "", "", "", "", "")], header=False) == "n   s   -   -   -   -   -\n"


# --- flags


def test_every_setting_has_a_flag_with_help() -> None:
    assert list(flags.SETTINGS) == [field.name for field in fields(Settings)]


@pytest.mark.parametrize("command", ["run", "status"])
def test_help_names_every_flag_with_its_variable(run: Run, command: str) -> None:
    status, out, _ = run(command, "--help")

    assert status == 0
    text = " ".join(out.split())
    for field in fields(Settings):
        assert f"--{field.name.replace('_', '-')} " in text
        assert f"RECONCILER_{field.name.upper()};" in text
    for name in ("NAMESPACE", "KUBECONFIG", "CONTEXT"):
        assert f"env var: RECONCILER_{name}" in text


def test_help_lists_the_commands(run: Run) -> None:
    status, out, _ = run("--help")

    assert status == 0
    assert all(name in out for name in commands.COMMANDS)


def made(arguments: list[str]) -> Settings:
    found: list[Settings] = []

    @click.command()
    @flags.durations
    def command(**options: object) -> None:
        found.append(flags.settings_of(options))

    command.main(arguments, standalone_mode=False)
    return found[0]


def test_without_flags_settings_are_their_defaults() -> None:
    assert made([]) == Settings()


def test_a_flag_wins_over_a_variable_and_a_variable_over_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECONCILER_SILENCE", "10")
    monkeypatch.setenv("RECONCILER_WORKERS", "2")

    settings = made(["--workers=3", "--watch-timeout", "20"])
    assert (settings.silence, settings.workers, settings.watch_timeout) == (10.0, 3, 20.0)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--lease-renew-deadline=15"], id="as long as the lease"),
        pytest.param(["--lease-retry=11"], id="renewed after the deadline"),
        pytest.param(["--lease-duration=15.5"], id="half a second in a lease"),
        pytest.param(["--coalesce-least=1"], id="least more than most"),
        pytest.param(["--silence=0"], id="nothing"),
        pytest.param(["--silence=-1"], id="less than nothing"),
        pytest.param(["--silence=soon"], id="no number"),
        pytest.param(["--silence=nan"], id="not a number"),
        pytest.param(["--resync=inf"], id="never"),
        pytest.param(["--workers=0"], id="no workers"),
        pytest.param(["--unknown=1"], id="unknown"),
    ],
)
def test_flags_that_make_no_sense_are_usage_errors(run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert "Error: " in err


@pytest.mark.parametrize("arguments", [("run",), ("status",)], ids=str)
def test_a_cluster_that_nothing_names_is_an_error_with_a_remedy(
    run: Run, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    status, _, err = run(*arguments)

    assert status == 1
    assert "cannot connect by the kubeconfig" in err
    assert "help: give --kubeconfig FILE" in err


def test_several_namespaces_may_stand_in_the_variable(
    cluster: FakeApi, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECONCILER_NAMESPACE", "a b")
    run("status")

    assert {one.path.split("/")[-2] for one in cluster.requests} == {"a", "b"}


def test_an_unknown_command_is_a_usage_error(run: Run) -> None:
    assert run("rum")[0] == 2
