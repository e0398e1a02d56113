"""The options that several commands share, and the request that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sedna_render.cli.report import FORMATS
from sedna_render.repository import Request
from sedna_render.settings import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]

_COMMON = (
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    click.option(
        "--config", metavar="FILE", help="The configuration file; else sedna-render.yaml at or above PATH."
    ),
    click.option(
        "--templates", metavar="DIR", help="A folder with templates that replace the ones that ship."
    ),
    click.option("--workload", type=click.Choice(CHOICES["workload"]), help="What a worker is rendered as."),
    click.option(
        "--expose", type=click.Choice(CHOICES["expose"]), help="How the edge reaches the big model."
    ),
    click.option("--namespace", metavar="NAME", help="The namespace of objects that name none."),
    click.option("--layout", type=click.Choice(CHOICES["layout"]), help="What one file of the output holds."),
    click.option("--allow-empty", is_flag=True, help="Inputs without any JointInferenceService are fine."),
    click.option(
        "--error-format",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="The form of messages.",
    ),
    click.option("--color/--no-color", default=None, help="Colours in messages; else on a terminal."),
    click.option("--debug", is_flag=True, help="Show a traceback when there is a bug."),
)


def common(command: Command) -> Command:
    """Add the shared options to a command."""
    for decorate in reversed(_COMMON):
        command = decorate(command)
    return command


def request(options: dict[str, Any], output: str | None) -> Request:
    """What the options ask for. ``-`` as output is standard output, whatever the configuration says."""
    if output == "":
        raise click.UsageError("-o wants a folder, or - for standard output")
    return Request(
        paths=options["paths"] or (".",),
        config=options["config"],
        output="" if output == "-" else output,
        templates=options["templates"],
        flags={name: options[name] for name in ("workload", "expose", "namespace", "layout")},
        allow_empty=options["allow_empty"],
    )
