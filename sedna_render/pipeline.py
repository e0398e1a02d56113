"""The render pipeline over a whole repository: decide, give out node ports, render each service. Pure.

What must hold over all services together is here: NodePort numbers and the names of objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_api import CLOUD
from sedna_api.labels import NODE_PORT as NODE_PORT_ANNOTATION
from sedna_api.labels import WORKER_TYPE
from sedna_render import address, joint_inference, node_ports, pod_rules
from sedna_render.findings import Finding, InputError, field_text
from sedna_render.manifests import RenderedService
from sedna_render.settings import DEPLOYMENT, NODE_PORT, POD, choices

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sedna_render.findings import Path
    from sedna_render.inventory import Inventory
    from sedna_render.manifests import Manifest
    from sedna_render.node_ports import Assigned
    from sedna_render.resources import Service
    from sedna_render.settings import Choices, Settings
    from sedna_render.worker import World


_WORKLOADS = (POD, DEPLOYMENT)


class Decisions(NamedTuple):
    """What is decided for all services before one of them is rendered."""

    choices: Mapping[str, Choices]
    numbers: Mapping[str, Assigned]
    #: What the lock file holds once this run is written.
    lock: Mapping[str, int]
    findings: list[Finding]


def decide(
    inventory: Inventory, settings: Settings, recorded: Mapping[str, int], gone: Collection[str] = ()
) -> Decisions:
    """The choices of every service and the NodePort numbers of all of them.

    recorded: the numbers of the lock file. gone: services in it that no longer exist.
    """
    findings: list[Finding] = []
    chosen = {}
    for key, service in sorted(inventory.services.items()):
        choice = choices(service, settings, findings)
        if choice is not None:
            chosen[key] = choice
    requests = {key: choice.node_port for key, choice in chosen.items() if choice.expose == NODE_PORT}
    elsewhere = {key for key, choice in chosen.items() if choice.expose != NODE_PORT}
    allocation = node_ports.allocate(requests, recorded, {*gone, *elsewhere}, settings.port_range)
    findings.extend(
        _port_finding(inventory.services[problem.key], problem) for problem in allocation.problems
    )
    findings.extend(
        _band_finding(inventory.services[key], assigned)
        for key, assigned in allocation.numbers.items()
        if not assigned.in_band
    )
    return Decisions(chosen, allocation.numbers, allocation.lock, findings)


def render(world: World, decisions: Decisions, findings: list[Finding]) -> Iterator[RenderedService]:
    """The services one by one, sorted by key; those with an error are left out and told among the findings.

    Each service is dropped from the inventory once it is rendered: thousands need not be in memory twice.
    """
    owners: dict[tuple[str, str, str], str] = {}
    ports = _NodePorts()
    services = world.inventory.services
    for key in sorted(services):
        service = services.pop(key)
        choice = decisions.choices.get(key)
        if choice is None:
            continue
        assigned = decisions.numbers.get(key)
        try:
            manifests = joint_inference.render_service(
                service, choice, assigned.number if assigned else None, world, findings
            )
        except InputError as problem:
            findings.extend(problem.findings)
            continue
        if manifests is None:
            continue
        collisions = [*_collisions(service, manifests, owners), *ports.clashes(service, manifests)]
        findings.extend(collisions)
        if not collisions:
            source = world.source_path(service.origin.document.source.name)
            yield RenderedService(service.namespace, service.name, source, manifests)


class _NodePorts:
    """The ports of nodes that pods bound to them take: two pods that want one would never both run."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, int, str], list[tuple[str, str, str]]] = {}

    def clashes(self, service: Service, manifests: tuple[Manifest, ...]) -> list[Finding]:
        """Take the ports of a service's workers; what was taken before becomes findings."""
        found = []
        for manifest in manifests:
            spec = _pod_spec(manifest)
            node = address.node_of(spec)
            worker = manifest["metadata"].get("labels", {}).get(WORKER_TYPE, "")
            for claim in _claims(manifests, spec, worker) if node else ():
                owners = self._owners.setdefault((node, claim.port, claim.protocol), [])
                # The first owner is named: with many on one port, naming each pair would drown all else.
                first = next(
                    (
                        (key, other)
                        for key, other, host_ip in owners
                        if (key, other) != (service.key, worker)
                        and (host_ip == claim.host_ip or "" in (host_ip, claim.host_ip))
                    ),
                    None,
                )
                if first:
                    found.append(_port_clash(service, worker, first, node, claim))
                else:
                    owners.append((service.key, worker, claim.host_ip))
        return found


def _pod_spec(manifest: Manifest) -> Manifest:
    if manifest["kind"] not in _WORKLOADS:
        return {}
    holder = manifest["spec"]["template"] if manifest["kind"] == DEPLOYMENT else manifest
    spec: Manifest = holder["spec"]
    return spec


def _claims(manifests: tuple[Manifest, ...], spec: Manifest, worker: str) -> list[pod_rules.Claim]:
    """The ports that a pod declares; and the big model's own, which it serves whether declared or not."""
    claims = list(pod_rules.host_ports(spec))
    if worker == CLOUD and spec.get("hostNetwork"):
        served = [
            port.get("targetPort") or port["port"]
            for manifest in manifests
            if manifest["kind"] == "Service"
            for port in manifest["spec"].get("ports") or ()
        ]
        declared = {claim.port for claim in claims}
        claims += [
            pod_rules.Claim(port, "TCP", "", ("hostNetwork",)) for port in served if port not in declared
        ]
    return claims


def _port_clash(
    service: Service, worker: str, owner: tuple[str, str], node: str, claim: pod_rules.Claim
) -> Finding:
    same = owner[0] == service.key
    whose = f"the {owner[1]} worker" + ("" if same else f" of {owner[0]}")
    return service.origin.error(
        "edge-cloud-same-port-clash" if same else "host-port-clash",
        ("spec", f"{worker}Worker", "template", "spec", *claim.path),
        f"port {claim.port}/{claim.protocol} of node {node} is taken by {whose} too",
        "give one of them another port, or another node",
    )


def _collisions(
    service: Service, manifests: tuple[Manifest, ...], owners: dict[tuple[str, str, str], str]
) -> list[Finding]:
    found = []
    for manifest in manifests:
        metadata = manifest["metadata"]
        name = (manifest["kind"], metadata["namespace"], metadata["name"])
        owner = owners.setdefault(name, service.key)
        if owner != service.key:
            found.append(
                service.origin.error(
                    "name-collision",
                    ("metadata", "name"),
                    f"its {name[0]} {name[1]}/{name[2]} would be that of service {owner} too",
                    "rename one of the two services",
                )
            )
    return found


def _port_path(service: Service) -> Path:
    annotated = "node-port" in service.annotations
    return ("metadata", "annotations", NODE_PORT_ANNOTATION) if annotated else ("metadata", "name")


def _port_finding(service: Service, problem: node_ports.Problem) -> Finding:
    path = _port_path(service)
    return Finding(
        problem.rule,
        problem.severity,
        service.origin.locate(path),
        service.origin.subject,
        field_text(path),
        problem.message,
        problem.remedy,
    )


def _band_finding(service: Service, assigned: Assigned) -> Finding:
    return service.origin.warning(
        "nodeport-dynamic-band",
        _port_path(service),
        f"NodePort {assigned.number} lies outside the static band: the API server may give it to another Service",
        "nothing to do while the cluster has few other NodePort Services; expose: EdgeMesh needs none",
    )
