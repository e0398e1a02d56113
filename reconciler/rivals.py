"""Whether another controller changes what we write, again and again. Pure; told by managedFields, which come with every object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reconciler.settings import FIELD_MANAGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.records import Manager, Service
    from reconciler.settings import Settings
    from reconciler.sightings import Sightings

_RIVAL: Final = "rival "
_CONTESTED: Final = ("", "contested")
_SUFFIX: Final = re.compile(r"; (\S+) keeps changing this status\Z")


class Contest(NamedTuple):
    """Who keeps changing our fields (empty: nobody), for how long that is still held against it, what to remember."""

    rival: str
    left: float | None
    sightings: Sightings

    @property
    def suffix(self) -> str:
        """What Ready's message says of it."""
        return f"; {self.rival} keeps changing this status" if self.rival else ""


def contest(
    service: Service,
    stored: Mapping[str, Any],
    counts: Mapping[str, int],
    old: Mapping[tuple[str, str], float],
    now: float,
    settings: Settings,
) -> Contest:
    """Contested after some changes within a time, until there was none for as long.

    `stored` is the status, `counts` what active and failed should be, `old` the sightings so far. What is
    remembered over a restart is Ready's stored message.
    """
    changes = _changes(service.managers, stored, counts)
    kept = {key: time for key, time in old.items() if _is_change(key) and now - time < settings.rival_window}
    # One that stands in managedFields for long must not count anew when it leaves the window.
    seen = kept | {key: old.get(key, now) for key in changes}
    recent = {key: time for key, time in seen.items() if now - time < settings.rival_window}
    named = _named(stored)
    if len(recent) < settings.rival_changes and not named and _CONTESTED not in old:
        return Contest("", None, seen)
    since = max([old.get(_CONTESTED, now if named else 0.0), *recent.values()])
    left = settings.rival_window - (now - since)
    rival = named or min((key[1].split(" ")[1] for key in recent), default="")
    if left <= 0 or not rival:
        return Contest("", None, seen)
    return Contest(rival, left, seen | {_CONTESTED: since})


def wrote_last(managers: Iterable[Manager]) -> bool:
    """Somebody else than we wrote the status last."""
    latest = max(managers, key=lambda one: (one.time, one.name != FIELD_MANAGER), default=None)
    return latest is not None and latest.name != FIELD_MANAGER


def _changes(
    managers: Iterable[Manager], stored: Mapping[str, Any], counts: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Changes of our fields by others, one key each.

    Owning the conditions is one: our own write takes them over whole. A count may be somebody's because it
    was right, and an entry's time moves with any of its fields, such as metrics: only a wrong one tells.
    """
    return [
        ("", f"{_RIVAL}{one.name.replace(' ', '-') or 'unknown'} {one.time:.0f}")
        for one in managers
        if one.name != FIELD_MANAGER
        and ("conditions" in one.owns or any(stored.get(key) != counts.get(key) for key in one.owns))
    ]


def _is_change(key: tuple[str, str]) -> bool:
    return not key[0] and key[1].startswith(_RIVAL)


def _named(stored: Mapping[str, Any]) -> str:
    """The rival in Ready's stored message."""
    listed = stored.get("conditions")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("type") == "Ready":
            found = _SUFFIX.search(str(one.get("message", "")))
            if found:
                return found[1]
    return ""
