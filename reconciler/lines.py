"""A stream of chunks as lines: a chunk may hold several, and a line may come in several chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: No object comes near: etcd takes 1.5 MiB.
LONGEST = 64 << 20


class TooLongError(Exception):
    """A line without an end."""


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, without the newline and none of them empty. A last one that was cut short is left out."""
    begun: list[bytes] = []
    size = 0
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LONGEST:
            raise TooLongError(f"a line of more than {LONGEST} bytes")
        if not rest:
            continue
        for line in (b"".join(begun), *rest[:-1]):
            if not line.isspace() and line:
                yield line
        begun, size = [rest[-1]], len(rest[-1])
