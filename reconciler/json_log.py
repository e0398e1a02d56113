"""Log lines as JSON, one object a line; what repeats itself is thinned out."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, TextIO

from reconciler.time_source import micro_time

if TYPE_CHECKING:
    from collections.abc import Callable

#: Of one message (its text before values are put in): so many within so many seconds, then none.
_MOST, _SECONDS = 60, 60.0
# What every record has; the rest came with `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Time, level, logger, message, and what was given as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": micro_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _OWN},
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class Thinning(logging.Filter):
    """Lets a message through so many times a minute; then says once how many were left out."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._now = monotonic
        self._counts: dict[tuple[str, int], list[float]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._now()
        # Keyed by place: there are as many as there are calls in the program.
        key = (record.pathname, record.lineno)
        count = self._counts.setdefault(key, [now, 0.0])
        if now - count[0] >= _SECONDS:
            if count[1] > _MOST:
                record.suppressed = int(count[1] - _MOST)
            count[:] = [now, 0.0]
        count[1] += 1
        return count[1] <= _MOST


def set_up(
    level: str, monotonic: Callable[[], float], *, as_json: bool, stream: TextIO | None = None
) -> None:
    """Send all logs of the process to standard error."""
    output = logging.StreamHandler(stream or sys.stderr)
    output.setFormatter(
        JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    output.addFilter(Thinning(monotonic))
    root = logging.getLogger()
    root.handlers[:] = [output]
    root.setLevel(level.upper())
    # One line a connection, and the text of every retry.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    logging.captureWarnings(capture=True)
