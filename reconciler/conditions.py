"""Conditions as a map by type: read from a stored status, set, put in order. Texts of others made safe to store.

Pure. What is not ours is kept; what did not change is kept as it is stored, times and all.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Longest message, in bytes: a note of an event refuses more.
LONGEST_MESSAGE: Final = 1024
_ELLIPSIS: Final = "…"

#: Opens the part of a message that quotes somebody else; our own words never contain it.
QUOTE: Final = ': "'

# C0, C1, line and paragraph separators, what turns the direction of writing, lone surrogates.
_UNSAFE: Final = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)

#: A condition as it is stored: an object of JSON.
Stored = dict[str, Any]


class Condition(NamedTuple):
    """What we want to say under one type."""

    type: str
    status: str
    reason: str
    message: str


def read(status: Mapping[str, Any]) -> dict[str, Stored]:
    """The stored conditions by type, each where its type came first; of several of one type the last one counts."""
    found: dict[str, Stored] = {}
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and isinstance(one.get("type"), str):
            found[one["type"]] = one
    return found


def merge(
    stored: Mapping[str, Stored], wanted: Iterable[Condition], ours: frozenset[str], now: str
) -> list[Stored]:
    """The whole list: foreign conditions as found, then what is wanted in its order."""
    foreign = [one for kind, one in stored.items() if kind not in ours]
    return [*foreign, *(set_condition(stored.get(one.type), one, now) for one in wanted)]


def set_condition(stored: Stored | None, wanted: Condition, now: str) -> Stored:
    """The condition as it must be stored: untouched if it says the same already.

    `lastTransitionTime` moves with the status alone, `lastHeartbeatTime` with every change of the entry.
    """
    if stored is not None and _says(stored, wanted):
        return stored
    same_status = stored is not None and stored.get("status") == wanted.status
    since = stored.get("lastTransitionTime") if stored is not None and same_status else None
    return {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since or now,
    }


def _says(stored: Stored, wanted: Condition) -> bool:
    said = (stored.get("status"), stored.get("reason", ""), stored.get("message", ""))
    return said == (wanted.status, wanted.reason, wanted.message)


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as the API's Time: whole seconds."""
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- texts --------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """One line without control characters."""
    return _UNSAFE.sub(" ", text).strip()


def cut(text: str, limit: int = LONGEST_MESSAGE) -> str:
    """At most so many bytes of UTF-8, cut between characters and marked as cut."""
    if len(text) * 4 <= limit:
        return text
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    kept = encoded[: limit - len(_ELLIPSIS.encode())].decode(errors="ignore")
    return kept.rstrip() + _ELLIPSIS


def message(own: str, quoted: str = "") -> str:
    """Our own words, and after them somebody else's in quotes, where there are any."""
    own = clean(own).replace(QUOTE, ": '")
    quoted = clean(quoted)
    if not quoted:
        return cut(own)
    own = cut(own, LONGEST_MESSAGE // 2 + LONGEST_MESSAGE // 4)
    room = LONGEST_MESSAGE - len(own.encode()) - len(QUOTE) - 1
    return f'{own}{QUOTE}{cut(quoted, room)}"'


def own_words(text: str) -> str:
    """A message without what it quotes: quoted text alone is no reason to write."""
    return text.partition(QUOTE)[0]
