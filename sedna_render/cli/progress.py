"""Progress on a terminal, for work that takes more than a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")
_QUIET_SECONDS = 1.0
_EVERY = 256


def progress(services: Iterable[Item]) -> Iterator[Item]:
    """The same services, counted on standard error when that is a terminal and somebody has begun to wait."""
    if not sys.stderr.isatty():
        yield from services
        return
    begun = time.monotonic()
    shown = False
    for number, service in enumerate(services):
        if number % _EVERY == 0 and time.monotonic() - begun > _QUIET_SECONDS:
            sys.stderr.write(f"\r{number} services rendered")
            sys.stderr.flush()
            shown = True
        yield service
    if shown:
        sys.stderr.write("\r\033[K")
