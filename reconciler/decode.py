"""Bytes of the API server -> records. Pure; an object that cannot be understood is counted, never raised.

Structs that name only what is read are 30 times as fast as the client's models, and a page is dropped at once.
"""

from __future__ import annotations

import functools
import sys
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from reconciler import wire
from reconciler.records import (
    INIT,
    MAIN,
    NO_CONDITION,
    RUNNING,
    SIDECAR,
    TERMINATED,
    WAITING,
    Bookmark,
    Container,
    Failure,
    Kind,
    Manager,
    Pod,
    PodCondition,
    Poison,
    Service,
    Termination,
)
from sedna_api import GROUP, KIND_SERVICE, WORKER_TYPES, WorkerType

#: Longest text of others that is kept, in characters; what is stored is cut again, in bytes.
_LONGEST_TEXT: Final = 1024

_Record = TypeVar("_Record", Pod, Service)


class NotAList(ValueError):  # noqa: N818 - it says what the body is
    """The answer to a list is none: cut short, or of another program on the way."""


_pod_decoder = msgspec.json.Decoder(wire.PodObject)
_service_decoder = msgspec.json.Decoder(wire.ServiceObject)
_pod_list_decoder = msgspec.json.Decoder(wire.ListOf[wire.PodObject])
_service_list_decoder = msgspec.json.Decoder(wire.ListOf[wire.ServiceObject])
_raw_list_decoder = msgspec.json.Decoder(wire.ListOf[msgspec.Raw])
_event_decoder = msgspec.json.Decoder(wire.Event)
_named_decoder = msgspec.json.Decoder(wire.Named)
_failure_decoder = msgspec.json.Decoder(Failure)
# What msgspec raises for what is no JSON, not of the type, or not UTF-8; deep nesting is a RecursionError.
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError, ValueError)


# --- lists and events ---------------------------------------------------------------------------------------------


class Page(NamedTuple, Generic[_Record]):
    """One page of a list: the records, how to go on (empty: this was the last), and what could not be read."""

    items: list[_Record]
    continue_token: str
    resource_version: str
    failures: list[Poison]


class WatchEvent(NamedTuple):
    """One line of a watch. `type` is ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or empty where it is not known."""

    type: str
    object: Pod | Service | Bookmark | Failure | Poison


def decode_pod_list(body: bytes) -> Page[Pod]:
    """A page of pods. Raises NotAList if the body is no list."""
    try:
        page = _pod_list_decoder.decode(body)
        pods = [_pod(item) for item in page.items or ()]
    except _ERRORS:
        return _list_one_by_one(body, "Pod")
    return Page(pods, page.metadata.continue_, page.metadata.resource_version, [])


def decode_service_list(body: bytes) -> Page[Service]:
    """A page of services. Raises NotAList if the body is no list."""
    try:
        page = _service_list_decoder.decode(body)
        services = [_service(item) for item in page.items or ()]
    except _ERRORS:
        return _list_one_by_one(body, "JointInferenceService")
    return Page(services, page.metadata.continue_, page.metadata.resource_version, [])


def decode_pod(body: bytes) -> Pod:
    """One pod. Raises ValueError if it is none."""
    return _pod(_pod_decoder.decode(body))


def decode_service(body: bytes) -> Service:
    """One service, such as the answer to a PATCH. Raises ValueError if it is none."""
    return _service(_service_decoder.decode(body))


def decode_event(line: bytes, kind: Kind) -> WatchEvent:
    """One line of a watch of this kind; a Poison where the object, or the line, cannot be understood."""
    try:
        event = _event_decoder.decode(line)
    except _ERRORS as error:
        return WatchEvent("", Poison(kind, "", "", "", str(error)))
    raw = event.object
    try:
        if event.type == "ERROR":
            return WatchEvent(event.type, _failure_decoder.decode(raw))
        if event.type == "BOOKMARK":
            return WatchEvent(event.type, Bookmark(_named_decoder.decode(raw).metadata.resource_version))
        return WatchEvent(event.type, decode_pod(raw) if kind == "Pod" else decode_service(raw))
    except _ERRORS as error:
        return WatchEvent(event.type, _poison(raw, kind, error))


def decode_failure(body: bytes) -> Failure:
    """A Status in an answer that is no success; empty where the body is something else."""
    try:
        return _failure_decoder.decode(body)
    except _ERRORS:
        return Failure()


def _list_one_by_one(body: bytes, kind: Kind) -> Page[_Record]:
    """The slow way, taken where one object of a page is bad: the others still count."""
    try:
        page = _raw_list_decoder.decode(body)
    except _ERRORS as error:
        raise NotAList(str(error)) from error
    items: list[_Record] = []
    failures = []
    for raw in page.items or ():
        try:
            items.append(decode_pod(raw) if kind == "Pod" else decode_service(raw))  # type: ignore[arg-type]
        except _ERRORS as error:
            failures.append(_poison(raw, kind, error))
    return Page(items, page.metadata.continue_, page.metadata.resource_version, failures)


def _poison(raw: msgspec.Raw, kind: Kind, error: Exception) -> Poison:
    """What can still be said of it; the resource version matters most: a watch goes on from there."""
    try:
        metadata = _named_decoder.decode(raw).metadata
    except _ERRORS:
        metadata = wire.NamedMetadata()
    return Poison(kind, metadata.namespace, metadata.name, metadata.resource_version, str(error))


# --- records ------------------------------------------------------------------------------------------------------


def _pod(sent: wire.PodObject) -> Pod:
    metadata, spec = sent.metadata, sent.spec
    status = sent.status or wire.PodStatus()
    label = metadata.labels or wire.Labels()
    conditions = {one.type: one for one in status.conditions or ()}
    sidecars = [one.name for one in spec.init_containers or () if one.restart_policy == "Always"]
    return Pod(
        namespace=sys.intern(metadata.namespace),
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        service=sys.intern(label.service),
        worker=_worker(label, metadata.name),
        owner_uid=sys.intern(_owner_uid(label, metadata.owner_references)),
        created=_seconds(metadata.creation_timestamp),
        deletion=_seconds(metadata.deletion_timestamp) if metadata.deletion_timestamp else None,
        phase=sys.intern(status.phase),
        reason=sys.intern(status.reason),
        message=status.message[:_LONGEST_TEXT],
        node=sys.intern(spec.node_name),
        restart_policy=sys.intern(spec.restart_policy),
        scheduled=_condition(conditions.get("PodScheduled")),
        ready=_condition(conditions.get("Ready")),
        containers_ready=_condition(conditions.get("ContainersReady")),
        containers=_containers(status.container_statuses, ()),
        init_containers=_containers(status.init_container_statuses, sidecars, INIT),
    )


def _worker(label: wire.Labels, name: str) -> WorkerType | None:
    """By label; pods of older controllers have none, and say it in their name."""
    if not label.worker:
        rest = name.removeprefix(f"{label.service}-").removeprefix("deployment-")
        return next((one for one in WORKER_TYPES if rest.startswith(f"{one}-")), None)
    return next((one for one in WORKER_TYPES if label.worker == one), None)


def _owner_uid(label: wire.Labels, owners: list[wire.Owner] | None) -> str:
    """One uid; two that contradict each other are returned as both, which is no service's."""
    controller = next(
        (
            one.uid
            for one in owners or ()
            if one.controller and one.kind == KIND_SERVICE and one.api_version.startswith(f"{GROUP}/")
        ),
        "",
    )
    if label.uid and controller and label.uid != controller:
        return f"{label.uid} {controller}"
    return label.uid or controller


@functools.lru_cache(maxsize=4096)
def _calm_condition(status: str, transition: float) -> PodCondition:
    """Shared: the conditions of a pod that came up are of the same second, and pods come up together."""
    return PodCondition(status, transition=transition)


def _condition(sent: wire.ConditionObject | None) -> PodCondition:
    if sent is None:
        return NO_CONDITION
    transition = _seconds(sent.last_transition_time)
    if not sent.reason and not sent.message:
        return _calm_condition(sent.status, transition)
    reason = sys.intern(sent.reason)
    return PodCondition(sys.intern(sent.status), reason, sent.message[:_LONGEST_TEXT], transition)


@functools.lru_cache(maxsize=4096)
def _healthy(name: str, role: str) -> Container:
    """Shared by all pods that have a container of this name, which is nearly all of them nearly always."""
    return Container(name, role, ready=True, state=RUNNING)


@functools.lru_cache(maxsize=4096)
def _done(name: str) -> Container:
    """Likewise: an init container that did its work at the first try."""
    return Container(name, INIT, ready=True, state=TERMINATED, reason="Completed", last=Termination(0))


def _containers(
    statuses: list[wire.ContainerStatus] | None, sidecars: list[str] | tuple[()], role: str = MAIN
) -> tuple[Container, ...]:
    if not statuses:
        return ()
    return tuple([_container(one, SIDECAR if one.name in sidecars else role) for one in statuses])


def _container(sent: wire.ContainerStatus, role: str) -> Container:
    state = sent.state or wire.State()
    last = sent.last_state.terminated if sent.last_state else None
    if state.running and sent.ready and not sent.restart_count and last is None:
        return _healthy(sent.name, role)
    if role == INIT and state.terminated and not state.terminated.exit_code and not sent.restart_count:
        return _done(sent.name)
    kind, said = _current(state)
    return Container(
        name=sys.intern(sent.name),
        role=role,
        ready=sent.ready,
        restarts=sent.restart_count,
        state=kind,
        reason=sys.intern(said.reason),
        message=said.message[:_LONGEST_TEXT] if kind == WAITING else "",
        started=_seconds(state.running.started_at) if state.running and not sent.ready else 0.0,
        last=_termination(state.terminated or last),
    )


def _current(state: wire.State) -> tuple[str, wire.Waiting | wire.Terminated]:
    if state.running:
        return RUNNING, wire.Waiting()
    if state.terminated:
        return TERMINATED, state.terminated
    return (WAITING, state.waiting) if state.waiting else ("", wire.Waiting())


def _termination(sent: wire.Terminated | None) -> Termination | None:
    if sent is None:
        return None
    return Termination(
        sent.exit_code,
        sys.intern(sent.reason),
        sent.message[-_LONGEST_TEXT:],  # the end of a log says why
        _seconds(sent.started_at),
        _seconds(sent.finished_at),
    )


def _service(sent: wire.ServiceObject) -> Service:
    metadata = sent.metadata
    return Service(
        namespace=sys.intern(metadata.namespace),
        name=sys.intern(metadata.name),
        uid=sys.intern(metadata.uid),
        resource_version=metadata.resource_version,
        generation=metadata.generation,
        created=_seconds(metadata.creation_timestamp),
        deleting=metadata.deletion_timestamp is not None,
        status_json=bytes(sent.status),  # a copy: what msgspec gives would keep the whole page alive
        managers=tuple([_manager(one) for one in metadata.managed_fields or () if _wrote_status(one)]),
    )


def _wrote_status(sent: wire.ManagedFields) -> bool:
    return sent.subresource == "status" and sent.fields is not None and sent.fields.status is not None


def _manager(sent: wire.ManagedFields) -> Manager:
    owned = (sent.fields and sent.fields.status) or wire.Owned()
    return Manager(
        sys.intern(sent.manager),
        _seconds(sent.time),
        _names(bool(bytes(owned.active)), bool(bytes(owned.failed)), bool(bytes(owned.conditions))),
    )


@functools.cache
def _names(active: bool, failed: bool, conditions: bool) -> tuple[str, ...]:
    """Shared: there are eight of them."""
    owned = (("active", active), ("failed", failed), ("conditions", conditions))
    return tuple([name for name, is_owned in owned if is_owned])


def _seconds(time: wire.Time) -> float:
    return time.timestamp() if time else 0.0
