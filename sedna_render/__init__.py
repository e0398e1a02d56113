"""sedna-render: JointInferenceServices and Models in, Kubernetes manifests out.

The Python interface is this one function; the command line is made of the same parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__version__ = "0.1.0"
__all__ = ["__version__", "render"]


def render(
    objects: Iterable[Mapping[str, Any]],
    *,
    config: Mapping[str, Any] | None = None,
    node_ports: Mapping[str, int] | None = None,
) -> list[dict[str, Any]]:
    """The manifests of all JointInferenceServices among Kubernetes objects, in their fixed order.

    Args:
        objects: JointInferenceServices, Models, Nodes and Secrets as plain data (what a YAML or JSON reader gives).
        config: What sedna-render.yaml would hold, without apiVersion and kind; see docs/configuration.md.
        node_ports: NodePort numbers that are taken, by ``namespace/name`` of the service: what the lock file holds.

    Raises:
        TypeError: node_ports is not of its type.
        sedna_render.findings.InputError: Something in the objects is wrong; ``findings`` say what, all of it.
    """
    from sedna_render import library  # noqa: PLC0415 - the command line does without, and starts sooner

    return library.render(objects, config or {}, node_ports or {})
