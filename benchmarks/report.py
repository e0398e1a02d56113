"""Measurements as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.measure import Run


class Section(NamedTuple):
    """One question, and the table that answers it."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def section(title: str, text: str, runs: Mapping[str, Run], baseline: str) -> Section:
    """A table of whole processes; the ratios are to one of them."""
    base = runs[baseline]
    rows = [
        (
            name,
            seconds(run.wall),
            seconds(run.cpu),
            f"{run.memory / 1e6:.0f} MB",
            f"{run.wall / base.wall:.2f}",
            f"{run.cpu / base.cpu:.2f}",
        )
        for name, run in runs.items()
    ]
    header = ("process", "wall", "CPU", "peak memory", "wall ratio", "CPU ratio")
    return Section(title, text, header, rows)


def seconds(value: float) -> str:
    """Milliseconds below a second, else seconds."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def markdown(sections: Sequence[Section]) -> str:
    """All sections, one after the other."""
    return "\n".join(_section(item) for item in sections)


def _section(item: Section) -> str:
    align = [":---", *["---:"] * (len(item.header) - 1)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (item.header, align, *item.rows))
    return f"## {item.title}\n\n{item.text}\n\n{table}\n"
