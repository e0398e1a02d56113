"""Keeps a copy of a collection by LIST and WATCH, whatever the API server or the network do; tells it to a sink.

The contract is that of client-go's reflector, and three things more: it never trusts a bookmark to come, asks after
silence whether time went back, and waits between watches that end at once.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from reconciler.backoff import Backoff
from reconciler.cache import version_number
from reconciler.decode import WatchEvent, decode_event
from reconciler.lines import TooLongError, lines
from reconciler.listing import GONE, RefusedError, list_all, refused, version_now
from reconciler.records import Bookmark, Failure, Poison
from reconciler.transport import SilentError, UnreachableError

if TYPE_CHECKING:
    from reconciler.resource import Collection
    from reconciler.settings import Settings
    from reconciler.sink import Counters, Sink
    from reconciler.time_source import TimeSource
    from reconciler.transport import Stream, Transport

log = logging.getLogger(__name__)

_UNAUTHORIZED, _TOO_MANY_REQUESTS, _SERVER_ERROR, _TIMEOUT = 401, 429, 500, 504


class _GarbledError(Exception):
    """What came is not the API server's."""


#: A watch that ends sooner, without an event, was no watch; with events, the next one waits until then.
_SHORT = 1.0
#: Over what the server was asked for: then it is not the server that keeps the stream alive.
_OVERTIME = 30.0
#: However long the server asks us to stay away.
_LONGEST_WAIT = 60.0


class Reflector:
    """One collection, in one namespace or everywhere."""

    def __init__(
        self,
        api: Transport,
        collection: Collection,
        sink: Sink,
        *,
        counters: Counters,
        settings: Settings,
        time: TimeSource,
    ) -> None:
        self._api = api
        self.collection = collection
        self._sink = sink
        self._counters = counters
        self._settings = settings
        self._time = time
        self._backoff = Backoff(
            time, settings.backoff_first, settings.backoff_longest, settings.backoff_reset
        )
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        # Up to where all was told; empty: a list is due, for this reason.
        self._version = ""
        self._reason = "start"
        self._listed: float | None = None
        self._garbled_at = ""
        self._failing_since: float | None = None
        # When it last did anything, and when the server last told of an object or a version.
        self._turned = self._heard = time.monotonic()

    def idle_seconds(self) -> float:
        """Since it last did anything: more than a watch may be silent means that it hangs."""
        return self._time.monotonic() - self._turned

    def run(self) -> None:
        """List and watch until ``stop``. No exception leaves it."""
        while not self._stopping.is_set():
            try:
                pause = self.step()
            except Exception:
                # A bug of ours, perhaps one that a certain event wakes: a list goes round it.
                log.exception("%s: unexpected", self.collection)
                self._counters.failed(self.collection.kind)
                self._relist("unexpected error")
                pause = self._backoff.next()
            self._stopping.wait(pause)

    def stop(self) -> None:
        """End ``run``; from any thread."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    def step(self) -> float:
        """One list, or one watch to its end; the seconds to wait before the next."""
        self._turn()
        try:
            if not self._version:
                return self._list()
            return self._watch()
        except RefusedError as problem:
            return self._refused(problem)
        except (UnreachableError, _GarbledError) as problem:
            return self._failed(str(problem))

    # --- list

    def _list(self) -> float:
        pause = self._too_soon()
        if pause:
            return pause
        self._counters.relisted(self.collection.kind, self._reason)
        listing = list_all(
            self._api,
            self.collection,
            page_size=self._settings.page_size,
            timeout=self._settings.list_timeout,
            turned=self._turn,
        )
        for poison in listing.poison:
            self._skip(poison)
        unreadable = [(poison.namespace, poison.name) for poison in listing.poison]
        self._sink.replaced(self.collection.scope, listing.items, unreadable)
        self._reached(listing.version)
        self._listed = self._time.monotonic()
        log.info("%s: listed %d (%s)", self.collection, len(listing.items), self._reason)
        return 0.0

    def _too_soon(self) -> float:
        """One list after an expired version is made at once; a server that expires every one is not."""
        now = self._time.monotonic()
        if self._listed is None or now - self._listed >= self._settings.list_interval:
            return 0.0
        self._listed = None
        return self._backoff.next()

    # --- watch

    def _watch(self) -> float:
        began = self._time.monotonic()
        seconds = self._settings.watch_timeout * (1 + self._time.chance())
        query = self.collection.query(
            watch="1",
            resourceVersion=self._version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(int(seconds)),
        )
        try:
            stream = self._api.stream(
                self.collection.path,
                query,
                silence=self._settings.silence,
                answer_within=self._settings.list_timeout,
            )
            events = self._follow(stream, began + seconds + _OVERTIME)
        except SilentError:
            return self._probe()
        now = self._time.monotonic()
        lasted = now - began
        if events == 0 and lasted < _SHORT:
            return self._failed("the watch ended at once")
        if now - self._heard >= self._settings.silence:
            # Watches that end sooner than the silence is long must not hide it.
            return self._probe()
        return max(0.0, _SHORT - lasted)

    def _follow(self, stream: Stream, deadline: float) -> int:
        """Tell the sink of every event until the stream ends; how many there were."""
        self._stream = stream
        events = 0
        try:
            if self._stopping.is_set():
                return 0
            if stream.status != 200:  # noqa: PLR2004 - as HTTP defines it
                raise refused(stream.answer())
            for line in lines(stream.chunks()):
                events += 1
                self._turn()
                self._take(decode_event(line, self.collection.kind))
                if self._stopping.is_set() or self._time.monotonic() > deadline:
                    break
        except UnreachableError as problem:
            # Cut, or silent. What had come was told, and the next watch goes on from there.
            if events == 0 or self._stopping.is_set():
                raise
            log.info("%s: the watch was cut: %s", self.collection, problem)
        except TooLongError as problem:
            raise self._garbled(str(problem)) from problem
        finally:
            self._stream = None
            stream.close()
        return events

    def _take(self, event: WatchEvent) -> None:
        item = event.object
        self._counters.heard(self.collection.kind, self.collection.scope)
        if isinstance(item, Failure):
            raise RefusedError(item.code, item.message or item.reason)
        if isinstance(item, Poison) and not event.type:
            raise self._garbled(item.error)
        if isinstance(item, Poison):
            self._skip(item)
            if event.type == "DELETED" and item.name:
                self._sink.deleted(self.collection.scope, (item.namespace, item.name))
        elif isinstance(item, Bookmark):
            pass  # it says only how far all is told
        elif event.type == "DELETED":
            self._sink.deleted(self.collection.scope, (item.namespace, item.name))
        else:
            self._sink.changed(self.collection.scope, item)
        # Only now: what the sink did not take must come again.
        self._reached(item.resource_version)

    def _probe(self) -> float:
        """After silence: a watch from a version that the server has not reached is silent for ever."""
        self._turn()
        now = version_now(self._api, self.collection, timeout=self._settings.probe_timeout)
        if version_number(now) < version_number(self._version):
            log.warning("%s: time went back from %s to %s", self.collection, self._version, now)
            self._relist("time went back")
        self._heard = self._time.monotonic()
        return 0.0

    # --- what went wrong

    def _refused(self, problem: RefusedError) -> float:
        if problem.code == GONE and self._version:
            self._relist("expired")
            return 0.0
        if problem.code == _TIMEOUT and "too large resource version" in problem.message.lower():
            self._relist("time went back")
        elif problem.code >= _SERVER_ERROR:
            self._bounded()
        elif problem.code not in (_TOO_MANY_REQUESTS, _UNAUTHORIZED):
            self._relist(f"refused with {problem.code}")
        return max(min(problem.retry_after, _LONGEST_WAIT), self._failed(str(problem)))

    def _garbled(self, what: str) -> _GarbledError:
        """A line that is no event: asked for again, and if it comes again, a list goes round it."""
        self._counters.undecodable(self.collection.kind)
        if self._garbled_at == self._version:
            self._relist("garbled watch")
        self._garbled_at = self._version
        return _GarbledError(f"a line of the watch is no event: {what}")

    def _bounded(self) -> None:
        """A server's own error: the watch is tried again, but not for ever."""
        now = self._time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since > self._settings.server_error_limit:
            self._relist("server error")

    def _failed(self, what: str) -> float:
        pause = self._backoff.next()
        if not self._stopping.is_set():
            self._counters.failed(self.collection.kind)
            log.warning("%s: %s; again in %.1f s", self.collection, what, pause)
        return pause

    def _relist(self, reason: str) -> None:
        if self._version:
            self._reason = reason
        self._version = ""

    def _skip(self, poison: Poison) -> None:
        self._counters.undecodable(self.collection.kind)
        log.error("%s: %s/%s is skipped: %s", self.collection, poison.namespace, poison.name, poison.error)

    def _reached(self, version: str) -> None:
        if version:
            self._version = version
            self._heard = self._time.monotonic()
            self._failing_since = None
            self._sink.reached(self.collection.scope, version)

    def _turn(self) -> None:
        self._turned = self._time.monotonic()
