"""Tells people of transitions by Events, as many as a cluster can bear, without ever delaying a status.

Events are best effort: what cannot be sent is counted and dropped.
"""

from __future__ import annotations

import collections
import itertools
import logging
import queue
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.time_source import micro_time
from reconciler.transport import UnreachableError
from sedna_api import API_VERSION, KIND_SERVICE

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.records import Service
    from reconciler.time_source import TimeSource
    from reconciler.transport import Transport

log = logging.getLogger(__name__)

CONTROLLER = "sedna.io/reconciler"
#: As client-go's correlator: so many events of one object at once, then one per five minutes.
_BURST, _REFILL_SECONDS = 25.0, 300.0
_OBJECTS = 4096
_WAITING = 1024
_TRIES = 3
_NOTE_BYTES = 1024
_TOO_MANY_REQUESTS, _SERVER_ERROR = 429, 500
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Note(NamedTuple):
    """What an event says: Normal or Warning, a CamelCase reason, a text."""

    type: str
    reason: str
    message: str


class Limits:
    """How many events an object may have; for the objects that had one lately."""

    def __init__(self, time: TimeSource) -> None:
        self._time = time
        self._left: collections.OrderedDict[str, tuple[float, float]] = collections.OrderedDict()

    def allow(self, uid: str) -> bool:
        """Whether one more is allowed now; it counts as sent if so."""
        now = self._time.monotonic()
        left, since = self._left.pop(uid, (_BURST, now))
        left = min(_BURST, left + (now - since) / _REFILL_SECONDS)
        allowed = left >= 1
        self._left[uid] = (left - 1 if allowed else left, now)
        if len(self._left) > _OBJECTS:
            self._left.popitem(last=False)
        return allowed


class Recorder:
    """``record`` may be called from any thread and does not wait; ``run`` sends, in a thread of its own."""

    def __init__(
        self,
        api: Transport,
        time: TimeSource,
        *,
        instance: str,
        may_write: Callable[[], bool],
        counted: Callable[[str], None] = lambda _result: None,
        timeout: float = 10.0,
    ) -> None:
        self._api = api
        self._time = time
        self._instance = instance
        self._may_write = may_write
        self._counted = counted
        self._timeout = timeout
        self._limits = Limits(time)
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(_WAITING)
        # Never twice the same in one process; the time keeps processes apart.
        self._serial = itertools.count()

    def record(self, service: Service, note: Note) -> None:
        """Have an event about a service sent, unless there were too many."""
        if not self._limits.allow(service.uid):
            self._counted("limited")
            return
        try:
            self._waiting.put_nowait(self._event(service, note))
        except queue.Full:
            self._counted("dropped")

    def close(self) -> None:
        """``run`` ends when all that waits is sent."""
        try:
            self._waiting.put(None, timeout=1.0)
        except queue.Full:
            self._counted("dropped")

    def run(self) -> None:
        """Send until ``close``. No exception leaves it."""
        while True:
            event = self._waiting.get()
            if event is None:
                return
            try:
                self._counted(self._send(event))
            except Exception:
                log.exception("unexpected, while an event was sent")
                self._counted("error")

    def _send(self, event: dict[str, Any]) -> str:
        path = f"/apis/events.k8s.io/v1/namespaces/{event['metadata']['namespace']}/events"
        answer = None
        for _ in range(_TRIES):
            if not self._may_write():
                return "not_leading"
            try:
                answer = self._api.request("POST", path, body=event, timeout=self._timeout)
            except UnreachableError as problem:
                log.debug("an event could not be sent: %s", problem)
                continue
            if answer.ok:
                return "sent"
            if answer.status < _SERVER_ERROR:
                break
        if answer is not None and not answer.ok:
            log.warning(
                "an event was refused: %s %s", answer.status, answer.body[:300].decode(errors="replace")
            )
        return "error"

    def _event(self, service: Service, note: Note) -> dict[str, Any]:
        now = self._time.wall()
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "namespace": service.namespace,
                "name": f"{service.name[:220].rstrip('.-')}.{int(now * 1e6):x}{next(self._serial) & 0xFFFF:04x}",
            },
            "eventTime": micro_time(now),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": "UpdateStatus",
            "reason": note.reason[:128],
            "type": note.type,
            "note": clip(note.message),
            "regarding": {
                "apiVersion": API_VERSION,
                "kind": KIND_SERVICE,
                "namespace": service.namespace,
                "name": service.name,
                "uid": service.uid,
                "resourceVersion": service.resource_version,
            },
        }


def clip(text: str) -> str:
    """On one line, and of at most 1,024 bytes, which is what an event takes; cut at a character."""
    line = _UNPRINTABLE.sub(" ", text).strip()
    return line.encode(errors="replace")[:_NOTE_BYTES].decode(errors="ignore")
