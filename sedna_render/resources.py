"""The objects that a render works on: small typed views, and where each came from. Pure.

Only what later steps need is kept: a Model is a few strings, of a Secret no value is ever looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render.findings import ERROR, WARNING, Finding, field_text

if TYPE_CHECKING:
    from sedna_render.findings import Location, Path
    from sedna_render.yaml_reader import Document

#: What ``render.sedna.io/…`` may say on a JointInferenceService, and on a Model.
SERVICE_ANNOTATIONS = (
    "workload",
    "expose",
    "big-model-port",
    "big-model-address",
    "cloud-address",
    "node-port",
)
MODEL_ANNOTATIONS = ("model-mount", "s3-endpoint")


class Origin(NamedTuple):
    """Where an object came from, and how messages name it."""

    document: Document
    kind: str
    namespace: str
    name: str

    @property
    def subject(self) -> str:
        """The object in messages: ``JointInferenceService default/helmet``."""
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {named}" if named else self.kind

    def locate(self, path: Path = (), *, key: bool = False) -> Location:
        """The place of a field of this object in its file."""
        return self.document.locate(path, key=key)

    def error(self, rule: str, path: Path, message: str, remedy: str, *, key: bool = False) -> Finding:
        """An error about a field of this object."""
        return Finding(
            rule, ERROR, self.locate(path, key=key), self.subject, field_text(path), message, remedy
        )

    def warning(self, rule: str, path: Path, message: str, remedy: str, *, key: bool = False) -> Finding:
        """A warning about a field of this object."""
        return Finding(
            rule, WARNING, self.locate(path, key=key), self.subject, field_text(path), message, remedy
        )


class Service(NamedTuple):
    """A JointInferenceService, checked against Sedna's schema."""

    namespace: str
    name: str
    annotations: dict[str, str]
    spec: dict[str, Any]
    origin: Origin

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class Model(NamedTuple):
    """A Model, checked against Sedna's schema."""

    namespace: str
    name: str
    url: str
    credential_name: str
    annotations: dict[str, str]
    origin: Origin


class Node(NamedTuple):
    """A cluster node: what decides the address that an edge worker calls."""

    name: str
    labels: dict[str, str]
    #: (type, address, where it stands) in the order of the Node's status.
    addresses: tuple[tuple[str, str, Path], ...]
    unschedulable: bool
    origin: Origin


class Secret(NamedTuple):
    """What a Secret says beside its values: they are never looked at."""

    namespace: str
    name: str
    s3_endpoint: str
    s3_use_https: str
    keys: frozenset[str]
