"""Writes the status of a service: one PATCH, one answer, and what the answer means for the key.

Never tries twice by itself: what comes next is the caller's, through the queue.
"""

from __future__ import annotations

import enum
import logging
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reconciler.decode import decode_failure, decode_service
from reconciler.resource import SERVICES
from reconciler.settings import FIELD_MANAGER
from reconciler.transport import MERGE_PATCH, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.records import Service
    from reconciler.time_source import TimeSource
    from reconciler.transport import Answer, Transport

log = logging.getLogger(__name__)

_NOT_FOUND, _CONFLICT, _SERVER_ERROR = 404, 409, 500
_REFUSED = (400, 413, 422)
_THROTTLED = (429, 503)
#: How etcd and the API server word it, with a 500 that no retry will mend.
_TOO_LARGE = ("too large", "larger than max")


class Result(enum.StrEnum):
    """What became of a write; the label of a metric."""

    WRITTEN = "written"
    #: Accepted, and nothing changed by it.
    NOOP = "noop"
    #: The service changed meanwhile: the watch brings the new one.
    CONFLICT = "conflict"
    GONE = "gone"
    #: Not as the schema or a limit wants it: only a change of the service can help.
    REFUSED = "refused"
    THROTTLED = "throttled"
    ERROR = "error"
    #: Not sent: the lease is not held.
    NOT_LEADING = "not_leading"


class Outcome(NamedTuple):
    """The result; the service as the API server answered it; what it said; how long it asked us to wait."""

    result: Result
    service: Service | None = None
    message: str = ""
    retry_after: float = 0.0


class Bucket:
    """So many writes a second, and so many at once after a quiet time; nobody waits in here."""

    def __init__(self, time: TimeSource, rate: float, burst: float) -> None:
        self._time = time
        self._rate = rate
        self._burst = burst
        self._lock = threading.Lock()
        self._tokens = burst
        self._filled = time.monotonic()
        self._paused_until = 0.0

    def take(self) -> float:
        """0: go ahead. Else the seconds after which to ask again."""
        with self._lock:
            now = self._time.monotonic()
            if now < self._paused_until:
                return self._paused_until - now
            self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
            self._filled = now
            if self._tokens < 1:
                return (1 - self._tokens) / self._rate
            self._tokens -= 1
            return 0.0

    def pause(self, seconds: float) -> None:
        """The server asked us to wait: all of us."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._time.monotonic() + seconds)


class StatusWriter:
    """Writes for whoever holds the lease."""

    def __init__(self, api: Transport, may_write: Callable[[], bool], *, timeout: float = 30.0) -> None:
        self._api = api
        self._may_write = may_write
        self._timeout = timeout

    def write(self, service: Service, patch: Mapping[str, Any]) -> Outcome:
        """Patch the status, if the service still is at the version that we know."""
        body = {
            **patch,
            "metadata": {**patch.get("metadata", {}), "resourceVersion": service.resource_version},
        }
        return self._patch(service, body, {})

    def keeps_observed_generation(self, service: Service) -> bool | None:
        """Ask, without changing anything, whether the schema keeps the field; None: cannot be told now."""
        # No version: whatever the service is now, the schema is the same.
        body = {"status": {"observedGeneration": service.generation}}
        outcome = self._patch(service, body, {"dryRun": "All"})
        if outcome.service is not None:
            return "observedGeneration" in outcome.service.status
        if outcome.result not in (Result.REFUSED, Result.GONE, Result.NOT_LEADING):
            log.warning("no status is written before the schema is known: %s", outcome.message)
        # A schema so strict that it refuses the field does not keep it.
        return False if outcome.result is Result.REFUSED else None

    def _patch(self, service: Service, body: Mapping[str, Any], query: Mapping[str, str]) -> Outcome:
        path = SERVICES.path(service.namespace, service.name, "status")
        # The last thing before it is sent: a lease may be lost between any two lines.
        if not self._may_write():
            return Outcome(Result.NOT_LEADING)
        try:
            answer = self._api.request(
                "PATCH",
                path,
                query={"fieldManager": FIELD_MANAGER, **query},
                body=body,
                content_type=MERGE_PATCH,
                timeout=self._timeout,
            )
        except UnreachableError as problem:
            return Outcome(Result.ERROR, message=str(problem))
        return outcome_of(answer, service.resource_version)


def outcome_of(answer: Answer, version: str) -> Outcome:
    """What an answer to a patch of a service at this version means."""
    if answer.ok:
        try:
            service = decode_service(answer.body)
        except (ValueError, msgspec.MsgspecError) as problem:
            # It is written, most likely: the watch will tell.
            return Outcome(Result.ERROR, message=f"the answer is no service: {problem}")
        return Outcome(Result.NOOP if service.resource_version == version else Result.WRITTEN, service)
    failure = decode_failure(answer.body)
    message = failure.message or answer.body[:200].decode(errors="replace")
    return Outcome(_result(answer.status, message), None, f"{answer.status}: {message}", answer.retry_after)


def _result(status: int, message: str) -> Result:
    if status == _NOT_FOUND:
        return Result.GONE
    if status == _CONFLICT:
        return Result.CONFLICT
    too_large = status >= _SERVER_ERROR and any(words in message.lower() for words in _TOO_LARGE)
    if status in _REFUSED or too_large:
        return Result.REFUSED
    return Result.THROTTLED if status in _THROTTLED else Result.ERROR
