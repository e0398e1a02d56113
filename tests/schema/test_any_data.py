"""Properties: whatever is in a document, there is an answer; and it is the one that another validator gives."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedna_render import schema
from sedna_render.schema import closures

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKS = [
    schema.check_service,
    schema.check_model,
    schema.check_node,
    schema.check_secret,
    schema.check_config,
    schema.check_manifest,
]
NAMES = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "labels",
        "annotations",
        "generateName",
        "spec",
        "edgeWorker",
        "cloudWorker",
        "model",
        "template",
        "hardExampleMining",
        "hpa",
        "maxReplicas",
        "parameters",
        "key",
        "value",
        "containers",
        "env",
        "image",
        "resources",
        "limits",
        "cpu",
        "ports",
        "containerPort",
        "volumes",
        "hostPath",
        "path",
        "workerSpec",
        "nodeName",
        "nodeSelector",
        "status",
        "data",
        "addresses",
        "Name",
        "edgeworker",
        "hostNetwork",
        "workload",
        "nodePortRange",
        "selector",
        "type",
        "port",
    ]
)
#: No whole floats: for JSON Schema 1.0 is an integer, for a Kubernetes object written in Go it is not.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats().filter(lambda number: not number.is_integer())
    | st.text(max_size=6)
    | st.sampled_from(
        ["500m", "64Mi", "Pod", "Recreate", "neptune.io/v1alpha1", "x\u2028y", "1e3", "5 Gi", "-1"]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(data=st.dictionaries(NAMES | st.text(max_size=4), VALUES, max_size=6))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_any_document_has_an_answer_in_words(check: Any, data: dict[str, Any]) -> None:
    before = copy.deepcopy(data)

    for found in check(data):
        assert found.severity in {"error", "warning"}
        assert found.message.isprintable()
        assert found.remedy.isprintable()
        assert 0 < len(found.message) < 400
        assert 0 < len(found.remedy) < 400
    assert repr(data) == repr(before)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of everything below the top of a document."""
    below: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, item in below:
        yield (*path, step)
        yield from places(item, (*path, step))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@st.composite
def mutations(draw: st.DrawFn, valid: dict[str, Any]) -> dict[str, Any]:
    """The document with one to three of its values removed, replaced or joined by others."""
    document = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(document))
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        parent = at(document, path[:-1])
        what = draw(st.sampled_from(["remove", "replace", "add"]))
        if what == "remove":
            del parent[path[-1]]
        elif what == "replace":
            parent[path[-1]] = draw(VALUES)
        elif isinstance(parent, dict):
            parent[draw(NAMES)] = draw(VALUES)
        else:
            parent.append(draw(VALUES))
    return document


def with_kubernetes_meaning(node: Any) -> Any:
    """A JSON schema in which a null field is an absent one and integers have 32 or 64 bits."""
    if not isinstance(node, dict):
        return node
    meant = {key: with_kubernetes_meaning(value) for key, value in node.items()}
    if isinstance(node.get("type"), str | list) and "integer" in node["type"]:
        bits = 31 if node.get("format") == "int32" else 63
        meant |= {"minimum": -(1 << bits), "maximum": (1 << bits) - 1}
    for name in set(node.get("properties", ())) - set(node.get("required", ())):
        meant["properties"][name] = {"anyOf": [meant["properties"][name], {"type": "null"}]}
    return meant


SERVICE = jsonschema_rs.Draft7Validator(with_kubernetes_meaning(schema.json_schema("JointInferenceService")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_verdict_on_a_mutated_service_is_that_of_another_validator(
    service: dict[str, Any], data: st.DataObject
) -> None:
    assert SERVICE.is_valid(service)
    mutated = data.draw(mutations(service))

    problems = closures.check("joint_inference_service.json", mutated)

    assert (problems == []) == SERVICE.is_valid(mutated)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_violation_lies_where_the_document_has_a_parent_for_it(
    service: dict[str, Any], data: st.DataObject
) -> None:
    mutated = data.draw(mutations(service))

    for found in schema.check_service(mutated):
        parent = at(mutated, found.path[:-1])
        absent = isinstance(parent, dict) and found.path[-1] not in parent
        assert not absent or found.rule == "missing-field"


@pytest.mark.parametrize("kind", sorted(schema.FILES))
def test_the_schema_of_a_kind_is_one_document_that_other_tools_can_read(kind: str) -> None:
    document = schema.json_schema(kind)

    jsonschema_rs.meta.validate(document)
    jsonschema_rs.Draft7Validator(document)  # raises on a reference that leads nowhere
    assert "x-kubernetes" not in json.dumps(document)


def test_the_published_schema_refuses_unknown_fields(service: dict[str, Any]) -> None:
    validator = jsonschema_rs.Draft7Validator(schema.json_schema("JointInferenceService"))

    assert validator.is_valid(service)
    assert not validator.is_valid(service | {"specs": {}})


def test_schemas_are_not_changed_by_checking(service: dict[str, Any]) -> None:
    before = json.dumps(closures.load("joint_inference_service.json"))

    schema.check_service(service | {"spec": {"edgeworker": 5}})

    assert json.dumps(closures.load("joint_inference_service.json")) == before
