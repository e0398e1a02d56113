"""Services: each way in which the API server would refuse one is found, at its place, in words that help."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sedna_render import schema
from sedna_render.findings import field_text

Service = dict[str, Any]
ABSENT = object()
POD = ("spec", "cloudWorker", "template", "spec")
BOX = (*POD, "containers", 0)


def changed(service: Service, *path: str | int, to: Any, renamed: str | None = None) -> Service:
    """A copy of the service with the value at the path replaced, removed (ABSENT), or put under another name."""
    copied = copy.deepcopy(service)
    parent: Any = copied
    for step in path[:-1]:
        parent = parent[step]
    if renamed is not None:
        parent[renamed] = parent.pop(path[-1])
    elif to is ABSENT:
        del parent[path[-1]]
    else:
        parent[path[-1]] = to
    return copied


def only(found: list[schema.Violation]) -> schema.Violation:
    assert len(found) == 1, found
    return found[0]


def test_a_valid_service_has_no_findings(service: Service) -> None:
    assert schema.check_service(service) == []


@pytest.mark.parametrize(
    "path, value",
    [
        pytest.param(
            ("status",), {"active": "two", "whatever": [None]}, id="a status of any form, as exported"
        ),
        pytest.param(("metadata", "creationTimestamp"), None, id="a creationTimestamp that is null"),
        pytest.param(("metadata", "managedFields"), [{"manager": "kubectl", "x": 1}], id="managed fields"),
        pytest.param(("metadata", "generateName"), "helmet-", id="a generateName beside a name"),
        pytest.param((*BOX, "env"), None, id="a list that is null, which counts as absent"),
        pytest.param((*BOX, "resources"), {}, id="empty resources"),
        pytest.param((*POD, "containers"), ABSENT, id="no containers: another rule's matter"),
        pytest.param((*POD, "containers"), None, id="containers that are null: another rule's matter"),
        pytest.param((*POD, "containers"), [], id="an empty list of containers: another rule's matter"),
        pytest.param(("spec", "edgeWorker", "template"), {}, id="an empty template"),
        pytest.param((*POD, "hostnameOverride"), "camera", id="a field newer than the CRD: hostnameOverride"),
        pytest.param(
            (*POD, "resources"), {"limits": {"cpu": "1"}}, id="a field newer than the CRD: pod resources"
        ),
        pytest.param(
            (*POD, "workloadRef"), {"name": "w", "podGroup": "g"}, id="a field newer than the CRD: workload"
        ),
        pytest.param(
            (*POD, "securityContext"), {"seLinuxChangePolicy": "Recursive"}, id="newer: SELinux policy"
        ),
        pytest.param(
            (*BOX, "restartPolicyRules"),
            [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}],
            id="newer: restart rules",
        ),
        pytest.param(
            (*POD, "volumes", 0), {"name": "v", "image": {"reference": "a:b"}}, id="newer: image volumes"
        ),
        pytest.param((*BOX, "lifecycle"), {"stopSignal": "SIGINT"}, id="newer: a stop signal"),
        pytest.param(
            (*POD, "volumes", 0),
            {
                "name": "v",
                "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {}}},
            },
            id="labels of a claim, which the CRD does not spell out",
        ),
        pytest.param(
            (*BOX, "resources", "limits"), {"cpu": "+1.5e3", "m": "2Ei", "n": ".5", "o": 0}, id="quantities"
        ),
        pytest.param((*BOX, "ports", 0, "containerPort"), 2**31 - 1, id="the largest number of 32 bits"),
        pytest.param(
            ("spec", "cloudWorker", "hpa"), {"maxReplicas": 3, "minReplicas": 1}, id="an autoscaler"
        ),
    ],
)
def test_accepted(service: Service, path: tuple[str | int, ...], value: Any) -> None:
    assert schema.check_service(changed(service, *path, to=value)) == []


WRONG_TYPES = [
    pytest.param(
        (*BOX, "env", 0, "value"),
        True,
        "the boolean true stands where a string is wanted",
        'write value: "true" (YAML reads yes, on and y without quotes as true too',
        id="an env value that YAML reads as true",
    ),
    pytest.param(
        (*BOX, "env", 0, "value"), False, "the boolean false", "(YAML reads no, off and n", id="an env value no"
    ),
    pytest.param((*BOX, "env", 0, "value"), 5, "the number 5", 'write value: "5"', id="an env value that is a number"),
    pytest.param((*BOX, "env", 0, "value"), 0.5, "the number 0.5", 'write value: "0.5"', id="a float as env value"),
    pytest.param((*BOX, "args", 1), 416, "the number 416", 'write - "416"', id="an argument that is a number"),
    pytest.param((*BOX, "args", 1), None, "null stands where a string", 'write "" for', id="an argument that is null"),
    pytest.param((*BOX, "args"), "--size", "a string stands where a list", "write a list", id="args in one string"),
    pytest.param(
        ("metadata", "labels", "version"), 87290323, "number 87290323", '"87290323"', id="a label that is a number"
    ),
    pytest.param(("metadata", "labels", "a"), None, "null stands where a string", "leave", id="a label that is null"),
    pytest.param(("metadata", "labels"), ["a"], "a list stands where a map", "take away the dash", id="a list of labels"),
    pytest.param(("metadata", "name"), 12, "the number 12", 'write name: "12"', id="a name that is a number"),
    pytest.param(
        ("spec", "edgeWorker", "hardExampleMining", "parameters", 0, "value"),
        0.9,
        "the number 0.9 stands where a string is wanted",
        'write value: "0.9"',
        id="a mining parameter that is a number",
    ),
    pytest.param(
        (*BOX, "ports", 0, "containerPort"),
        "80",
        'the string "80" stands where a whole number is wanted',
        "write containerPort: 80 without quotes",
        id="a port in quotes",
    ),
    pytest.param(
        (*BOX, "ports", 0, "containerPort"), 80.0, "the number 80.0", "write containerPort: 80", id="a port 80.0"
    ),
    pytest.param(
        (*BOX, "ports", 0, "containerPort"), True, "the boolean true", "write a whole number", id="a port yes"
    ),
    pytest.param(
        (*BOX, "ports", 0, "containerPort"), 2**31, "not fit into 32 bits", "to 2147483647", id="a port over 32 bits"
    ),
    pytest.param(
        (*POD, "activeDeadlineSeconds"), -(2**63) - 1, "not fit into 64 bits", "from -92", id="seconds over 64 bits"
    ),
    pytest.param(
        (*POD, "hostNetwork"), "true", 'string "true" stands where true or false', "hostNetwork: true without quotes",
        id="a boolean in quotes",
    ),
    pytest.param((*POD, "hostNetwork"), 1, "the number 1", "write true or false", id="a number for a boolean"),
    pytest.param(
        (*BOX, "resources", "requests", "cpu"), 0.5, "0.5 stands where a quantity", 'write cpu: "0.5"',
        id="a quantity with a fraction and without quotes",
    ),
    pytest.param(
        (*BOX, "resources", "requests", "memory"), "64 MB", '"64 MB" is not a quantity', "64Mi", id="a unit of its own"
    ),
    pytest.param(
        (*BOX, "resources", "requests", "memory"), "64Mi\n", "is not a quantity", "64Mi", id="a quantity with a newline"
    ),
    pytest.param(
        (*BOX, "resources", "requests", "memory"), "٣", "is not a quantity", "64Mi", id="digits of another script"
    ),
    pytest.param(
        (*BOX, "resources", "requests", "memory"), None, "null stands where a quantity", "leave", id="a null quantity"
    ),
    pytest.param(
        (*BOX, "resources", "requests", "memory"), True, "boolean true", "write a quantity", id="a quantity yes"
    ),
    pytest.param(
        (*BOX, "readinessProbe", "tcpSocket", "port"), 1.5, "whole number or a string", '"1.5"', id="a probed port 1.5"
    ),
    pytest.param((*BOX, "env"), {"A": "b"}, "a map stands where a list", "dash: - name: …", id="env as a map"),
    pytest.param((*POD, "containers"), {"name": "a"}, "a map stands where a list", "- name: …", id="containers as a map"),
    pytest.param((*POD, "containers", 0), None, "null stands where a map", "leave it out", id="a container that is null"),
    pytest.param(("spec", "edgeWorker", "model"), "little", 'the string "little"', "its fields (name)", id="model: name"),
    pytest.param(("spec", "edgeWorker", "model"), [{"name": "m"}], "a list", "take away the dash", id="a list of a model"),
    pytest.param(("spec",), [], "a list stands where a map", "(cloudWorker and edgeWorker)", id="a spec that is a list"),
]  # fmt: skip


@pytest.mark.parametrize("path, value, message, remedy", WRONG_TYPES)
def test_a_value_of_a_wrong_type_is_an_error_at_the_value(
    service: Service, path: tuple[str | int, ...], value: Any, message: str, remedy: str
) -> None:
    found = only(schema.check_service(changed(service, *path, to=value)))

    assert (found.path, found.at_key, found.rule, found.severity) == (path, False, "wrong-type", "error")
    assert message in found.message
    assert remedy in found.remedy


@pytest.mark.parametrize(
    "path, value, message",
    [
        pytest.param(("metadata", "name"), ABSENT, "metadata needs name", id="no name"),
        pytest.param(
            ("metadata", "name"), None, "name is null, which counts as missing", id="a name that is null"
        ),
        pytest.param(("metadata",), ABSENT, "the object needs metadata", id="no metadata"),
        pytest.param(("spec",), None, "spec is null", id="a spec that is null"),
        pytest.param(("spec", "edgeWorker"), ABSENT, "spec needs edgeWorker", id="no edge worker"),
        pytest.param(("spec", "cloudWorker", "model"), ABSENT, "spec.cloudWorker needs model", id="no model"),
        pytest.param(
            ("spec", "edgeWorker", "hardExampleMining"),
            ABSENT,
            "spec.edgeWorker needs hardExampleMining",
            id="no mining",
        ),
        pytest.param(
            (*BOX, "name"), ABSENT, "spec.containers[0] needs name", id="a container without a name"
        ),
        pytest.param(
            (*POD, "volumes", 0, "hostPath", "path"), None, "path is null", id="a path that is null"
        ),
        pytest.param(
            (*BOX, "ports", 0, "containerPort"),
            ABSENT,
            "ports[0] needs containerPort",
            id="a port without one",
        ),
    ],
)
def test_a_missing_field_is_an_error_that_names_its_owner(
    service: Service, path: tuple[str | int, ...], value: Any, message: str
) -> None:
    found = only(schema.check_service(changed(service, *path, to=value)))

    assert (found.path, found.at_key, found.rule, found.severity) == (path, True, "missing-field", "error")
    assert message in found.message
    assert found.remedy.startswith(f"add {path[-1]}:")


@pytest.mark.parametrize(
    "path, severity, message, remedy",
    [
        pytest.param(("specDOESNOTEXIST",), "error", "there is no field specDOESNOTEXIST", "remove it", id="invented"),
        pytest.param(("spec", "cloudWorkers"), "error", "did you mean cloudWorker?", "write cloudWorker", id="misspelt"),
        pytest.param(
            ("metadata", "spec"), "error", "a field of the object itself", "indented one level too deep", id="metadata.spec"
        ),
        pytest.param(("labels",), "error", "a field of metadata", "move it to metadata", id="labels of the object itself"),
        pytest.param(
            ("spec", "cloudWorker", "hostNetwork"), "error", "cloudWorker.template.spec)", "move it to",
            id="hostNetwork beside the template",
        ),
        pytest.param(
            ("spec", "cloudWorker", "nodeName"), "error", "cloudWorker.template.spec)", "move it to",
            id="nodeName beside the template",
        ),
        pytest.param(
            ("spec", "cloudWorker", "template", "volumes"), "error", "cloudWorker.template.spec)", "move it to",
            id="volumes beside the pod's spec",
        ),
        pytest.param(
            ("spec", "cloudWorker", "hardExampleMining"), "error", "a field of spec.edgeWorker", "move it to",
            id="mining on the cloud worker",
        ),
        pytest.param(
            ("spec", "cloudWorker", "model", "url"), "error", "no field url here", "known here: name", id="the model's url"
        ),
        pytest.param((*BOX, "hostNetwork"), "warning", "template.spec)", "move it to", id="hostNetwork on a container"),
        pytest.param((*BOX, "requests"), "warning", "containers[0].resources)", "move it to", id="requests outside"),
        pytest.param((*BOX, "volumeMount"), "warning", "did you mean volumeMounts?", "write", id="one volume mount"),
        pytest.param((*POD, "volume"), "warning", "did you mean volumes?", "write volumes", id="one volume"),
        pytest.param((*POD, "hostnetwork"), "warning", "did you mean hostNetwork?", "write", id="a pod field in lower case"),
        pytest.param((*POD, "host_network"), "warning", "did you mean hostNetwork?", "write", id="in snake case"),
        pytest.param((*POD, "fromTheFuture"), "warning", "no field fromTheFuture", "remove it", id="a pod field unknown"),
        pytest.param(
            ("spec", "edgeWorker", "template", "metadata", "label"), "error", "did you mean labels?", "write",
            id="a field of the template's metadata",
        ),
    ],
)  # fmt: skip
def test_an_unknown_field_is_an_error_and_in_a_pod_spec_a_warning(
    service: Service, path: tuple[str | int, ...], severity: str, message: str, remedy: str
) -> None:
    found = only(schema.check_service(changed(service, *path, to="x")))

    assert (found.path, found.at_key, found.rule, found.severity) == (path, True, "unknown-field", severity)
    assert message in found.message
    assert remedy in found.remedy


@pytest.mark.parametrize(
    "path, wrong",
    [
        pytest.param(("spec", "edgeWorker"), "edgeworker", id="a worker"),
        pytest.param((*BOX, "name"), "Name", id="a container's name: an error although in a pod spec"),
        pytest.param((*POD, "containers"), "container", id="the containers: likewise"),
    ],
)
def test_a_misspelt_field_that_is_needed_is_one_error(
    service: Service, path: tuple[str | int, ...], wrong: str
) -> None:
    found = only(schema.check_service(changed(service, *path, to=None, renamed=wrong)))

    assert (found.path, found.rule, found.severity) == ((*path[:-1], wrong), "unknown-field", "error")
    assert f"did you mean {path[-1]}?" in found.message


def test_a_spec_below_metadata_is_not_reported_as_missing_too(service: Service) -> None:
    service["metadata"]["spec"] = service.pop("spec")

    found = only(schema.check_service(service))

    assert (found.path, found.rule) == (("metadata", "spec"), "unknown-field")
    assert found.remedy == "it is indented one level too deep: move it out, beside metadata"


def test_a_generated_name_is_an_error_of_its_own(service: Service) -> None:
    found = only(schema.check_service(changed(service, "metadata", "name", to="", renamed="generateName")))

    assert (found.path, found.at_key, found.rule, found.severity) == (
        ("metadata", "generateName"),
        True,
        "generate-name",
        "error",
    )


def test_everything_wrong_is_reported_in_one_go(service: Service) -> None:
    service["spec"]["edgeWorker"]["model"] = None
    service["spec"]["cloudWorker"]["template"]["spec"]["containers"][0]["env"][1] = {"name": 1, "valeu": 2}
    service["metadata"]["labels"]["a"] = 1

    found = {(field_text(violation.path), violation.rule) for violation in schema.check_service(service)}

    box = "spec.cloudWorker.template.spec.containers[0]"
    assert found == {
        ("metadata.labels.a", "wrong-type"),
        ("spec.edgeWorker.model", "missing-field"),
        (f"{box}.env[1].name", "wrong-type"),
        (f"{box}.env[1].valeu", "unknown-field"),
    }


SECRET = "hunter2-hunter2"  # it must not come out again


@pytest.mark.parametrize(
    "path, value",
    [
        pytest.param((*BOX, "env"), SECRET, id="env is a string"),
        pytest.param((*BOX, "env"), {"PASSWORD": SECRET}, id="env is a map"),
        pytest.param((*BOX, "env", 0), SECRET, id="an env entry is a string"),
        pytest.param((*BOX, "env", 0, "value"), [SECRET], id="an env value is a list"),
        pytest.param((*BOX, "env", 1, "valueFrom"), SECRET, id="valueFrom is a string"),
        pytest.param((*BOX, "envFrom"), SECRET, id="envFrom is a string"),
        pytest.param((*BOX, "args"), SECRET, id="args are a string"),
        pytest.param((*BOX, "command"), SECRET, id="the command is a string"),
        pytest.param(("metadata", "annotations"), SECRET, id="the annotations are a string"),
        pytest.param((*BOX, "env", 0, "valeu"), SECRET, id="an unknown field of an env entry"),
    ],
)
def test_what_may_be_a_secret_is_not_repeated(
    service: Service, path: tuple[str | int, ...], value: Any
) -> None:
    found = only(schema.check_service(changed(service, *path, to=value)))

    assert SECRET not in found.message + found.remedy


def test_a_long_number_in_env_may_be_a_secret(service: Service) -> None:
    found = only(schema.check_service(changed(service, *BOX, "env", 0, "value", to=6473829105)))

    assert "6473829105" not in found.message + found.remedy
    assert found.remedy == "put the number in quotes, as it stands in the file"


def test_a_long_value_is_cut(service: Service) -> None:
    found = only(schema.check_service(changed(service, "spec", "edgeWorker", "model", to="m" * 500)))

    assert len(found.message) < 100


def test_many_unknown_fields_are_reported_quickly_each(service: Service) -> None:
    service["spec"]["cloudWorker"]["template"]["spec"] |= {
        f"fieldNumber{number}": 1 for number in range(2000)
    }

    assert len(schema.check_service(service)) == 2000
