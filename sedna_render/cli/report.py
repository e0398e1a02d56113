"""Findings on standard error: as text for people, as JSON or GitHub annotations for tools."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from sedna_render.findings import ERROR, WARNING, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sedna_render.findings import Finding

FORMATS = ("text", "json", "github")
#: Findings shown as text at most; the rest is counted.
MOST_SHOWN = 50

_STYLES = {ERROR: "red", WARNING: "yellow"}
_LEVELS = {ERROR: "error", WARNING: "warning"}


def report(findings: Iterable[Finding], form: str = "text", *, color: bool | None = None) -> None:
    """Print findings to standard error, sorted by place."""
    ordered = in_order(findings)
    if form == "json":
        import json  # noqa: PLC0415 - only for this format

        click.echo(
            json.dumps([as_data(finding) for finding in ordered], ensure_ascii=False, indent=2), err=True
        )
    elif form == "github":
        for finding in ordered:
            click.echo(github_line(finding), err=True)
    elif ordered:
        _report_text(ordered, color=use_color(color))


def use_color(color: bool | None) -> bool:
    """Whether to colour standard error: as asked, else on a terminal unless NO_COLOR is set."""
    if color is not None:
        return color
    return not os.environ.get("NO_COLOR") and sys.stderr.isatty()


def _report_text(ordered: Sequence[Finding], *, color: bool) -> None:
    # Errors are never the ones that are cut.
    kept = sorted(ordered, key=lambda finding: finding.severity != ERROR)[:MOST_SHOWN]
    for finding in in_order(kept):
        click.echo(_text(finding, color=color), err=True, color=color)
    if len(ordered) > MOST_SHOWN:
        hidden = len(ordered) - MOST_SHOWN
        click.echo(f"… and {hidden} more (--error-format json shows all)", err=True)
    errors = sum(finding.is_error for finding in ordered)
    if errors:
        warnings = len(ordered) - errors
        others = f", {_count(warnings, 'warning')}" if warnings else ""
        click.echo(f"{_count(errors, 'error')}{others}: nothing was written", err=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _text(finding: Finding, *, color: bool) -> str:
    text = finding.text()
    if not color:
        return text
    marked = f"{finding.severity}[{finding.rule}]"
    return text.replace(marked, click.style(marked, fg=_STYLES.get(finding.severity), bold=True), 1)


def as_data(finding: Finding) -> dict[str, object]:
    """A finding as plain data for tools."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "file": finding.location.file,
        "line": finding.location.line,
        "column": finding.location.column,
        "object": finding.subject,
        "field": finding.field,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def github_line(finding: Finding) -> str:
    """A workflow command that GitHub shows at the line of a pull request."""
    level = _LEVELS.get(finding.severity, "notice")
    place = {"file": finding.location.file}
    if finding.location.line:
        place |= {"line": str(finding.location.line), "col": str(finding.location.column)}
    place["title"] = f"sedna-render {finding.rule}"
    properties = ",".join(f"{key}={github_property(value)}" for key, value in place.items())
    words = ": ".join(part for part in (finding.subject, finding.field, finding.message) if part)
    text = f"{words}. {finding.remedy}" if finding.remedy else words
    return f"::{level} {properties}::{github_text(text)}"


def github_text(text: str) -> str:
    """A text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A text as a property of a workflow command."""
    return github_text(text).replace(":", "%3A").replace(",", "%2C")
