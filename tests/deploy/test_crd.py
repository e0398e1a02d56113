"""Our definition of JointInferenceService against Sedna's two: it takes what they take, keeps what they keep, and adds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
SEDNAS = ROOT / "tests" / "controlplane" / "crds"
FILE = "sedna.io_jointinferenceservices.yaml"

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
# What would make ours refuse something that Sedna's takes, if ours said it and Sedna's did not.
LIMITS = {
    "enum", "pattern", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength",
    "maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "multipleOf", "allOf", "anyOf",
    "oneOf", "not", "x-kubernetes-validations",
}  # fmt: skip


def _definition(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def _schema(definition: dict[str, Any]) -> Schema:
    (version,) = definition["spec"]["versions"]
    found: Schema = version["schema"]["openAPIV3Schema"]
    return found


@pytest.fixture(scope="session")
def ours(deploy: Path) -> dict[str, Any]:
    return _definition(deploy / "components" / "crd" / "jointinferenceservices.yaml")


@pytest.fixture(scope="session", params=["seed", "head"])
def sednas(request: pytest.FixtureRequest) -> dict[str, Any]:
    return _definition(SEDNAS / request.param / FILE)


def _differences(ours: Schema, theirs: Schema, path: str = "") -> Iterator[str]:
    """Where ours would refuse or drop something that theirs takes and keeps."""
    if ours.get("type") != theirs.get("type"):
        yield f"{path}: {ours.get('type')} for {theirs.get('type')}"
    if ours.get("format") not in {None, theirs.get("format")}:
        yield f"{path}: format {ours.get('format')} for {theirs.get('format')}"
    for name in sorted(set(ours.get("required", ())) - set(theirs.get("required", ()))):
        yield f"{path}.{name}: required"
    for limit in sorted((LIMITS & ours.keys()) - theirs.keys()):
        yield f"{path}: {limit}"
    known = ours.get("properties", {})
    for name, field in theirs.get("properties", {}).items():
        if name in known:
            yield from _differences(known[name], field, f"{path}.{name}")
        elif theirs["properties"] and not ours.get(PRESERVE):
            yield f"{path}.{name}: dropped"
    if "items" in theirs and "items" in ours:
        yield from _differences(ours["items"], theirs["items"], f"{path}[]")
    elif "items" in theirs and not ours.get(PRESERVE):
        yield f"{path}[]: unknown items"


def test_it_refuses_and_drops_nothing_that_sednas_keeps(ours: dict[str, Any], sednas: dict[str, Any]) -> None:
    assert list(_differences(_schema(ours), _schema(sednas))) == []


def test_it_demands_what_sednas_demands(ours: dict[str, Any], sednas: dict[str, Any]) -> None:
    """A service without an edge is none: nothing is gained by finding that out later."""

    def demanded(schema: Schema, path: str = "") -> Iterator[str]:
        yield from (f"{path}.{name}" for name in schema.get("required", ()))
        for name, field in schema.get("properties", {}).items():
            yield from demanded(field, f"{path}.{name}")

    known = set(demanded(_schema(ours)))
    # What a container must have is the API server's to say when the pod is made.
    theirs = {one for one in demanded(_schema(sednas)) if ".template.spec." not in one and ".hpa." not in one}
    assert theirs <= known


def test_the_comparison_notices_what_it_is_for() -> None:
    theirs = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}
    assert list(_differences({"type": "object"}, theirs)) == [".a: dropped"]
    assert list(_differences({"type": "object", PRESERVE: True, "required": ["a"]}, theirs)) == [
        ".a: required"
    ]
    narrow = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string", "enum": ["b"]}}},
    }
    assert list(_differences(narrow, theirs)) == [".a[]: enum"]


def test_it_is_the_same_resource(ours: dict[str, Any], sednas: dict[str, Any]) -> None:
    assert ours["metadata"]["name"] == sednas["metadata"]["name"]
    for field in ("group", "names", "scope"):
        assert ours["spec"][field] == sednas["spec"][field]
    (mine,), (theirs,) = ours["spec"]["versions"], sednas["spec"]["versions"]
    for field in ("name", "served", "storage", "subresources"):
        assert mine[field] == theirs[field]


def test_it_adds_the_generation_of_the_status_and_no_other_field(
    ours: dict[str, Any], sednas: dict[str, Any]
) -> None:
    mine, theirs = (_schema(one)["properties"]["status"]["properties"] for one in (ours, sednas))
    assert mine.keys() - theirs.keys() == {"observedGeneration"}
    assert mine["observedGeneration"]["type"] == "integer"


def test_no_list_has_keys(ours: dict[str, Any]) -> None:
    """Sedna's controller appends a second condition of a type: a list with keys would refuse it."""

    def keywords(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema
            for one in schema.values():
                yield from keywords(one)

    assert not [one for one in keywords(_schema(ours)) if one.startswith("x-kubernetes-list-")]


def test_its_columns_say_state_and_workers(ours: dict[str, Any]) -> None:
    (version,) = ours["spec"]["versions"]
    columns = {one["name"]: one["jsonPath"] for one in version["additionalPrinterColumns"]}
    assert list(columns) == ["STATE", "READY", "CLOUD", "EDGE", "AGE"]
    assert columns["STATE"] == ".status.conditions[-1:].type"


def test_it_is_small(deploy: Path) -> None:
    """kubectl apply keeps a copy in an annotation of at most 256 KiB; Sedna's does not fit."""
    assert (deploy / "components" / "crd" / "jointinferenceservices.yaml").stat().st_size < 16_000


def _services() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JointInferenceService of the fixtures, good ones and bad ones and those of Sedna's history."""
    for path in sorted(ROOT.joinpath("fixtures").rglob("*.yaml")):
        case = path.parent.relative_to(ROOT / "fixtures").as_posix()
        if case.startswith("invalid/not-yaml"):  # bombs and the like: other tests' business
            continue
        try:
            documents = list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
        except (yaml.YAMLError, UnicodeDecodeError):  # likewise
            continue
        for number, document in enumerate(documents):
            if isinstance(document, dict) and document.get("kind") == "JointInferenceService":
                yield f"{case}-{path.stem}-{number}", document


def _errors(schema: Schema, instance: Any) -> list[str]:
    return _wording(jsonschema_rs.Draft4Validator(schema), instance)


def _wording(validator: jsonschema_rs.Draft4Validator, instance: Any) -> list[str]:
    errors = validator.iter_errors(instance)
    return [f"{'/'.join(map(str, one.instance_path))}: {one.message}" for one in errors]


def _without_nulls(value: Any) -> Any:
    """As the API server takes a null in a field that may be left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _pruned(value: Any, schema: Schema) -> Any:
    """What the API server keeps of an object: what is described, and where the schema says so all the rest."""
    if isinstance(value, list):
        return [_pruned(one, schema.get("items", {})) for one in value]
    if not isinstance(value, dict) or schema.get("additionalProperties"):
        return value
    known = schema.get("properties", {})
    keep = schema.get(PRESERVE) or schema.get("x-kubernetes-embedded-resource") or not schema
    return {key: _pruned(one, known.get(key, {})) for key, one in value.items() if key in known or keep}


def test_what_sednas_takes_ours_takes_and_what_it_keeps_ours_keeps(
    ours: dict[str, Any], sednas: dict[str, Any]
) -> None:
    mine, theirs = _schema(ours), _schema(sednas)
    by_mine, by_theirs = jsonschema_rs.Draft4Validator(mine), jsonschema_rs.Draft4Validator(theirs)
    services = {name: _without_nulls(service) for name, service in _services()}
    taken = {name: service for name, service in services.items() if by_theirs.is_valid(service)}
    assert len(taken) > 100
    assert {name: errors for name, service in taken.items() if (errors := _wording(by_mine, service))} == {}
    for name, service in taken.items():
        for field in ("spec", "status"):
            kept, more = (_pruned(service.get(field, {}), one["properties"][field]) for one in (theirs, mine))
            assert _pruned(more, theirs["properties"][field]) == kept, f"{name}: lost some of {field}"


@pytest.mark.parametrize("missing", ["cloudWorker", "edgeWorker"])
def test_it_refuses_a_service_without_a_worker(ours: dict[str, Any], missing: str) -> None:
    (service,) = [one for name, one in _services() if name == "readme-service-0"]
    del service["spec"][missing]
    assert _errors(_schema(ours), service) == [f'spec: "{missing}" is a required property']


def test_it_takes_and_keeps_the_status_of_a_sample(ours: dict[str, Any], sample: dict[str, Any]) -> None:
    schema, status = _schema(ours)["properties"]["status"], sample["object"].get("status", {})
    assert _errors(schema, status) == []
    assert _pruned(status, schema) == status
