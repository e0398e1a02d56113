"""What makes a worker's pod impossible: found here, because the cluster would tell late or not at all. Pure.

In a Deployment the API server accepts some of it, and then no pod is ever made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render import names, pod_values
from sedna_render.settings import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sedna_render.findings import Path
    from sedna_render.inject import Place


def check_template(pod_spec: Mapping[str, Any], workload: str, place: Place) -> bool:
    """Report what is impossible in the user's pod template whatever is injected; False when it cannot be used."""
    containers = pod_spec.get("containers") or []
    if not containers:
        place.error(
            "no-containers",
            ("containers",) if "containers" in pod_spec else (),
            "the worker has no container",
            "add a container with a name and an image",
        )
    pod_values.check_pod(pod_spec, place)
    _check_containers(pod_spec, place)
    _check_volumes(pod_spec, place)
    _check_workload(pod_spec, workload, place)
    return bool(containers)


def check_host_network(pod_spec: Mapping[str, Any], place: Place) -> None:
    """Report what a pod on its node's network cannot have, and two containers on one port of the node."""
    on_node = bool(pod_spec.get("hostNetwork"))
    if on_node:
        _check_host_ports(pod_spec, place)
        for path, message, remedy in _off_the_node(pod_spec):
            place.error("host-network", path, message, remedy)
    seen: dict[tuple[int, str, str], Path] = {}
    for claim in host_ports(pod_spec):
        first = seen.setdefault(claim[:3], claim.path)
        if first != claim.path:
            place.error(
                "host-port-clash",
                claim.path,
                f"port {claim.port}/{claim.protocol} of the node is taken twice in this pod, "
                f"also at {place.origin.locate((*place.path, *first))}",
                "give each container a port of its own",
            )


def _check_host_ports(pod_spec: Mapping[str, Any], place: Place) -> None:
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            for number, port in enumerate(container.get("ports") or ()):
                if port.get("hostPort") not in (None, 0, port["containerPort"]):
                    place.error(
                        "host-port-mismatch",
                        (kind, index, "ports", number, "hostPort"),
                        f"hostPort {port['hostPort']} differs from containerPort {port['containerPort']} in a pod on "
                        "its node's network",
                        "leave hostPort out, or make both the same",
                    )


class Claim(NamedTuple):
    """A port of a node that a container takes."""

    port: int
    protocol: str
    host_ip: str
    path: Path


def host_ports(pod_spec: Mapping[str, Any]) -> Iterator[Claim]:
    """The ports of its node that a pod takes while it runs."""
    on_node = bool(pod_spec.get("hostNetwork"))
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            ports = container.get("ports")
            if not ports or (kind == "initContainers" and container.get("restartPolicy") != "Always"):
                continue
            for number, port in enumerate(ports):
                taken = port["containerPort"] if on_node else port.get("hostPort")
                if taken:
                    path: Path = (kind, index, "ports", number, "containerPort" if on_node else "hostPort")
                    yield Claim(taken, port.get("protocol") or "TCP", port.get("hostIP") or "", path)


def _off_the_node(pod_spec: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    remedy = "remove the field, or say hostNetwork: false in the worker's template"
    if pod_spec.get("hostUsers") is False:
        yield (
            ("hostUsers",),
            "a pod on its node's network cannot have a user namespace (hostUsers: false)",
            remedy,
        )
    if pod_spec.get("hostnameOverride"):
        yield ("hostnameOverride",), "a pod on its node's network has the node's host name", remedy
    for index, sysctl in enumerate((pod_spec.get("securityContext") or {}).get("sysctls") or ()):
        name = str(sysctl.get("name", "")).replace("/", ".")
        if name.startswith("net."):
            path: Path = ("securityContext", "sysctls", index, "name")
            yield (
                path,
                f"sysctl {name} would change the network of the node: the API server refuses the pod",
                remedy,
            )


def _check_containers(pod_spec: Mapping[str, Any], place: Place) -> None:
    seen: dict[str, Path] = {}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            path: Path = (kind, index)
            name = container["name"]
            if problem := names.dns_1123_label(name):
                place.error("invalid-name", (*path, "name"), problem, "use lower-case letters, digits and -")
            first = seen.setdefault(name, path)
            if first != path:
                at = place.origin.locate((*place.path, *first, "name"))
                place.error(
                    "duplicate-container",
                    (*path, "name"),
                    f'two containers are called "{name}", also at {at}',
                    "give each container a name of its own",
                )
            pod_values.check_container(container, path, place)
    if pod_spec.get("ephemeralContainers"):
        place.error(
            "ephemeral-containers",
            ("ephemeralContainers",),
            "ephemeral containers cannot be in a pod that is being made",
            "remove the field; kubectl debug adds them to a running pod",
        )


def _check_volumes(pod_spec: Mapping[str, Any], place: Place) -> None:
    seen: dict[str, int] = {}
    for index, volume in enumerate(pod_spec.get("volumes") or ()):
        name = volume["name"]
        if problem := names.dns_1123_label(name):
            place.error(
                "invalid-name", ("volumes", index, "name"), problem, "use lower-case letters, digits and -"
            )
        first = seen.setdefault(name, index)
        if first != index:
            at = place.origin.locate((*place.path, "volumes", first, "name"))
            place.error(
                "duplicate-volume",
                ("volumes", index, "name"),
                f'two volumes are called "{name}", also at {at}',
                "give each volume a name of its own",
            )


def _check_workload(pod_spec: Mapping[str, Any], workload: str, place: Place) -> None:
    policy = pod_spec.get("restartPolicy")
    if policy not in pod_values.RESTART_POLICIES:
        policy = "Always"  # what is none of them is told already
    if workload == DEPLOYMENT:
        if policy != "Always":
            place.error(
                "restart-policy",
                ("restartPolicy",),
                f"a Deployment refuses restartPolicy {policy}",
                "remove it (Always is the default), or use workload: Pod",
            )
        if pod_spec.get("activeDeadlineSeconds") is not None:
            place.error(
                "active-deadline",
                ("activeDeadlineSeconds",),
                "a Deployment refuses activeDeadlineSeconds",
                "remove it, or use workload: Pod",
            )
    elif policy != "Always":
        place.warning(
            "restart-policy",
            ("restartPolicy",),
            f"with restartPolicy {policy} a worker that ends is not started again",
            "remove it: Always is the default",
        )
