"""``sedna-render version``."""

from __future__ import annotations

import click

from sedna_render import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"sedna-render {__version__}")
