"""Where the edge worker finds the big model: a host, a port, and what the cloud worker binds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_render import address, names
from sedna_render.hosts import is_ipv6
from sedna_render.settings import EDGE_MESH, NODE_PORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from sedna_render.findings import Finding
    from sedna_render.resources import Service
    from sedna_render.settings import Choices
    from sedna_render.worker import World


class BigModel(NamedTuple):
    """Where the edge worker finds the big model."""

    host: str
    port: str
    bind_ip: str
    bind_port: int
    node_port: int | None
    source: Callable[[], str]


def find(
    service: Service, choices: Choices, node_port: int | None, world: World, findings: list[Finding]
) -> BigModel | None:
    """Where the edge worker finds the big model; None after an error."""
    port = choices.big_model_port
    if choices.expose == EDGE_MESH:
        host = f"{names.derived(service.name, '-cloud').name}.{service.namespace}"
        return BigModel(host, str(port), "0.0.0.0", port, None, _edge_mesh)  # noqa: S104
    if choices.expose == NODE_PORT:
        found = address.cloud_address(service, world.settings, world.inventory.nodes, findings)
        if found is None or node_port is None:
            return None
        reached = str(node_port)
    else:
        external = address.external_address(service, port, findings)
        if external is None:
            return None
        found, reached = external
    v6 = is_ipv6(found.host)
    if v6:
        findings.append(
            service.origin.warning(
                "ipv6-address",
                ("spec", "cloudWorker"),
                f"the big model is reached at the IPv6 address {found.host}: the cloud worker listens on ::",
                "give an IPv4 address if there is one: not every library version speaks IPv6",
            )
        )
    return BigModel(found.in_url, reached, "::" if v6 else "0.0.0.0", port, node_port, found.source)  # noqa: S104


def _edge_mesh() -> str:
    return "the Service's name, resolved by EdgeMesh"
