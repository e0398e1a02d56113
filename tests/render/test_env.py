"""The env of a worker: what is injected, in which order, and who wins where the user's template says it too."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Render = Callable[..., Any]

CLOUD_ENV = {
    "NAMESPACE": "default",
    "SERVICE_NAME": "helmet",
    "WORKER_NAME": "cloudworker-bmvpb",
    "JOB_NAME": "helmet",
    "MODEL_URL": "/home/data/data/big/model.pb",
    "DATA_PATH_PREFIX": "/home/data",
    "BIG_MODEL_BIND_PORT": "5000",
    "BIG_MODEL_BIND_IP": "0.0.0.0",  # noqa: S104
}
EDGE_ENV = {
    "NAMESPACE": "default",
    "SERVICE_NAME": "helmet",
    "WORKER_NAME": "edgeworker-65v8q",
    "JOB_NAME": "helmet",
    "MODEL_URL": "/home/data/data/little/model.pb",
    "DATA_PATH_PREFIX": "/home/data",
    "BIG_MODEL_IP": "192.0.2.1",
    "BIG_MODEL_PORT": "30008",
    "HEM_NAME": "IBT",
    "HEM_PARAMETERS": "[]",
    "LC_SERVER": "http://localhost:9100",
}
OURS_WIN = {
    "cloud": ["NAMESPACE", "SERVICE_NAME", "WORKER_NAME", "MODEL_URL", "BIG_MODEL_BIND_PORT"],
    "edge": [
        "NAMESPACE",
        "SERVICE_NAME",
        "WORKER_NAME",
        "MODEL_URL",
        "BIG_MODEL_IP",
        "BIG_MODEL_PORT",
        "HEM_NAME",
        "HEM_PARAMETERS",
    ],
}
USERS_STAY = {
    "cloud": ["JOB_NAME", "DATA_PATH_PREFIX", "BIG_MODEL_BIND_IP"],
    "edge": ["JOB_NAME", "DATA_PATH_PREFIX", "LC_SERVER"],
}
INJECTED = {"cloud": CLOUD_ENV, "edge": EDGE_ENV}


def with_env(*entries: dict[str, Any], name: str = "main") -> dict[str, Any]:
    return {"containers": [{"name": name, "image": "example.com/main:1", "env": list(entries)}]}


def entry(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value}


def params(table: dict[str, list[str]]) -> list[Any]:
    return [
        pytest.param(worker, name, id=f"{worker}-{name}") for worker, names in table.items() for name in names
    ]


@pytest.mark.parametrize("worker", ["cloud", "edge"])
def test_the_injected_env_in_its_order_stands_before_the_users_own(worker: str, render: Render) -> None:
    got = render(**{worker: with_env(entry("OWN", "$(BIG_MODEL_IP)"), entry("LAST", ""))})

    assert list(got.env(worker).items()) == [
        *INJECTED[worker].items(),
        ("OWN", "$(BIG_MODEL_IP)"),
        ("LAST", ""),
    ]


def test_every_container_and_no_init_container_is_injected_into(render: Render) -> None:
    spec = {
        "containers": [{"name": name, "image": "example.com/main:1"} for name in ("one", "two", "three")],
        "initContainers": [
            {"name": "first", "image": "example.com/init:1", "env": [entry("NAMESPACE", "mine")]},
            {"name": "sidecar", "image": "example.com/init:1", "restartPolicy": "Always"},
        ],
    }

    got = render(cloud=spec, edge=spec)

    for worker in ("cloud", "edge"):
        assert [got.env(worker, i) for i in range(3)] == [INJECTED[worker]] * 3
        assert got.pod(worker)["initContainers"] == spec["initContainers"]


@pytest.mark.parametrize(("worker", "name"), params(OURS_WIN))
def test_the_contracts_value_wins_and_says_so(worker: str, name: str, render: Render) -> None:
    got = render(**{worker: with_env(entry("BEFORE", "1"), entry(name, "mine"), entry("AFTER", "2"))})

    assert got.env(worker) == {**INJECTED[worker], "BEFORE": "1", "AFTER": "2"}
    found = got.finding("env-overridden")
    assert found["message"].startswith(name)
    assert found["field"] == f"spec.{worker}Worker.template.spec.containers[0].env[1]"
    assert found["severity"] == "warning"


@pytest.mark.parametrize(("worker", "name"), params(OURS_WIN))
def test_the_same_value_is_no_disagreement(worker: str, name: str, render: Render) -> None:
    got = render(**{worker: with_env(entry(name, INJECTED[worker][name]))})

    assert list(got.env(worker).items()) == list(INJECTED[worker].items())
    assert "env-overridden" not in got.rules


def test_a_reference_in_the_place_of_a_contract_loses_too(render: Render) -> None:
    reference = {"configMapKeyRef": {"name": "urls", "key": "big"}}
    got = render(cloud=with_env({"name": "MODEL_URL", "valueFrom": reference}))

    assert got.env("cloud")["MODEL_URL"] == CLOUD_ENV["MODEL_URL"]
    assert "env-overridden" in got.rules


@pytest.mark.parametrize(("worker", "name"), params(USERS_STAY))
def test_the_users_own_value_stays_at_its_place(worker: str, name: str, render: Render) -> None:
    got = render(**{worker: with_env(entry("BEFORE", "x"), entry(name, "$(BEFORE)"), entry("AFTER", "y"))})

    others = {key: value for key, value in INJECTED[worker].items() if key != name}
    assert list(got.env(worker).items()) == [
        *others.items(),
        ("BEFORE", "x"),
        (name, "$(BEFORE)"),
        ("AFTER", "y"),
    ]
    assert "env-overridden" not in got.rules


def test_a_reference_of_the_users_stays(render: Render) -> None:
    reference = {"fieldRef": {"fieldPath": "status.hostIP"}}
    got = render(edge=with_env({"name": "LC_SERVER", "valueFrom": reference}))

    assert got.env("edge")["LC_SERVER"] == reference


def test_the_other_workers_contract_is_the_users_business(render: Render) -> None:
    got = render(cloud=with_env(entry("BIG_MODEL_IP", "mine"), entry("LC_SERVER", "mine")))

    assert got.env("cloud") == {**CLOUD_ENV, "BIG_MODEL_IP": "mine", "LC_SERVER": "mine"}


def test_of_duplicates_the_last_stays_at_its_place(render: Render) -> None:
    got = render(cloud=with_env(entry("A", "1"), entry("B", "2"), entry("A", "3"), entry("A", "4")))

    assert list(got.env("cloud").items())[len(CLOUD_ENV) :] == [("B", "2"), ("A", "4")]
    assert [found["rule"] for found in got.findings].count("env-duplicate") == 2


def test_duplicates_of_a_contracts_name_leave_one(render: Render) -> None:
    got = render(cloud=with_env(entry("MODEL_URL", "1"), entry("MODEL_URL", CLOUD_ENV["MODEL_URL"])))

    assert got.env("cloud") == CLOUD_ENV
    assert {"env-duplicate"} <= got.rules


@pytest.mark.parametrize(
    ("name", "big"),
    [
        pytest.param("DATA_PATH_PREFIX", "https://example.com/big.pb", id="download"),
        pytest.param("DATA_PATH_PREFIX", "pvc://claim/big.pb", id="claim"),
    ],
)
def test_data_path_prefix_comes_only_with_a_hostpath_model(name: str, big: str, render: Render) -> None:
    assert name not in render(big=big).env("cloud")


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        pytest.param(None, "[]", id="none"),
        pytest.param([], "[]", id="empty"),
        pytest.param(
            [{"key": "a", "value": "$(HOME) $ $$"}], '[{"key":"a","value":"$$(HOME) $$ $$$$"}]', id="dollars"
        ),
        pytest.param([{"key": "<&>", "value": "é\u2028\U0001f680"}], None, id="escapes"),
        pytest.param([{"key": "b", "value": "1"}, {"key": "a", "value": "2"}], None, id="order"),
        pytest.param([{"key": "q", "value": '"\\\n\t\x01'}], None, id="quotes"),
    ],
)
def test_hem_parameters_are_the_json_of_go(
    parameters: list[dict[str, str]] | None, text: str | None, render: Render
) -> None:
    got = render(parameters=parameters).env("edge")["HEM_PARAMETERS"]

    if text is not None:
        assert got == text
    # What the kubelet makes of it, and the library then reads.
    assert json.loads(got.replace("$$", "$")) == (parameters or [])
    assert not set(got) & set("<>&\u2028\u2029\n")


def test_a_dollar_in_a_models_path_is_not_expanded(render: Render) -> None:
    got = render(big="/data/$(HOME)/big.pb", little="https://example.com/$a/l.pb")

    assert got.env("cloud")["MODEL_URL"] == "/home/data/data/$$(HOME)/big.pb"
    assert got.pod("cloud")["volumes"][0]["hostPath"]["path"] == "/data/$(HOME)/"
    assert got.pod("cloud")["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/data/data/$(HOME)"
    assert got.env("edge")["MODEL_URL"] == "/downloads/example.com/$$a/l.pb"
    assert got.pod("edge")["initContainers"][0]["args"] == [
        "https://example.com/$$a/l.pb",
        "/downloads/example.com/$$a/",
    ]


def test_a_dollar_of_the_users_own_is_left_alone(render: Render) -> None:
    spec = {"containers": [{"name": "main", "image": "example.com/main:1", "args": ["$(NAMESPACE) $$ $X"]}]}

    assert render(cloud=spec).pod("cloud")["containers"][0]["args"] == ["$(NAMESPACE) $$ $X"]


@pytest.mark.parametrize(
    ("cloud", "edge", "differs"),
    [
        pytest.param([], [], False, id="neither"),
        pytest.param([entry("JOB_NAME", "x")], [], True, id="one"),
        pytest.param([entry("JOB_NAME", "x")], [entry("JOB_NAME", "x")], False, id="both-the-same"),
        pytest.param([entry("JOB_NAME", "x")], [entry("JOB_NAME", "y")], True, id="both-another"),
        pytest.param([entry("JOB_NAME", "helmet")], [], False, id="the-default-written-out"),
    ],
)
def test_workers_that_disagree_about_job_name_are_warned_of(
    cloud: list[dict[str, Any]], edge: list[dict[str, Any]], differs: bool, render: Render
) -> None:
    got = render(cloud=with_env(*cloud), edge=with_env(*edge))

    assert ("job-name-differs" in got.rules) == differs


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        pytest.param(5, '"5"', id="number"),
        pytest.param(True, '"true"', id="boolean"),
        pytest.param(0.5, '"0.5"', id="fraction"),
        pytest.param({"a": 1}, "", id="mapping"),
    ],
)
def test_a_value_that_is_no_string_is_an_error_and_never_converted(
    value: Any, remedy: str, render: Render
) -> None:
    got = render(cloud=with_env({"name": "A", "value": value}))

    assert got.errors == ["wrong-type"]
    assert remedy in got.finding("wrong-type")["remedy"]
