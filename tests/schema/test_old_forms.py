"""Services and Models from before Sedna's first release: one finding that says so, not one for each field."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sedna_render import schema


def old_worker() -> dict[str, Any]:
    return {
        "model": {"name": "small"},
        "nodeName": "edge0",
        "hardExampleAlgorithm": {"name": "IBT"},
        "workerSpec": {
            "scriptDir": "/code",
            "scriptBootFile": "inference.py",
            "frameworkType": "tensorflow",
            "frameworkVersion": "1.18",
            "parameters": [{"key": "nms_threshold", "value": "0.6"}],
        },
    }


def without(worker: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in worker.items() if name not in names}


@pytest.mark.parametrize(
    "edge, field, message, remedy",
    [
        pytest.param(old_worker(), "workerSpec", "from before release v0.1.0", "template: {spec:", id="workerSpec"),
        pytest.param(
            without(old_worker(), "workerSpec"), "hardExampleAlgorithm", "v0.1.0", "hardExampleMining:", id="algorithm"
        ),
        pytest.param(
            without(old_worker(), "workerSpec", "hardExampleAlgorithm"), "nodeName", "beside model", "nodeName: …",
            id="nodeName beside the model",
        ),
        pytest.param(
            {"model": {"name": "small"}, "nodeSelector": {"a": "b"}}, "nodeSelector", "beside model", "template:",
            id="nodeSelector beside the model",
        ),
    ],
)  # fmt: skip
def test_an_old_worker_is_one_finding(
    service: dict[str, Any], edge: dict[str, Any], field: str, message: str, remedy: str
) -> None:
    service["spec"]["edgeWorker"] = edge

    (found,) = schema.check_service(service)

    assert (found.path, found.at_key, found.rule) == (("spec", "edgeWorker", field), True, "old-schema")
    assert found.severity == "error"
    assert message in found.message
    assert remedy in found.remedy


def test_two_old_workers_are_one_finding_that_shows_the_group_of_today_too(service: dict[str, Any]) -> None:
    old = service | {
        "apiVersion": "neptune.io/v1alpha1",
        "spec": {"edgeWorker": old_worker(), "cloudWorker": without(old_worker(), "hardExampleAlgorithm")},
    }

    (found,) = schema.check_service(old)

    assert found.path == ("spec", "edgeWorker", "workerSpec")
    assert found.remedy.endswith("apiVersion: sedna.io/v1alpha1")


@pytest.mark.parametrize("worker", ["edgeWorker", "cloudWorker"])
def test_a_list_of_workers_is_one_finding(service: dict[str, Any], worker: str) -> None:
    entry = service["spec"][worker]
    service["spec"][worker] = [entry, copy.deepcopy(entry)]

    (found,) = schema.check_service(service)

    assert (found.path, found.rule) == (("spec", worker), "old-schema")
    assert f"{worker} is a list" in found.message
    assert "one service for each entry" in found.remedy


@pytest.mark.parametrize("group", ["neptune.io", "edgeai.io"])
def test_an_old_group_is_one_finding_at_apiVersion(service: dict[str, Any], group: str) -> None:
    (found,) = schema.check_service(service | {"apiVersion": f"{group}/v1alpha1"})

    assert (found.path, found.at_key, found.rule) == (("apiVersion",), False, "old-schema")
    assert found.remedy == "write apiVersion: sedna.io/v1alpha1"


def test_a_model_of_an_old_group_is_told_so() -> None:
    model = {"apiVersion": "neptune.io/v1alpha1", "kind": "Model", "metadata": {"name": "a"}}

    old, missing = schema.check_model(model)

    assert (old.rule, missing.rule) == ("old-schema", "missing-field")


def test_what_the_old_form_does_not_explain_is_reported_too(service: dict[str, Any]) -> None:
    service["spec"]["edgeWorker"] = old_worker()
    service["spec"]["cloudWorker"]["model"] = {}
    del service["metadata"]["name"]

    rules = sorted(found.rule for found in schema.check_service(service))

    assert rules == ["missing-field", "missing-field", "old-schema"]


def test_nodeName_beside_a_template_is_only_misplaced(service: dict[str, Any]) -> None:
    service["spec"]["edgeWorker"]["nodeName"] = "edge0"

    (found,) = schema.check_service(service)

    assert found.rule == "unknown-field"
