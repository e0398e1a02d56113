"""The program that makes the shipped schemas out of Sedna's CRDs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

PROGRAM = Path(__file__).parents[2] / "tools" / "make_schemas.py"
REFERENCE = {
    "description": "prose",
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "default": ""},
        "key": {"type": "string"},
        "optional": {"type": "boolean"},
    },
}


def crd(schema: dict[str, Any]) -> str:
    return yaml.safe_dump({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}})


def worker(**more: Any) -> dict[str, Any]:
    pod = {
        "type": "object",
        "description": "prose",
        "properties": {
            "containers": {
                "type": "array",
                "items": {"type": "object", "properties": {"a": REFERENCE, "b": REFERENCE}},
            },
            "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        },
        **more,
    }
    template = {"type": "object", "properties": {"metadata": {"type": "object"}, "spec": pod}}
    return {
        "type": "object",
        "properties": {"template": template, "hpa": {"type": "object", "properties": {}}},
    }


def document(edge: dict[str, Any], cloud: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"edgeWorker": edge, "cloudWorker": cloud}}
    properties = {"metadata": {"type": "object"}, "spec": spec, "status": {"type": "object"}}
    return {"type": "object", "description": "prose", "required": ["spec"], "properties": properties}


MODEL = document({"type": "object"}, {"type": "object"})


def made(folder: Path, service: dict[str, Any]) -> dict[str, Any]:
    """The JSON files that the program makes, by name."""
    (folder / "service.yaml").write_text(crd(service), encoding="utf-8")
    (folder / "model.yaml").write_text(crd(MODEL), encoding="utf-8")
    main = runpy.run_path(str(PROGRAM))["main"]
    main(str(folder / "service.yaml"), str(folder / "model.yaml"), folder)
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


def test_facts_are_kept_and_prose_is_not(tmp_path: Path) -> None:
    files = made(tmp_path, document(worker(), worker()))

    assert sorted(files) == ["joint_inference_service.json", "kubernetes.json", "model.json"]
    assert "prose" not in str(files)
    assert files["model.json"]["required"] == ["metadata", "spec"]


def test_both_workers_share_one_pod_spec_and_equal_parts_are_stored_once(tmp_path: Path) -> None:
    files = made(tmp_path, document(worker(), worker()))

    workers = files["joint_inference_service.json"]["properties"]["spec"]["properties"]
    references = {workers[side]["properties"]["template"]["properties"]["spec"]["$ref"] for side in workers}
    assert references == {"kubernetes.json#/definitions/PodSpec"}
    definitions = files["kubernetes.json"]["definitions"]
    container = definitions["PodSpec"]["properties"]["containers"]["items"]["properties"]
    assert container["a"] == container["b"] == {"$ref": "#/definitions/a"}
    assert definitions["PodSpec"]["properties"]["port"] == {"type": ["integer", "string"]}


def test_fields_newer_than_the_crd_are_added_and_those_it_has_learnt_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learnt = worker()
    learnt["properties"]["template"]["properties"]["spec"]["properties"]["hostnameOverride"] = {
        "type": "string"
    }

    files = made(tmp_path, document(learnt, learnt))

    assert "schedulingGroup" in files["kubernetes.json"]["definitions"]["PodSpec"]["properties"]
    assert "hostnameOverride" in capsys.readouterr().err


def test_workers_with_different_templates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="different templates"):
        made(tmp_path, document(worker(), worker(required=["containers"])))


def test_a_type_that_the_validator_does_not_know_is_refused(tmp_path: Path) -> None:
    odd = worker(properties={"ratio": {"type": "number"}})

    with pytest.raises(SystemExit, match="type number"):
        made(tmp_path, document(odd, odd))
