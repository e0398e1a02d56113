"""Manifests: the Kubernetes objects that a service becomes, and their order.

A manifest is a plain ``dict``; this module holds what all of them share. Pure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Manifest = dict[str, Any]

#: Kinds in the order in which they are written: what others refer to comes first.
KIND_ORDER = ("Service", "Pod", "Deployment", "HorizontalPodAutoscaler")


class RenderedService(NamedTuple):
    """One JointInferenceService and the manifests that it became, in their fixed order."""

    namespace: str
    name: str
    #: POSIX path of the service's file, relative to the configuration's folder; "" for standard input.
    source: str
    manifests: tuple[Manifest, ...]

    @property
    def key(self) -> str:
        """``namespace/name``: what names the service in the lock file and in messages."""
        return f"{self.namespace}/{self.name}"


def sort_key(manifest: Manifest) -> tuple[int, str, str, str]:
    """Place of a manifest in a total order: kind, then namespace, then name."""
    kind = manifest["kind"]
    metadata = manifest["metadata"]
    rank = KIND_ORDER.index(kind) if kind in KIND_ORDER else len(KIND_ORDER)
    return rank, kind, metadata.get("namespace", ""), metadata["name"]
