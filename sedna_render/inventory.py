"""All objects of a run, taken out of documents and checked one by one. Pure.

What is wrong with an object becomes findings; what is usable of it is kept, so that one run tells everything.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from sedna_api import API_VERSION, KIND_MODEL, KIND_SERVICE
from sedna_api.labels import ANNOTATION_PREFIX, S3_ENDPOINT, SECRET_S3_ENDPOINT, SECRET_S3_USE_HTTPS
from sedna_render import hosts, kinds, names, schema
from sedna_render.findings import ERROR, Finding, field_text
from sedna_render.object_checks import (
    as_finding,
    escaped_controls,
    filled_in_fields,
    owners,
    placeholders,
    unexpanded,
    without,
)
from sedna_render.resources import (
    MODEL_ANNOTATIONS,
    SERVICE_ANNOTATIONS,
    Model,
    Node,
    Origin,
    Secret,
    Service,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sedna_render.findings import Path
    from sedna_render.yaml_reader import Document

_LIST_KINDS = frozenset({"List", f"{KIND_SERVICE}List", f"{KIND_MODEL}List", "NodeList", "SecretList"})


class Inventory:
    """All objects of a run. The only thing here that grows while documents are taken in."""

    def __init__(self, default_namespace: str) -> None:
        self.default_namespace = default_namespace
        self.services: dict[str, Service] = {}
        self.models: dict[tuple[str, str], Model] = {}
        self.nodes: dict[str, Node] = {}
        self.secrets: dict[tuple[str, str], Secret] = {}
        #: Objects seen, also those that were refused: a Model that is wrong is not also "missing".
        self.seen: dict[tuple[str, str, str], Origin] = {}
        #: Kinds that are not ours, counted.
        self.passed_over: dict[str, int] = {}
        #: Configurations among the inputs: all but one of them are not in force.
        self.configurations: list[Document] = []
        self.findings: list[Finding] = []
        #: Whether there is a JointInferenceService among them, also one that was refused.
        self.has_service = False
        #: Whether all inputs could be read: only then is what is not here nowhere.
        self.is_complete = True

    def model_names(self, namespace: str) -> list[str]:
        """The names of all Models of a namespace, sorted, also of those that were refused."""
        return self._models_by_place[0].get(namespace, [])

    def namespaces_of_model(self, name: str) -> list[str]:
        """The namespaces that have a Model of this name, sorted."""
        return self._models_by_place[1].get(name, [])

    @functools.cached_property
    def _models_by_place(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Asked for once all documents are in."""
        names: dict[str, list[str]] = {}
        spaces: dict[str, list[str]] = {}
        for kind, namespace, name in sorted(self.seen):
            if kind == KIND_MODEL:
                names.setdefault(namespace, []).append(name)
                spaces.setdefault(name, []).append(namespace)
        return names, spaces

    def add(self, document: Document) -> None:
        """Take in one document; what is wrong with it becomes findings."""
        for base, data in self._objects(document, (), document.data):
            self._add_object(document._replace(data=None, base=base), data)

    def _objects(self, document: Document, base: Path, data: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
        if not isinstance(data, dict):
            self._refuse_document(document, base, data)
            return
        kind, api_version = data.get("kind"), data.get("apiVersion")
        if kind is None and api_version is None and not base:
            # Values files, compose files and the like lie beside manifests; an apiVersion in the wrong place does not.
            if "spec" in data and "metadata" in data:
                self._missing(document, base, data, "apiVersion and kind")
            return
        if not isinstance(kind, str) or not kind or not isinstance(api_version, str) or not api_version:
            self._missing(document, base, data, "apiVersion" if isinstance(kind, str) and kind else "kind")
            return
        if kind in _LIST_KINDS and isinstance(data.get("items"), list):
            # The API leaves kind and apiVersion out of the items of a list that says what they are.
            of_list = {"apiVersion": api_version, "kind": kind.removesuffix("List")} if kind != "List" else {}
            for index, item in enumerate(data["items"]):
                typed = {**of_list, **item} if of_list and isinstance(item, dict) else item
                yield from self._objects(document, (*base, "items", index), typed)
            return
        yield base, data

    def _refuse_document(self, document: Document, base: Path, data: Any) -> None:
        shown = (
            "a list" if isinstance(data, list) else "a text" if isinstance(data, str) else "a single value"
        )
        marker = str(data).strip() in {"EOF", "END"}
        self.findings.append(
            Finding(
                "not-an-object",
                ERROR,
                document.locate(base),
                "",
                field_text(base),
                f"this document is {shown}, not a Kubernetes object",
                "give each object apiVersion, kind and metadata, and put --- between two objects"
                + (" (a stray end-of-here-document line?)" if marker else ""),
            )
        )

    def _missing(self, document: Document, base: Path, data: Mapping[str, Any], what: str) -> None:
        kind = data.get("kind")
        metadata = data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        subject = " ".join(str(part) for part in (kind, name) if isinstance(part, str) and part)
        looks_like = "List" if kind is None and isinstance(data.get("items"), list) else _looks_like(data)
        example = (
            f"kind: {looks_like}"
            if what == "kind"
            else f"apiVersion: {API_VERSION}"
            if what == "apiVersion"
            else f"apiVersion: {API_VERSION} and kind: {looks_like}"
        )
        self.findings.append(
            Finding(
                "missing-kind",
                ERROR,
                document.locate(base),
                subject,
                field_text(base),
                f"the object has no {what}",
                f"add {example} at its top",
            )
        )

    def _add_object(self, document: Document, data: dict[str, Any]) -> None:
        kind = kinds.identify(data["apiVersion"], data["kind"])
        if kind is None and data["kind"] == "RenderConfig":
            self.configurations.append(document)
        if kind is None:
            self.passed_over[data["kind"]] = self.passed_over.get(data["kind"], 0) + 1
            return
        origin = self._origin(document, data)
        if isinstance(kind, kinds.Mistake):
            # What depends on this object would only repeat that it is not there.
            self.is_complete = False
            self.findings.append(origin.error(kind.rule, (kind.field,), kind.message, kind.remedy))
            return
        violations = _CHECKS[kind](data)
        self.findings.extend(
            as_finding(document, origin.subject, data, violation) for violation in violations
        )
        self.has_service = self.has_service or kind == KIND_SERVICE
        if kind in kinds.SEDNA_KINDS:
            self._check_names(origin, has_name=_has_name(data))
            if b"\\" in document.source.content:
                self.findings.extend(escaped_controls(origin, data, ()))
        if self._is_duplicate(origin):
            return
        errors = [violation for violation in violations if violation.severity == ERROR]
        usable = without(data, errors) if errors else data
        if not errors or not any(violation.severity == ERROR for violation in _CHECKS[kind](usable)):
            _TAKERS[kind](self, origin, usable)

    def _origin(self, document: Document, data: Mapping[str, Any]) -> Origin:
        metadata = data.get("metadata")
        name = namespace = None
        if isinstance(metadata, dict):
            name, namespace = metadata.get("name"), metadata.get("namespace")
        shown_namespace = namespace if isinstance(namespace, str) and namespace else self.default_namespace
        kind = data["kind"]
        return Origin(
            document, kind, "" if kind == "Node" else shown_namespace, name if isinstance(name, str) else ""
        )

    def _is_duplicate(self, origin: Origin) -> bool:
        if not origin.name:
            return False
        key = (origin.kind, origin.namespace, origin.name)
        first = self.seen.setdefault(key, origin)
        if first is origin:
            return False
        self.findings.append(
            origin.error(
                "duplicate-resource",
                ("metadata", "name"),
                f"this object is there twice: also at {first.locate(('metadata', 'name'))}",
                "remove one of them or give it another name",
            )
        )
        return True

    def _check_names(self, origin: Origin, *, has_name: bool) -> None:
        """Name and namespace, also of an object whose shape is wrong."""
        path: Path = ("metadata", "name")
        found = placeholders(origin, [(path, origin.name)])
        if has_name and not found:
            found = self._name_problems(origin, path)
        space: Path = ("metadata", "namespace")
        if problem := names.dns_1123_label(origin.namespace):
            remedy = "use lower-case letters, digits and - (at most 63)"
            found = [*found, origin.error("invalid-name", space, problem, remedy)]
        self.findings.extend(found)

    def _name_problems(self, origin: Origin, path: Path) -> list[Finding]:
        if origin.kind == KIND_SERVICE:
            problem = names.dns_1035_label(origin.name)
            remedy = (
                "use at most 63 lower-case letters, digits and -, the first one a letter: "
                "the name becomes a Service's and a label's value"
            )
        else:
            problem = names.dns_1123_subdomain(origin.name)
            remedy = "use lower-case letters, digits, - and . (at most 253)"
        return [origin.error("invalid-name", path, problem, remedy)] if problem else []

    def _tell_placeholders(self, origin: Origin, fields: Iterable[tuple[Path, Any]]) -> bool:
        found = placeholders(origin, fields)
        self.findings.extend(found)
        return not found

    def _annotations(
        self, origin: Origin, data: Mapping[str, Any], known: Sequence[str], elsewhere: Mapping[str, str]
    ) -> dict[str, str]:
        """Our own annotations of an object, without the prefix; unknown ones are told and left out."""
        all_of_them = data["metadata"].get("annotations") or {}
        ours = {
            key.removeprefix(ANNOTATION_PREFIX): value
            for key, value in all_of_them.items()
            if key.startswith(ANNOTATION_PREFIX)
        }
        unknown = [key for key in ours if key not in known]
        for key in unknown:
            self.findings.append(
                origin.error(
                    "unknown-annotation",
                    ("metadata", "annotations", ANNOTATION_PREFIX + key),
                    f"no annotation {ANNOTATION_PREFIX}{key} on a {origin.kind}",
                    _annotation_remedy(key, known, elsewhere),
                    key=True,
                )
            )
        return {key: value for key, value in ours.items() if key in known}

    def take_service(self, origin: Origin, data: dict[str, Any]) -> None:
        """Take in a JointInferenceService that the schema accepts."""
        annotations = self._annotations(
            origin, data, SERVICE_ANNOTATIONS, dict.fromkeys(MODEL_ANNOTATIONS, KIND_MODEL)
        )
        self._tell_placeholders(origin, [*owners(data), *filled_in_fields(data["spec"])])
        if b"$" in origin.document.source.content:
            self.findings.extend(unexpanded(origin, data["spec"]))
        # Also after an error: what else is wrong with the service is to be told in the same run.
        service = Service(origin.namespace, origin.name, annotations, data["spec"], origin)
        self.services[service.key] = service

    def take_model(self, origin: Origin, data: dict[str, Any]) -> None:
        """Take in a Model that the schema accepts."""
        annotations = self._annotations(
            origin, data, MODEL_ANNOTATIONS, dict.fromkeys(SERVICE_ANNOTATIONS, KIND_SERVICE)
        )
        spec = data["spec"]
        url, credential = spec["url"], spec.get("credentialName") or ""
        problem = names.dns_1123_subdomain(credential) if credential else None
        if problem:
            remedy = "name a Secret: lower-case letters, digits, - and ."
            self.findings.append(origin.error("invalid-name", ("spec", "credentialName"), problem, remedy))
        filled = self._tell_placeholders(origin, [*owners(data), (("spec", "url"), url)])
        self._check_endpoint(origin, S3_ENDPOINT, annotations.get("s3-endpoint") or "")
        if filled and not problem:
            model = Model(origin.namespace, origin.name, url, credential, annotations, origin)
            self.models[(model.namespace, model.name)] = model

    def _check_endpoint(self, origin: Origin, annotation: str, endpoint: str) -> None:
        # Whatever the scheme will be, what is wrong stays wrong.
        for problem in hosts.endpoint_problems(hosts.with_scheme(endpoint, https=True)) if endpoint else ():
            path: Path = ("metadata", "annotations", annotation)
            report = origin.error if problem.severity == ERROR else origin.warning
            self.findings.append(report(problem.rule, path, problem.message, problem.remedy))

    def take_node(self, origin: Origin, data: dict[str, Any]) -> None:
        """Take in a Node that the schema accepts."""
        status, spec = data.get("status") or {}, data.get("spec") or {}
        addresses: tuple[tuple[str, str, Path], ...] = tuple(
            (entry["type"], entry["address"], ("status", "addresses", index, "address"))
            for index, entry in enumerate(status.get("addresses") or [])
            if entry.get("type") and entry.get("address")
        )
        labels = data["metadata"].get("labels") or {}
        unschedulable = bool(spec.get("unschedulable"))
        self.nodes[origin.name] = Node(origin.name, labels, addresses, unschedulable, origin)

    def take_secret(self, origin: Origin, data: dict[str, Any]) -> None:
        """Take in a Secret's names; the values stay behind."""
        annotations = data["metadata"].get("annotations") or {}
        keys = frozenset(data.get("data") or {}) | frozenset(data.get("stringData") or {})
        for field in ("data", "stringData"):
            if data.get(field):
                self.findings.append(
                    origin.warning(
                        "secret-value-in-git",
                        (field,),
                        "the values of a Secret lie among the inputs, where everybody who reads them can use them",
                        "keep only its metadata here (the annotations s3-endpoint and s3-usehttps are all that is "
                        "read), and make the Secret in the cluster",
                        key=True,
                    )
                )
        secret = Secret(
            origin.namespace,
            origin.name,
            annotations.get(SECRET_S3_ENDPOINT) or "",
            annotations.get(SECRET_S3_USE_HTTPS) or "",
            keys,
        )
        self._check_endpoint(origin, SECRET_S3_ENDPOINT, secret.s3_endpoint)
        self.secrets[(origin.namespace, origin.name)] = secret


_TAKERS: dict[str, Callable[[Inventory, Origin, dict[str, Any]], None]] = {
    KIND_SERVICE: Inventory.take_service,
    KIND_MODEL: Inventory.take_model,
    "Node": Inventory.take_node,
    "Secret": Inventory.take_secret,
}
_CHECKS: dict[str, Callable[[dict[str, Any]], list[schema.Violation]]] = {
    KIND_SERVICE: schema.check_service,
    KIND_MODEL: schema.check_model,
    "Node": schema.check_node,
    "Secret": schema.check_secret,
}


def _has_name(data: Mapping[str, Any]) -> bool:
    metadata = data.get("metadata")
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)


def _looks_like(data: Mapping[str, Any]) -> str:
    spec = data.get("spec")
    return KIND_MODEL if isinstance(spec, dict) and "url" in spec else KIND_SERVICE


def _annotation_remedy(key: str, known: Sequence[str], elsewhere: Mapping[str, str]) -> str:
    if key in elsewhere:
        return f"it belongs on the {elsewhere[key]}"
    import difflib  # noqa: PLC0415 - only when an error is being worded

    near = difflib.get_close_matches(key, [*known, *elsewhere], n=1, cutoff=0.6)
    listed = ", ".join(ANNOTATION_PREFIX + name for name in known)
    suggestion = f"did you mean {ANNOTATION_PREFIX}{near[0]}? " if near else ""
    return f"{suggestion}known here: {listed}"
