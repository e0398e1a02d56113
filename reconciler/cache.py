"""What the API server last said of pods and services, by service: the reconciler reads nothing else.

Does no I/O and decides nothing; methods that change it return the keys whose answer may change.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reconciler.records import Pod, Service

#: Namespace and name: of a service, or of a pod.
Key = tuple[str, str]

#: A scope is a namespace, or this: all of them.
EVERYWHERE = ""


class Snapshot(NamedTuple):
    """A service and its pods at one moment. Records are immutable."""

    service: Service | None
    pods: tuple[Pod, ...]


class Barrier(NamedTuple):
    """Our own last write of a service: its version, and when."""

    version: int
    written: float


def version_number(version: str) -> int:
    """A resourceVersion as a number, comparable since Kubernetes 1.35; 0 for none or another kind of text."""
    return int(version) if version.isascii() and version.isdigit() else 0


class Cache:
    """Pods and services. Every method may be called from any thread."""

    def __init__(self, monotonic: Callable[[], float], barrier_seconds: float = 90.0) -> None:
        self._now = monotonic
        self._barrier_seconds = barrier_seconds
        self._lock = threading.Lock()
        self._services: dict[Key, Service] = {}
        self._pods: dict[Key, Pod] = {}
        # The pods of a service, also of one that does not exist (yet).
        self._workers: dict[Key, tuple[Pod, ...]] = {}
        self._barriers: dict[Key, Barrier] = {}
        self._seen: dict[str, int] = {}
        self._synced: dict[str, set[str]] = {"Pod": set(), "JointInferenceService": set()}

    def snapshot(self, key: Key) -> Snapshot:
        with self._lock:
            return Snapshot(self._services.get(key), self._workers.get(key, ()))

    def service_keys(self, scope: str = EVERYWHERE) -> set[Key]:
        """Of all services, and of all pods' services whether they exist or not."""
        with self._lock:
            return {key for key in (*self._services, *self._workers) if _within(key, scope)}

    def sizes(self) -> tuple[int, int]:
        """How many services and pods it holds."""
        return len(self._services), len(self._pods)

    def synced(self, namespace: str) -> bool:
        """Whether pods and services of the namespace were listed to the end at least once."""
        return all(namespace in scopes or EVERYWHERE in scopes for scopes in self._synced.values())

    # --- pods

    def put_pod(self, pod: Pod) -> set[Key]:
        with self._lock:
            return self._put_pod(pod)

    def drop_pod(self, key: Key) -> set[Key]:
        with self._lock:
            return self._drop_pod(key)

    def replace_pods(self, scope: str, pods: Iterable[Pod], unreadable: Iterable[Key] = ()) -> set[Key]:
        """What a full list held; what it did not hold is gone, except what could not be read."""
        new = {(pod.namespace, pod.name): pod for pod in pods}
        keep = {*new, *unreadable}
        touched: set[Key] = set()
        with self._lock:
            for key in [key for key in self._pods if _within(key, scope) and key not in keep]:
                touched |= self._drop_pod(key)
            for pod in new.values():
                touched |= self._put_pod(pod)
            self._synced["Pod"].add(scope)
        return touched

    def _put_pod(self, pod: Pod) -> set[Key]:
        key = (pod.namespace, pod.name)
        touched = self._drop_pod(key)
        self._pods[key] = pod
        owner = (pod.namespace, pod.service)
        self._workers[owner] = (*self._workers.get(owner, ()), pod)
        # The label may have moved it from one service to another: both must be looked at.
        return touched | {owner}

    def _drop_pod(self, key: Key) -> set[Key]:
        pod = self._pods.pop(key, None)
        if pod is None:
            return set()
        owner = (pod.namespace, pod.service)
        left = tuple(other for other in self._workers[owner] if other is not pod)
        if left:
            self._workers[owner] = left
        else:
            del self._workers[owner]
        return {owner}

    # --- services

    def put_service(self, service: Service) -> set[Key]:
        key = (service.namespace, service.name)
        with self._lock:
            self._services[key] = service
        return {key}

    def drop_service(self, key: Key) -> set[Key]:
        with self._lock:
            self._services.pop(key, None)
            self._barriers.pop(key, None)
        return {key}

    def replace_services(
        self, scope: str, services: Iterable[Service], unreadable: Iterable[Key] = ()
    ) -> set[Key]:
        """What a full list held; what it did not hold is gone, except what could not be read."""
        new = {(service.namespace, service.name): service for service in services}
        keep = {*new, *unreadable}
        with self._lock:
            gone = {key for key in self._services if _within(key, scope) and key not in keep}
            for key in gone:
                del self._services[key]
            for key in [key for key in self._barriers if _within(key, scope)]:
                del self._barriers[key]
            self._services.update(new)
            # The list may come from before what was seen: time can go back.
            self._seen.pop(scope, None)
            self._synced["JointInferenceService"].add(scope)
        return gone | set(new)

    # --- the barrier after own writes

    def seen(self, scope: str, version: str) -> None:
        """The watch of services has come to this version, by an event or a bookmark."""
        self._seen[scope] = version_number(version)

    def wrote(self, key: Key, version: str) -> None:
        """The API server answered our write of the service with this version."""
        with self._lock:
            self._barriers[key] = Barrier(version_number(version), self._now())

    def held(self, key: Key) -> bool:
        """Whether the cache is older than our own last write: then it is no ground to decide on."""
        with self._lock:
            barrier = self._barriers.get(key)
            if barrier is None:
                return False
            if self._now() - barrier.written < self._barrier_seconds and self._known(key) < barrier.version:
                return True
            del self._barriers[key]
            return False

    def _known(self, key: Key) -> float:
        service = self._services.get(key)
        if service is None:
            # Deleted while our write was answered: there is nothing to wait for.
            return float("inf")
        seen = max(self._seen.get(key[0], 0), self._seen.get(EVERYWHERE, 0))
        return max(version_number(service.resource_version), seen)


def _within(key: Key, scope: str) -> bool:
    return scope in (EVERYWHERE, key[0])
