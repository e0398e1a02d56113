"""The two kinds that are watched: where they are served and how their lists are decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler import decode
from sedna_api import GROUP, PLURAL_SERVICE, VERSION, labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.records import Kind


class Resource(NamedTuple):
    """A kind as its collection is asked for."""

    kind: Kind
    prefix: str
    plural: str
    selector: str
    decode_list: Callable[[bytes], decode.Page[Any]]

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """The path of the collection, everywhere or in a namespace, or of one object in it."""
        inside = f"namespaces/{namespace}" if namespace else ""
        return "/" + "/".join(filter(None, (self.prefix, inside, self.plural, name, subresource)))


class Collection(NamedTuple):
    """What one list or watch is about: a kind in a namespace, or everywhere (an empty scope)."""

    resource: Resource
    scope: str

    @property
    def kind(self) -> Kind:
        return self.resource.kind

    @property
    def path(self) -> str:
        return self.resource.path(self.scope)

    def query(self, **more: str) -> dict[str, str]:
        """What every request for it must ask, and more."""
        return {"labelSelector": self.resource.selector, **more} if self.resource.selector else more

    def __str__(self) -> str:
        return f"{self.resource.plural} in {self.scope or 'all namespaces'}"


# Only pods with the label: the rest of the cluster is never sent.
PODS = Resource("Pod", "api/v1", "pods", labels.SERVICE_NAME, decode.decode_pod_list)
SERVICES = Resource(
    "JointInferenceService", f"apis/{GROUP}/{VERSION}", PLURAL_SERVICE, "", decode.decode_service_list
)
