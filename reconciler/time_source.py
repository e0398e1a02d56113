"""The clocks and the chance that the program runs on, as one value: tests pass their own.

The only module that reads them.
"""

from __future__ import annotations

import datetime as dt
import random  # noqa: TID251 - the one place: everything else is given it
import time  # noqa: TID251 - likewise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


def _boottime() -> float:
    """Counts while the machine sleeps, where the system has such a clock (Linux)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class TimeSource(NamedTuple):
    """Seconds of three clocks, and a number in [0, 1) to spread what would otherwise happen at once."""

    monotonic: Callable[[], float] = time.monotonic
    boottime: Callable[[], float] = _boottime if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
    wall: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random


SYSTEM = TimeSource()


def micro_time(seconds: float) -> str:
    """Unix seconds as Kubernetes wants a MicroTime: always six digits, also where they are zero."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
