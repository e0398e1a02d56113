"""The API server's objects as they come, as far as they are read: msgspec structs that skip everything else.

Data only. A field that is not named here costs nothing but the bytes it is sent in.
"""

from __future__ import annotations

import datetime as dt
from typing import Final, Generic, TypeVar

import msgspec

from sedna_api import labels

#: Written by Sedna's own controller beside the name: the uid of the service.
UID_LABEL: Final = "jointinferenceservice.sedna.io/uid"

Time = dt.datetime | None


class Wire(msgspec.Struct, gc=False, rename="camel"):
    pass


class Labels(
    msgspec.Struct,
    gc=False,
    rename={"service": labels.SERVICE_NAME, "uid": UID_LABEL, "worker": labels.WORKER_TYPE},
):
    service: str = ""
    uid: str = ""
    worker: str = ""


class Owner(Wire):
    api_version: str = ""
    kind: str = ""
    uid: str = ""
    controller: bool | None = None


class Owned(msgspec.Struct, gc=False, rename=lambda name: f"f:{name}"):
    active: msgspec.Raw = msgspec.Raw()
    failed: msgspec.Raw = msgspec.Raw()
    conditions: msgspec.Raw = msgspec.Raw()


class OwnedFields(msgspec.Struct, gc=False, rename=lambda name: f"f:{name}"):
    status: Owned | None = None


class ManagedFields(msgspec.Struct, gc=False, rename={"fields": "fieldsV1"}):
    manager: str = ""
    subresource: str = ""
    time: Time = None
    fields: OwnedFields | None = None


class PodMetadata(Wire):
    name: str
    namespace: str
    uid: str
    resource_version: str
    creation_timestamp: Time = None
    deletion_timestamp: Time = None
    labels: Labels | None = None
    owner_references: list[Owner] | None = None


class ServiceMetadata(Wire):
    name: str
    namespace: str
    uid: str
    resource_version: str
    generation: int = 0
    creation_timestamp: Time = None
    deletion_timestamp: Time = None
    managed_fields: list[ManagedFields] | None = None


class InitContainer(Wire):
    name: str
    restart_policy: str | None = None


class Spec(Wire):
    node_name: str = ""
    restart_policy: str = "Always"
    init_containers: list[InitContainer] | None = None


class ConditionObject(Wire):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time = None


class Waiting(Wire):
    reason: str = ""
    message: str = ""


class Running(Wire):
    started_at: Time = None


class Terminated(Wire):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: Time = None
    finished_at: Time = None


class State(Wire):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Wire):
    name: str
    ready: bool = False
    restart_count: int = 0
    state: State | None = None
    last_state: State | None = None


class PodStatus(Wire):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[ConditionObject] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class PodObject(Wire):
    metadata: PodMetadata
    spec: Spec
    status: PodStatus | None = None


class ServiceObject(Wire):
    metadata: ServiceMetadata
    status: msgspec.Raw = msgspec.Raw()


class ListMetadata(Wire, rename={"continue_": "continue", "resource_version": "resourceVersion"}):
    continue_: str = ""
    resource_version: str = ""


Item = TypeVar("Item")


class ListOf(msgspec.Struct, Generic[Item]):
    metadata: ListMetadata
    items: list[Item] | None


class Event(Wire):
    type: str
    object: msgspec.Raw


class NamedMetadata(Wire):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class Named(Wire):
    metadata: NamedMetadata = msgspec.field(default_factory=NamedMetadata)
