"""One service: what the cache holds of it, what its status must be, and the write if it is not so.

Knows no event: whatever woke it, it looks at all of the service. Has no thread of its own.
"""

from __future__ import annotations

import enum
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from reconciler.decide import NOTHING_SEEN, Clock, Decision, decide
from reconciler.events import Note
from reconciler.reasons import REFUSED
from reconciler.writer import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.cache import Cache, Key
    from reconciler.decide import Sightings
    from reconciler.events import Recorder
    from reconciler.metrics import Metrics
    from reconciler.records import Pod, Service
    from reconciler.settings import Settings
    from reconciler.time_source import TimeSource
    from reconciler.work_queue import WorkQueue
    from reconciler.writer import Bucket, Outcome, StatusWriter

log = logging.getLogger(__name__)

#: How soon to look again whether the watch has brought our own write; its event wakes the key as well.
_HELD_SECONDS = 1.0
#: A throttled server that does not say for how long.
_PAUSE_SECONDS = 1.0
_MOST_FOREIGN = 10_000
_ATTEMPTS = 3


class Ended(enum.StrEnum):
    """How a reconciliation ended; the label of a metric."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE_AFTER = "requeue_after"


class Parts(NamedTuple):
    """What a reconciler works with."""

    cache: Cache
    queue: WorkQueue[Key]
    writer: StatusWriter
    bucket: Bucket
    recorder: Recorder
    metrics: Metrics
    settings: Settings
    time: TimeSource
    server_now: Callable[[], float]
    leads: Callable[[], bool]


#: What a write would say, without its times, at which version of the service.
Gist = tuple[str, ...]


def _gist(service: Service, decision: Decision) -> Gist:
    said = (
        str(condition.get(part))
        for condition in decision.status["conditions"]
        for part in ("type", "status", "reason", "message")
    )
    return (service.resource_version, str(decision.status["active"]), *said)


class _Memory:
    """What is known of a service beside the cache; touched by one worker at a time."""

    __slots__ = ("contested", "refused", "sightings", "wrote")

    def __init__(self) -> None:
        self.sightings: Sightings = NOTHING_SEEN
        self.wrote: float | None = None
        self.contested = False
        self.refused: Gist | None = None


class Reconciler:
    """Reconciles keys, each in one thread at a time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._memory: dict[Key, _Memory] = {}
        self._touched: dict[Key, float] = {}
        self._foreign: set[str] = set()
        self._owed: set[Key] = set()
        # Whether the schema keeps observedGeneration; None: ask.
        self._keeps: bool | None = None
        self._asking = threading.Lock()

    def touch(self, key: Key) -> None:
        """Something of the service has changed: the time until its status tells is counted from here."""
        self._touched.setdefault(key, self._parts.time.monotonic())

    def schema_may_have_changed(self) -> None:
        """The services were listed anew: perhaps because their definition was replaced."""
        self._keeps = None

    def reconcile(self, key: Key) -> Ended:
        """Bring the status of the service up to date, or have the key come again."""
        if not self._parts.cache.synced(key[0]):
            # A namespace that is not watched.
            return Ended.SUCCESS
        for _ in range(_ATTEMPTS):
            ended = self._attempt(key)
            if ended is not None:
                return ended
        return self._retry(key)

    def _attempt(self, key: Key) -> Ended | None:
        """One look, and the write that follows from it; None when the cache has changed in between."""
        cache = self._parts.cache
        service, pods = cache.snapshot(key)
        self._note_foreign(service, pods)
        if service is None:
            self._forget(key)
            return Ended.SUCCESS
        if cache.held(key):
            return self._again(key, _HELD_SECONDS)
        if self._parts.leads() and self._keeps is None and not self._ask(service):
            return self._retry(key)
        decision = self._decide(key, service, pods)
        if not self._parts.leads():
            return self._owe(key, decision)
        # What was refused already, and nothing has changed since, is not sent again.
        if decision.patch is None or self._memory[key].refused == _gist(service, decision):
            return self._settled(key)
        wait = self._not_yet(key, decision)
        if wait:
            return self._again(key, wait)
        # The version that is sent must be that of now: a busy second writer makes any other a 409.
        return self._write(key, service, decision) if cache.snapshot(key) == (service, pods) else None

    def _decide(self, key: Key, service: Service, pods: tuple[Pod, ...]) -> Decision:
        parts = self._parts
        memory = self._memory.setdefault(key, _Memory())
        clock = Clock(parts.time.monotonic(), parts.server_now())
        keeps = self._keeps
        if keeps is None:
            # A standby does not ask. What is stored was kept.
            keeps = b'"observedGeneration"' in service.status_json
        decision = decide(service, pods, memory.sightings, clock, parts.settings, keeps)
        leads = parts.leads()
        if decision.patch is None and leads:
            self._tell(service, decision)
        if leads or decision.patch is not None or not decision.events:
            # Of what a standby keeps to itself it must not remember that it was told.
            memory.sightings = decision.sightings
        if decision.wake_after is not None:
            # A little late rather than a little early: then the grace has ended.
            parts.queue.add_after(key, decision.wake_after + 0.01)
        return decision

    def owed(self) -> list[Key]:
        """The services that a standby would have written, or told of; due when it leads."""
        return list(self._owed)

    def _owe(self, key: Key, decision: Decision) -> Ended:
        if decision.patch is None and not decision.events:
            return self._settled(key)
        self._owed.add(key)
        if self._parts.leads():
            # Since just now: whoever asked for what is owed may have come too early.
            self._parts.queue.add(key)
        return Ended.SUCCESS

    def _tell(self, service: Service, decision: Decision) -> None:
        for event in decision.events:
            self._parts.recorder.record(service, Note(event.type, event.reason, event.note))

    def _not_yet(self, key: Key, decision: Decision) -> float:
        """Seconds to wait before the next write of this service, or of any."""
        settings, memory = self._parts.settings, self._memory[key]
        interval = settings.contested_interval if decision.contested else settings.write_interval
        if memory.wrote is not None:
            left = memory.wrote + interval - self._parts.time.monotonic()
            if left > 0:
                return left
        return self._parts.bucket.take()

    def _write(self, key: Key, service: Service, decision: Decision) -> Ended:
        parts, memory = self._parts, self._memory[key]
        memory.wrote = parts.time.monotonic()
        outcome = parts.writer.write(service, decision.patch or {})
        parts.metrics.wrote(outcome.result)
        log.info(
            "status %s",
            outcome.result,
            extra={"service": "/".join(key), "version": service.resource_version, "answer": outcome.message},
        )
        if outcome.service is None:
            return self._not_written(key, service, decision, outcome)
        memory.refused = None
        parts.cache.wrote(key, outcome.service.resource_version)
        if outcome.result is Result.WRITTEN:
            self._tell(service, decision)
        return self._settled(key, observe=True)

    def _not_written(self, key: Key, service: Service, decision: Decision, outcome: Outcome) -> Ended:
        parts = self._parts
        match outcome.result:
            case Result.GONE:
                self._forget(key)
            case Result.NOT_LEADING:
                return self._owe(key, decision)
            case Result.REFUSED:
                self._memory[key].refused = _gist(service, decision)
                return self._refused(key, service, outcome)
            case Result.THROTTLED:
                wait = outcome.retry_after or _PAUSE_SECONDS
                parts.bucket.pause(wait)
                return self._again(key, wait * (1 + 0.1 * parts.time.chance()))
            case _:
                # A conflict too: the watch brings the new version, most likely sooner.
                return self._retry(key)
        return Ended.SUCCESS

    def _refused(self, key: Key, service: Service, outcome: Outcome) -> Ended:
        """No retry will mend it: said, and left until something changes."""
        parts = self._parts
        parts.metrics.terminal()
        log.error("the status was refused", extra={"service": "/".join(key), "answer": outcome.message})
        parts.recorder.record(service, Note("Warning", REFUSED, outcome.message))
        parts.queue.forget(key)
        return Ended.ERROR

    def _ask(self, service: Service) -> bool:
        """Find out what the schema keeps; one worker asks, the others wait for it."""
        with self._asking:
            if self._keeps is None:
                self._keeps = self._parts.writer.keeps_observed_generation(service)
        return self._keeps is not None

    def _settled(self, key: Key, *, observe: bool = False) -> Ended:
        self._parts.queue.forget(key)
        self._owed.discard(key)
        since = self._touched.pop(key, None)
        if observe and since is not None:
            self._parts.metrics.staleness(self._parts.time.monotonic() - since)
        return Ended.SUCCESS

    def _again(self, key: Key, seconds: float) -> Ended:
        self._parts.queue.add_after(key, seconds)
        return Ended.REQUEUE_AFTER

    def _retry(self, key: Key) -> Ended:
        self._parts.queue.retry(key)
        return Ended.ERROR

    def _forget(self, key: Key) -> None:
        self._parts.queue.forget(key)
        self._memory.pop(key, None)
        self._owed.discard(key)
        self._touched.pop(key, None)

    def _note_foreign(self, service: Service | None, pods: tuple[Pod, ...]) -> None:
        """Count and log, once each, pods with our label that are no worker of any service."""
        for pod in pods:
            if (service is None or pod.worker is None) and pod.uid not in self._foreign:
                if len(self._foreign) >= _MOST_FOREIGN:
                    self._foreign.clear()
                self._foreign.add(pod.uid)
                self._parts.metrics.foreign()
                why = "there is no such service" if service is None else "it is neither cloud nor edge worker"
                log.warning(
                    "a pod with the label of a service is ignored: %s",
                    why,
                    extra={"pod": f"{pod.namespace}/{pod.name}", "service": pod.service},
                )
