"""The API server's clock, as its answers tell: neither our wall clock nor an edge's is trusted. Does no I/O."""

from __future__ import annotations

import email.utils
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.time_source import TimeSource


class ServerTime:
    """Told by ``Date`` headers, carried on by a clock that only goes on."""

    def __init__(self, time: TimeSource) -> None:
        self._time = time
        self._offset: float | None = None

    def heard(self, date: str | None) -> None:
        """Take over what a Date header says, if it is further off than its resolution explains."""
        try:
            stamp = email.utils.parsedate_to_datetime(date or "").timestamp()
        except ValueError:
            return
        # The header is cut to the second: half of one is the best guess of what was cut.
        offset = stamp + 0.5 - self._time.boottime()
        if self._offset is None or abs(offset - self._offset) > 1.0:
            self._offset = offset

    def now(self) -> float:
        """Unix seconds; of the machine's own clock until the server has been heard."""
        return self._time.wall() if self._offset is None else self._time.boottime() + self._offset
