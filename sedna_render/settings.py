"""Settings: what the repository, a service or the command line decides, and which of them wins. Pure.

Flags win over annotations, annotations over the configuration file, the file over the defaults.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_api.labels import ANNOTATION_PREFIX
from sedna_render import hosts, names, node_ports, schema
from sedna_render.findings import ERROR, Finding, Location, field_text
from sedna_render.object_checks import as_finding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sedna_render.findings import Path
    from sedna_render.resources import Service
    from sedna_render.yaml_reader import Document

FILE_NAME = "sedna-render.yaml"
API_VERSION = "render.sedna.io/v1alpha1"
KIND = "RenderConfig"

POD, DEPLOYMENT = "Pod", "Deployment"
NODE_PORT, EDGE_MESH, EXTERNAL = "NodePort", "EdgeMesh", "External"
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")

CHOICES = {
    "workload": (POD, DEPLOYMENT),
    "expose": (NODE_PORT, EDGE_MESH, EXTERNAL),
    "layout": ("service", "object", "single"),
}

#: Annotations that mean something with one value of expose only.
_ONLY_WITH = {"cloud-address": NODE_PORT, "node-port": NODE_PORT, "big-model-address": EXTERNAL}

BIG_MODEL_PORT = 5000
DEFAULTS: dict[str, Any] = {
    "workload": POD,
    "expose": NODE_PORT,
    "nodePortRange": "30000-32767",
    "nodeAddresses": {},
    "cloudAddress": "",
    "lcServer": "http://localhost:9100",
    "s3Endpoint": "",
    "s3UseHttps": True,
    "storageInitializerImage": "kubeedge/sedna-storage-initializer:v0.3.0",
    "namespace": "default",
    "layout": "service",
    "output": "",
    "templates": "",
    "labels": {},
    "annotations": {},
    "edgeAutonomy": False,
    "modelReadOnly": False,
}


class Setting(NamedTuple):
    """An effective value, and what tells where it comes from (finding a place in a file costs reading it again)."""

    value: Any
    source: Callable[[], str]


class Settings:
    """The settings of a run; a service's annotations may still decide otherwise. Not changed once made."""

    def __init__(
        self,
        values: Mapping[str, Any] = MappingProxyType(DEFAULTS),
        document: Document | None = None,
        given: frozenset[str] = frozenset(),
        flags: frozenset[str] = frozenset(),
    ) -> None:
        """``given``: the settings of the configuration file ``document``; ``flags``: those of the command line."""
        self.values = values
        self.document = document
        self.given = given
        self.flags = flags

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def source(self, name: str) -> str:
        """Where a setting's value comes from, for a person."""
        if name in self.flags:
            return f"flag --{name}"
        if name in self.given and self.document is not None:
            return str(self.document.locate((name,)))
        return "default"

    @property
    def port_range(self) -> range:
        """The cluster's NodePort numbers."""
        ports = node_ports.parse_range(self.values["nodePortRange"])
        return ports if isinstance(ports, range) else range(0)

    def with_flags(self, flags: Mapping[str, Any]) -> Settings:
        """These settings with those that the command line gives (not None) in front."""
        given = {name: value for name, value in flags.items() if value is not None}
        return Settings({**self.values, **given}, self.document, self.given, self.flags | given.keys())

    def of(self, service: Service, name: str) -> Setting:
        """An effective setting of one service."""
        annotation = service.annotations.get(name)
        if annotation is not None and name not in self.flags:
            return Setting(annotation, lambda: annotation_source(service, name))
        return Setting(self.values[name], lambda: self.source(name))


def annotation_source(service: Service, name: str) -> str:
    """Where an annotation stands, for a person."""
    place = service.origin.locate(("metadata", "annotations", ANNOTATION_PREFIX + name))
    return f"annotation {ANNOTATION_PREFIX}{name} at {place}"


class Choices(NamedTuple):
    """What is decided for one service before anything is looked up."""

    workload: str
    expose: str
    big_model_port: int
    #: The NodePort number that the service asks for, if it does.
    node_port: int | None


def choices(service: Service, settings: Settings, findings: list[Finding]) -> Choices | None:
    """The choices of a service; None when one of its annotations is wrong."""
    chosen = {}
    for name in ("workload", "expose"):
        value = settings.of(service, name).value
        if value not in CHOICES[name]:
            near = {choice.lower(): choice for choice in CHOICES[name]}.get(value.lower())
            remedy = f"did you mean {near}?" if near else f"write one of: {', '.join(CHOICES[name])}"
            findings.append(_annotation_error(service, name, f'"{value}" is not a known {name}', remedy))
        chosen[name] = value
    _check_unused(service, chosen["expose"], findings)
    port = _number(service, "big-model-port", "a port (1 to 65535)", range(1, 65536), findings)
    ports = settings.port_range
    number = _number(service, "node-port", f"a NodePort ({ports.start} to {ports.stop - 1})", ports, findings)
    if any(finding.is_error and finding.subject == service.origin.subject for finding in findings):
        return None
    return Choices(chosen["workload"], chosen["expose"], port or BIG_MODEL_PORT, number)


def _check_unused(service: Service, expose: str, findings: list[Finding]) -> None:
    for name in service.annotations:
        wanted = _ONLY_WITH.get(name, expose)
        if wanted != expose:
            path = ("metadata", "annotations", ANNOTATION_PREFIX + name)
            message = f"with expose: {expose} it decides nothing"
            remedy = f"remove it, or use expose: {wanted}"
            findings.append(service.origin.warning("annotation-unused", path, message, remedy, key=True))


def _number(service: Service, name: str, what: str, allowed: range, findings: list[Finding]) -> int | None:
    text = service.annotations.get(name)
    if text is None:
        return None
    is_number = _NUMBER.fullmatch(text) is not None
    if is_number and int(text) in allowed:
        return int(text)
    outside = name == "node-port" and is_number
    remedy = (
        "choose a number of the cluster's range, or set nodePortRange in sedna-render.yaml to what the cluster has"
        if outside
        else 'write a number in quotes, such as "5000"'
        if name == "big-model-port"
        else f'write a number in quotes, such as "{allowed.start}"'
    )
    findings.append(
        _annotation_error(
            service,
            name,
            f'"{text}" is not {what}',
            remedy,
            "nodeport-range" if outside else "invalid-annotation",
        )
    )
    return None


def _annotation_error(
    service: Service, name: str, message: str, remedy: str, rule: str = "invalid-annotation"
) -> Finding:
    path = ("metadata", "annotations", ANNOTATION_PREFIX + name)
    return service.origin.error(rule, path, message, remedy)


def from_document(document: Document) -> tuple[Settings, list[Finding]]:
    """The settings that a configuration file makes, and what is wrong with it."""
    data = document.data
    if not isinstance(data, dict):
        return Settings(), [
            _error(
                document,
                "wrong-type",
                (),
                "the configuration is not a mapping",
                "start from docs/configuration.md",
            )
        ]
    violations = schema.check_config(data)
    findings = [as_finding(document, KIND, data, violation) for violation in violations]
    bad = {violation.path[0] for violation in violations if violation.path}
    given = {
        name: value
        for name, value in data.items()
        if name in DEFAULTS and name not in bad and value is not None
    }
    findings.extend(_check(document, given))
    return Settings({**DEFAULTS, **given}, document._replace(data=None), frozenset(given)), findings


def _check(document: Document, given: Mapping[str, Any]) -> list[Finding]:
    findings = []
    if "nodePortRange" in given:
        ports = node_ports.parse_range(given["nodePortRange"])
        if isinstance(ports, str):
            findings.append(
                _error(
                    document,
                    "nodeport-range",
                    ("nodePortRange",),
                    f'"{given["nodePortRange"]}" {ports}',
                    "write it as 30000-32767",
                )
            )
    if "namespace" in given and (problem := names.dns_1123_label(given["namespace"])):
        findings.append(
            _error(document, "invalid-name", ("namespace",), problem, "use lower-case letters, digits and -")
        )
    for path, address in _addresses(given):
        if problem := hosts.address_problem(address):
            findings.append(
                _error(document, "invalid-address", path, problem, "write an IP address or a host name")
            )
    return [*findings, *_check_servers(document, given), *_check_metadata(document, given)]


def _check_metadata(document: Document, given: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for name in ("labels", "annotations"):
        for key, value in given.get(name, {}).items():
            if name == "labels":
                problem = names.label_key(key) or names.label_value(value)
            else:
                problem = names.annotation_key(key)
            if problem:
                findings.append(
                    _error(document, "invalid-name", (name, key), problem, "see Kubernetes' label syntax")
                )
            elif key.startswith(ANNOTATION_PREFIX):
                message = (
                    f"{ANNOTATION_PREFIX} here decides nothing: it is read from services and Models only"
                )
                remedy = "set the key of the configuration, or annotate the service or Model"
                findings.append(_error(document, "unknown-annotation", (name, key), message, remedy))
    return findings


def _check_servers(document: Document, given: Mapping[str, Any]) -> list[Finding]:
    findings = []
    https = given.get("s3UseHttps", DEFAULTS["s3UseHttps"])
    urls = {
        "lcServer": given.get("lcServer"),
        "s3Endpoint": hosts.with_scheme(given.get("s3Endpoint", ""), https=https),
    }
    for name, url in urls.items():
        for rule, severity, message, remedy in hosts.endpoint_problems(url) if url else ():
            findings.append(Finding(rule, severity, document.locate((name,)), KIND, name, message, remedy))
    image = given.get("storageInitializerImage", DEFAULTS["storageInitializerImage"])
    if image.split() != [image]:
        message = "the image has a blank in it" if image else "the image is empty"
        remedy = "write <repository>:<tag>, or leave the key out"
        findings.append(_error(document, "invalid-image", ("storageInitializerImage",), message, remedy))
    return findings


def _addresses(given: Mapping[str, Any]) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = [
        (("nodeAddresses", node), address) for node, address in given.get("nodeAddresses", {}).items()
    ]
    if given.get("cloudAddress"):
        found.append((("cloudAddress",), given["cloudAddress"]))
    return found


def _error(document: Document, rule: str, path: Path, message: str, remedy: str) -> Finding:
    return Finding(rule, ERROR, document.locate(path), KIND, field_text(path), message, remedy)


def flag_error(rule: str, flag: str, message: str, remedy: str) -> Finding:
    """A finding about the command line."""
    return Finding(rule, ERROR, Location("command line"), flag, "", message, remedy)
