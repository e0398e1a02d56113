"""The command line. Parses, calls, prints; the only place that turns what went wrong into an exit status."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Command: the module that holds it, and its line in the list of commands.
COMMANDS = {
    "run": ("reconciler.commands.run", "Watch pods and write the status of services. The default."),
    "status": ("reconciler.commands.status", "Print what the status should be, once; writes nothing."),
}
DEFAULT = "run"

FINE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_HELP = """Write an honest status of Sedna's JointInferenceServices, from their pods alone.

\b
Examples:
  python -m reconciler                               in the cluster, for all of it
  python -m reconciler run --namespace edge-ai       for one namespace
  python -m reconciler run --help                    all flags and variables
  python -m reconciler status --kubeconfig ~/.kube/config"""


class FailedError(Exception):
    """What the command was asked for cannot be done; the text says why, and what would help."""


class _Commands(click.Group):
    """A group whose first argument need not be a command: flags alone mean ``run``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        del ctx
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        wants_help = bool(args) and args[0] in ctx.help_option_names
        if not wants_help and (not args or args[0].startswith("-")):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Commands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def cli() -> None:
    pass


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and end the process with an exit status."""
    sys.exit(invoke(list(sys.argv[1:] if args is None else args)))


def invoke(arguments: list[str]) -> int:
    """Run one command; its exit status."""
    try:
        status = cli.main(arguments, prog_name="python -m reconciler", standalone_mode=False)
        return status if isinstance(status, int) else FINE
    except click.ClickException as problem:
        problem.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read standard output has gone: there is nothing to say, and nobody to say it to.
        sys.stderr.close()
        return FAILED
    except FailedError as problem:
        click.echo(f"reconciler: error: {problem}", err=True)
        return FAILED
