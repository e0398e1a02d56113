"""How the edge worker reaches the big model: which host, which port. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_api.labels import ANNOTATION_PREFIX
from sedna_render import hosts
from sedna_render.object_checks import is_placeholder
from sedna_render.settings import annotation_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sedna_render.findings import Finding, Path
    from sedna_render.resources import Node, Service
    from sedna_render.settings import Settings

HOSTNAME_LABEL = "kubernetes.io/hostname"
EDGE_LABEL = "node-role.kubernetes.io/edge"
_INTEGER = r"([+-]?)0*([0-9]{1,19})"
_CLOUD_SPEC: Path = ("spec", "cloudWorker", "template", "spec")


class Address(NamedTuple):
    """A host, as the library builds a URL from it, and where it comes from."""

    host: str
    source: Callable[[], str]

    @property
    def in_url(self) -> str:
        """The host as it stands in a URL: an IPv6 address in brackets."""
        return f"[{self.host}]" if hosts.is_ipv6(self.host) else self.host


def cloud_address(
    service: Service, settings: Settings, nodes: Mapping[str, Node], findings: list[Finding]
) -> Address | None:
    """The address of a node through which the big model's NodePort is reached; None after an error."""
    annotation = service.annotations.get("cloud-address")
    if annotation is not None:
        return _annotated(service, annotation, findings)
    pod_spec = service.spec["cloudWorker"]["template"].get("spec") or {}
    pinned = node_of(pod_spec)
    if pinned and pinned in settings["nodeAddresses"]:
        found = settings["nodeAddresses"][pinned]
        return Address(found, lambda: f"nodeAddresses[{pinned}], {settings.source('nodeAddresses')}")
    if settings["cloudAddress"]:
        return Address(settings["cloudAddress"], lambda: f"cloudAddress, {settings.source('cloudAddress')}")
    if pinned:
        node = _node_called(pinned, nodes, by_label=not pod_spec.get("nodeName"))
        if node and (address := node_address(node, findings)):
            return Address(address, lambda: f"Node {node.name}")
        _report_none(service, pinned, node, findings)
        return None
    return _first_match(service, pod_spec, nodes, findings)


def _annotated(service: Service, value: str, findings: list[Finding]) -> Address | None:
    if problem := hosts.address_problem(value):
        findings.append(
            service.origin.error(
                "invalid-address", _annotation("cloud-address"), problem, "write an IP address or a host name"
            )
        )
        return None
    return Address(value, lambda: annotation_source(service, "cloud-address"))


def external_address(service: Service, port: int, findings: list[Finding]) -> tuple[Address, str] | None:
    """Host and port that the user gives for ``expose: External``; None after an error."""
    value = service.annotations.get("big-model-address")
    if value is None:
        findings.append(
            service.origin.error(
                "no-cloud-address",
                ("metadata", "annotations"),
                "expose: External, and nothing says where the big model is reached",
                f"add the annotation {ANNOTATION_PREFIX}big-model-address: <host>[:<port>]",
            )
        )
        return None
    host, number = _split_port(value)
    # The edge node itself may be meant: a tunnel may end there.
    problem = hosts.address_problem(host, loopback=True)
    if number is not None and not hosts.is_port(number):
        problem = f'"{number}" is not a port (1 to 65535)'
    if problem:
        findings.append(
            service.origin.error(
                "invalid-address",
                _annotation("big-model-address"),
                problem,
                "write <host>, <host>:<port> or [<IPv6 address>]:<port>, without a scheme or a path",
            )
        )
        return None
    return Address(host, lambda: annotation_source(service, "big-model-address")), number or str(port)


def _split_port(value: str) -> tuple[str, str | None]:
    """Host and port of ``host:port``, ``[v6]:port``, ``host`` or a bare IPv6 address."""
    if value.startswith("["):
        host, bracket, rest = value[1:].partition("]")
        if not bracket or not hosts.is_ipv6(host) or rest[:1] not in ("", ":"):
            return value, None
        return host, rest[1:] if rest else None
    if value.count(":") == 1:
        host, _, port = value.partition(":")
        return host, port
    return value, None


def node_address(node: Node, findings: list[Finding]) -> str | None:
    """A node's address: external before internal, IPv4 before IPv6, then the first; those that are none are told."""
    for kind in ("ExternalIP", "InternalIP"):
        of_kind = []
        for type_, address, path in node.addresses:
            if type_ != kind:
                continue
            if problem := hosts.address_problem(address):
                remedy = f"give the Node as kubectl get node {node.name} -o yaml prints it"
                findings.append(
                    node.origin.warning("invalid-address", path, f"{problem}; it is not used", remedy)
                )
            else:
                of_kind.append(address)
        if of_kind:
            return min(of_kind, key=hosts.is_ipv6)
    return None


def node_of(pod_spec: Mapping[str, Any]) -> str:
    """The node that a pod is bound to, "" when the scheduler chooses."""
    selector = pod_spec.get("nodeSelector") or {}
    return pod_spec.get("nodeName") or selector.get(HOSTNAME_LABEL) or ""


def _pinning_field(service: Service) -> Path:
    pod_spec = service.spec["cloudWorker"]["template"].get("spec") or {}
    return ("nodeName",) if pod_spec.get("nodeName") else ("nodeSelector", HOSTNAME_LABEL)


def _node_called(name: str, nodes: Mapping[str, Node], *, by_label: bool) -> Node | None:
    if by_label:
        labelled = [node for _, node in sorted(nodes.items()) if node.labels.get(HOSTNAME_LABEL) == name]
        if labelled:
            return labelled[0]
    return nodes.get(name)


def _first_match(
    service: Service, pod_spec: Mapping[str, Any], nodes: Mapping[str, Node], findings: list[Finding]
) -> Address | None:
    constrained = pod_spec.get("nodeSelector") or _required_terms(pod_spec)
    candidates = _matching(pod_spec, nodes.values()) if constrained else []
    addressed = [(node, address) for node in candidates if (address := node_address(node, findings))]
    if not addressed:
        _report_none(service, "", None, findings)
        return None
    node, address = addressed[0]
    findings.append(
        service.origin.warning(
            "cloud-not-pinned",
            _CLOUD_SPEC,
            f"the cloud worker may run on any of {len(candidates)} node(s); edge workers call it through "
            f"{node.name} ({address})",
            "set cloudAddress in sedna-render.yaml to an address that stays (any node forwards the NodePort)",
        )
    )
    return Address(address, lambda: f"Node {node.name}, the first that matches")


def _matching(pod_spec: Mapping[str, Any], nodes: Iterable[Node]) -> list[Node]:
    selector = pod_spec.get("nodeSelector") or {}
    terms = _required_terms(pod_spec)
    return sorted(
        (
            node
            for node in nodes
            if not node.unschedulable
            and EDGE_LABEL not in node.labels
            and all(node.labels.get(key) == value for key, value in selector.items())
            and (not terms or any(_term_matches(term, node) for term in terms))
        ),
        key=lambda node: node.name,
    )


def _required_terms(pod_spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return required.get("nodeSelectorTerms") or []


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    expressions = term.get("matchExpressions") or []
    by_name = term.get("matchFields") or []
    if not expressions and not by_name:
        return False
    return all(_expression_matches(expression, node.labels) for expression in expressions) and all(
        _expression_matches(expression, {"metadata.name": node.name}) for expression in by_name
    )


def _expression_matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One node selector requirement, as the scheduler reads it."""
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    value = labels.get(key)
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    found, wanted = _int64(value), _int64(values[0] if len(values) == 1 else None)
    if found is None or wanted is None:
        return False
    return found > wanted if operator == "Gt" else found < wanted


def _int64(text: str | None) -> int | None:
    """A number as Go's ParseInt reads it: decimal digits behind at most a sign, in 64 bits."""
    found = re.fullmatch(_INTEGER, text or "")
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if -(1 << 63) <= number < 1 << 63 else None


def _report_none(service: Service, pinned: str, node: Node | None, findings: list[Finding]) -> None:
    if is_placeholder(pinned):
        return  # told already, and with the name filled in there may be an address
    if node is not None:
        message = f"Node {node.name} has no ExternalIP and no InternalIP for the edge worker to call"
    elif pinned:
        message = f'no address is known for node "{pinned}", on which the cloud worker runs'
    else:
        message = "no address is known through which the edge worker reaches the cloud worker"
    key = f"nodeAddresses[{pinned}]" if pinned else "nodeAddresses"
    path = (*_CLOUD_SPEC, *_pinning_field(service)) if pinned else _CLOUD_SPEC
    findings.append(
        service.origin.error(
            "no-cloud-address",
            path,
            message,
            f"give one of: the annotation {ANNOTATION_PREFIX}cloud-address on the service; {key} or cloudAddress in "
            "sedna-render.yaml; the Node among the inputs (kubectl get node <name> -o yaml); or use expose: EdgeMesh",
        )
    )


def _annotation(name: str) -> Path:
    return ("metadata", "annotations", ANNOTATION_PREFIX + name)
