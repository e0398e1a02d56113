"""From reflectors to the cache and the queue: what they tell is kept, and whose status it may touch is woken.

Does no work of its own: a watch must not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reconciler.cache import Cache, Key
    from reconciler.records import Pod, Service


class PodIntake:
    """Takes what a reflector says of pods."""

    def __init__(self, cache: Cache, wake: Callable[[Iterable[Key]], None]) -> None:
        self._cache = cache
        self._wake = wake

    def replaced(self, scope: str, items: Iterable[Pod], unreadable: Iterable[Key]) -> None:
        """All of the namespace is looked at again: who knows what was missed."""
        touched = self._cache.replace_pods(scope, items, unreadable)
        self._wake(touched | self._cache.service_keys(scope))

    def changed(self, _scope: str, item: Pod) -> None:
        self._wake(self._cache.put_pod(item))

    def deleted(self, _scope: str, key: Key) -> None:
        self._wake(self._cache.drop_pod(key))

    def reached(self, scope: str, version: str) -> None:
        """Pods have no barrier."""


class ServiceIntake:
    """Takes what a reflector says of services."""

    def __init__(
        self, cache: Cache, wake: Callable[[Iterable[Key]], None], listed: Callable[[], None]
    ) -> None:
        self._cache = cache
        self._wake = wake
        self._listed = listed

    def replaced(self, scope: str, items: Iterable[Service], unreadable: Iterable[Key]) -> None:
        touched = self._cache.replace_services(scope, items, unreadable)
        self._listed()
        self._wake(touched | self._cache.service_keys(scope))

    def changed(self, _scope: str, item: Service) -> None:
        self._wake(self._cache.put_service(item))

    def deleted(self, _scope: str, key: Key) -> None:
        self._wake(self._cache.drop_service(key))

    def reached(self, scope: str, version: str) -> None:
        self._cache.seen(scope, version)
