"""Which of several replicas may write: a Lease that one holds, renewed while it lives.

Whether it is still held is told by a clock that also counts while the machine sleeps, so that a process that was
frozen does not write with a lease that has since gone to another.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from reconciler.time_source import micro_time
from reconciler.transport import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.settings import Settings
    from reconciler.time_source import TimeSource
    from reconciler.transport import Answer

log = logging.getLogger(__name__)

_OK, _CREATED, _NOT_FOUND, _CONFLICT = 200, 201, 404, 409


class Api(Protocol):
    """What the lease needs of a Transport."""

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
    ) -> Answer:
        """Send one request."""


class _Seen(NamedTuple):
    """The lease as last read: by whom it is held, and since when (our clock) it has looked like this."""

    version: str
    spec: dict[str, Any]
    metadata: dict[str, Any]
    since: float

    @property
    def holder(self) -> str:
        return str(self.spec.get("holderIdentity") or "")


class Lease:
    """One candidate. ``step`` and ``release`` belong to one thread; ``valid`` may be asked by any."""

    def __init__(
        self,
        api: Api,
        time: TimeSource,
        where: tuple[str, str],
        identity: str,
        *,
        settings: Settings,
    ) -> None:
        self._api = api
        self._time = time
        self._namespace, self._name = where
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"
        self.identity = identity
        self._settings = settings
        self._seen: _Seen | None = None
        # Until when (CLOCK_BOOTTIME) what we write is covered by the last renewal; 0: we do not lead.
        self._until = 0.0

    def valid(self) -> bool:
        """Whether we may write at this very moment; to be asked before each write."""
        return self._time.boottime() < self._until

    def step(self) -> float:
        """Take or renew the lease, or see that another has it; the seconds until the next step."""
        led = self._until > 0
        try:
            self._try()
        except UnreachableError as problem:
            log.warning("lease %s/%s: %s", self._namespace, self._name, problem)
        if led and not self.valid():
            self._until = 0.0
            log.error("no longer the leader: the lease is another's, or was not renewed in time")
        return self._settings.lease_retry * (1 + 0.2 * self._time.chance())

    def release(self) -> None:
        """Let another take over at once. Nothing may be written afterwards."""
        held, self._until = self.valid(), 0.0
        if not held or self._seen is None:
            return
        try:
            answer = self._put(
                self._seen, {**self._seen.spec, "holderIdentity": "", "leaseDurationSeconds": 1}
            )
        except UnreachableError as problem:
            log.warning("the lease could not be released: %s", problem)
        else:
            log.info("lease released: %s", answer.status)

    def _try(self) -> None:
        if not self.valid() or self._seen is None:
            self._look()
        if self._seen is None:
            self._take(None)
        elif self._seen.holder in ("", self.identity) or self._expired(self._seen):
            self._take(self._seen)

    def _look(self) -> None:
        """Read the lease; note since when it has been as it is, by our own clock."""
        answer = self._api.request(
            "GET", f"{self._collection}/{self._name}", timeout=self._settings.lease_timeout
        )
        if answer.status == _NOT_FOUND:
            self._seen = None
        elif answer.ok:
            self._saw(answer.body)
        else:
            raise UnreachableError(f"the lease cannot be read: {_told(answer)}")

    def _saw(self, body: bytes) -> None:
        try:
            found = json.loads(body)
            metadata, spec = dict(found["metadata"]), dict(found.get("spec") or {})
            version = str(metadata["resourceVersion"])
        except (ValueError, TypeError, KeyError) as problem:
            raise UnreachableError(f"the answer is no Lease: {problem!r}") from problem
        if self._seen is None or self._seen.version != version:
            self._seen = _Seen(version, spec, metadata, self._time.boottime())

    def _expired(self, seen: _Seen) -> bool:
        seconds = seen.spec.get("leaseDurationSeconds")
        duration = float(seconds) if isinstance(seconds, int | float) else self._settings.lease_duration
        return self._time.boottime() - seen.since > duration

    def _take(self, seen: _Seen | None) -> None:
        """Create the lease, take it over, or renew it."""
        # From before the request: whenever within it the server took the renewal, others count from later.
        asked = self._time.boottime()
        was_ours = seen is not None and seen.holder == self.identity and self.valid()
        answer = self._put(seen, self._spec(seen)) if seen else self._create()
        if answer.status in (_OK, _CREATED):
            self._saw(answer.body)
            self._until = asked + self._settings.lease_renew_deadline
            if not was_ours:
                log.info("now the leader, as %s", self.identity)
            return
        if answer.status == _CONFLICT:
            self._lost_race()
        elif answer.status == _NOT_FOUND:
            self._seen = None
        else:
            log.warning("the lease cannot be written: %s", _told(answer))

    def _lost_race(self) -> None:
        """Somebody else wrote it. That need not be another holder, but until that is known we do not write."""
        until, self._until = self._until, 0.0
        self._look()
        if self._seen is not None and self._seen.holder == self.identity:
            self._until = until

    def _spec(self, seen: _Seen | None) -> dict[str, Any]:
        now = micro_time(self._time.wall())
        old = seen.spec if seen else {}
        ours = bool(seen) and old.get("holderIdentity") == self.identity
        transitions = old.get("leaseTransitions")
        transitions = transitions if isinstance(transitions, int) else 0
        return {
            **old,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._settings.lease_duration),
            "acquireTime": old.get("acquireTime") or now if ours else now,
            "renewTime": now,
            "leaseTransitions": transitions if ours or not seen else transitions + 1,
        }

    def _create(self) -> Answer:
        metadata = {"namespace": self._namespace, "name": self._name}
        return self._api.request(
            "POST",
            self._collection,
            body=_lease(metadata, self._spec(None)),
            timeout=self._settings.lease_timeout,
        )

    def _put(self, seen: _Seen, spec: dict[str, Any]) -> Answer:
        # Labels and annotations that others put there stay; the version makes a lost race a 409.
        return self._api.request(
            "PUT",
            f"{self._collection}/{self._name}",
            body=_lease(seen.metadata, spec),
            timeout=self._settings.lease_timeout,
        )


def _lease(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def _told(answer: Answer) -> str:
    return f"{answer.status} {answer.body[:300]!r}"
