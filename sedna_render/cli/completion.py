"""``sedna-render completion``: the script that completes commands and options in a shell."""

from __future__ import annotations

import click

_HELP = """Print the completion script of SHELL.

\b
bash:  sedna-render completion bash > ~/.local/share/bash-completion/completions/sedna-render
zsh:   sedna-render completion zsh > "${fpath[1]}/_sedna-render"
fish:  sedna-render completion fish > ~/.config/fish/completions/sedna-render.fish"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Parse, print."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only for this command

    from sedna_render.cli import cli  # noqa: PLC0415 - the group imports this module

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(completion(cli, {}, "sedna-render", "_SEDNA_RENDER_COMPLETE").source())
