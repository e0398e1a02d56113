"""How long to wait after failures that follow each other: longer each time, never all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.time_source import TimeSource


class Backoff:
    """Pauses that double up to a longest one, times [1, 2); short again after a time without a failure."""

    def __init__(self, time: TimeSource, first: float, longest: float, reset_after: float) -> None:
        self._time = time
        self._first = first
        self._longest = longest
        self._reset_after = reset_after
        self._pause = first
        self._failed: float | None = None

    def next(self) -> float:
        """A failure has happened: the seconds to wait."""
        now = self._time.monotonic()
        if self._failed is None or now - self._failed > self._reset_after:
            self._pause = self._first
        pause = self._pause
        self._pause = min(self._pause * 2, self._longest)
        self._failed = now + pause
        return pause * (1 + self._time.chance())
