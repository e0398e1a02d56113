"""A queue of keys for several workers: no key twice in it, no key in two hands, delays, back-off by key.

The contract is that of client-go's workqueue. Knows no Kubernetes.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Key = TypeVar("Key", bound=Hashable)
else:
    Key = TypeVar("Key")


class Load(NamedTuple):
    """What the queue's metrics show: keys that wait, and seconds spent on keys that are not done."""

    depth: int
    delayed: int
    unfinished_seconds: float
    longest_seconds: float
    adds: int
    retries: int


def _ignore(_seconds: float) -> None:
    pass


class WorkQueue(Generic[Key]):
    """Keys to work on. Every method may be called from any thread."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        first_backoff: float = 0.2,
        longest_backoff: float = 60.0,
        waited: Callable[[float], None] = _ignore,
        worked: Callable[[float], None] = _ignore,
    ) -> None:
        self._now = monotonic
        self._first_backoff = first_backoff
        self._longest_backoff = longest_backoff
        self._waited = waited
        self._worked = worked
        self._changed = threading.Condition()
        self._ready: deque[Key] = deque()
        # Every key that waits, in `_ready` or for `done`, and since when.
        self._dirty: dict[Key, float] = {}
        self._processing: dict[Key, float] = {}
        # Entries of the heap that `_due` does not name any more are void.
        self._heap: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._failures: dict[Key, int] = {}
        self._adds = self._retries = self._entries = 0
        self._closed = False

    def add(self, key: Key) -> None:
        """Have the key worked on now; again after the present work, when somebody is at it."""
        with self._changed:
            self._add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Have it worked on in so many seconds; of several such wishes the earliest counts."""
        with self._changed:
            if seconds <= 0:
                self._add(key)
            elif not self._closed:
                self._delay(key, self._now() + seconds)

    def retry(self, key: Key) -> float:
        """Have it worked on again after its own back-off; the seconds until then."""
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self._retries += 1
            # The exponent is bounded: a key may fail for weeks.
            seconds: float = min(self._longest_backoff, self._first_backoff * 2 ** min(failures, 30))
            if not self._closed:
                self._delay(key, self._now() + seconds)
            return seconds

    def forget(self, key: Key) -> None:
        """End the key's back-off: it succeeded, or is gone."""
        with self._changed:
            self._failures.pop(key, None)

    def get(self, timeout: float | None = None) -> Key | None:
        """The next key, to be given back with ``done``. None: the queue is closed and empty, or time is up."""
        with self._changed:
            give_up = None if timeout is None else self._now() + timeout
            while True:
                wait = self._promote()
                if self._ready:
                    return self._take()
                if self._closed:
                    return None
                if give_up is not None:
                    left = give_up - self._now()
                    if left <= 0:
                        return None
                    wait = left if wait is None else min(wait, left)
                self._changed.wait(wait)

    def done(self, key: Key) -> None:
        """The work on the key has ended, well or not."""
        with self._changed:
            started = self._processing.pop(key)
            self._worked(self._now() - started)
            if key in self._dirty:
                self._ready.append(key)
            # Also who waits for the last work to end.
            self._changed.notify_all()

    def close(self, grace: float = 0.0) -> None:
        """Take nothing more. What waits is still given out, also what is due within ``grace`` seconds."""
        with self._changed:
            self._promote(self._now() + grace)
            self._closed = True
            self._heap.clear()
            self._due.clear()
            self._changed.notify_all()

    def drained(self, timeout: float) -> bool:
        """Wait until a closed queue is empty and all work has ended; whether that came to pass in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._dirty or self._processing), timeout)

    def load(self) -> Load:
        """How much waits, and how long the present work has taken."""
        with self._changed:
            now = self._now()
            running = [now - started for started in self._processing.values()]
            return Load(
                len(self._dirty),
                len(self._due),
                sum(running),
                max(running, default=0.0),
                self._adds,
                self._retries,
            )

    def _add(self, key: Key) -> None:
        if self._closed or key in self._dirty:
            return
        self._adds += 1
        self._dirty[key] = self._now()
        if key not in self._processing:
            self._ready.append(key)
            self._changed.notify()

    def _delay(self, key: Key, due: float) -> None:
        if self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        self._entries += 1
        heapq.heappush(self._heap, (due, self._entries, key))
        if self._heap[0][0] == due:
            self._changed.notify()

    def _promote(self, until: float | None = None) -> float | None:
        """Move what is due; seconds until the next delayed key is."""
        now = self._now()
        limit = now if until is None else until
        while self._heap:
            due, _, key = self._heap[0]
            void = self._due.get(key) != due
            if not void and due > limit:
                return due - now
            heapq.heappop(self._heap)
            if not void:
                del self._due[key]
                self._add(key)
        return None

    def _take(self) -> Key:
        key = self._ready.popleft()
        now = self._now()
        self._waited(now - self._dirty.pop(key))
        self._processing[key] = now
        return key
