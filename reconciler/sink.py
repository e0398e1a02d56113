"""What a reflector talks to: who keeps what it sees, and who counts what befalls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.cache import Key


class Sink(Protocol):
    """Who is told what the collection holds. Called from the reflector's thread only."""

    def replaced(self, scope: str, items: Iterable[Any], unreadable: Iterable[Key], /) -> None:
        """The collection holds exactly these."""

    def changed(self, scope: str, item: Any, /) -> None:
        """One was added or changed."""

    def deleted(self, scope: str, key: Key, /) -> None:
        """One was deleted, or left the selector."""

    def reached(self, scope: str, version: str, /) -> None:
        """All is told up to this version."""


class Counters(Protocol):
    """What the reflector counts."""

    def relisted(self, kind: str, reason: str) -> None:
        """A full list is about to be made."""

    def undecodable(self, kind: str) -> None:
        """An object was skipped."""

    def heard(self, kind: str, scope: str) -> None:
        """Something came from the API server."""

    def failed(self, kind: str) -> None:
        """A list or a watch failed."""
