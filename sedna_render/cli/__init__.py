"""The command line. Commands live in modules of their own and are imported when they are called."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from sedna_render import __version__
from sedna_render.cli.exit_status import HELP, ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Command: the module that holds it, and its line in the list of commands.
COMMANDS = {
    "check": ("sedna_render.cli.check", "Is the committed output what would be rendered?"),
    "completion": ("sedna_render.cli.completion", "Print the completion script of a shell."),
    "render": ("sedna_render.cli.render", "Render manifests to standard output or a folder."),
    "version": ("sedna_render.cli.version", "Print the version."),
}

_HELP = """Render KubeEdge Sedna's JointInferenceServices to plain Kubernetes manifests, offline and repeatable.

\b
Examples:
  sedna-render render services/
  sedna-render render services/ -o manifests/
  sedna-render check services/ -o manifests/"""


class _Commands(click.Group):
    """A group whose help needs no command's module: starting up stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        del ctx
        if name not in COMMANDS:
            return None
        module_name, _ = COMMANDS[name]
        __import__(module_name)
        command: click.Command = sys.modules[module_name].command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            import difflib  # noqa: PLC0415 - only when an error is being worded

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else f" Commands are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx) from problem


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"sedna-render {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    help=_HELP,
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version.",
)
def cli() -> None:
    pass


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and end the process with an exit status."""
    arguments = list(sys.argv[1:] if args is None else args)
    if sys.stderr is None:  # closed by whoever started the program: there is nobody to tell anything
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        click.echo("sedna-render: error: standard output is closed", err=True)
        sys.exit(ExitStatus.SYSTEM)
    sys.exit(run(arguments))


def run(arguments: list[str]) -> int:
    """Run one command; the only place that turns what went wrong into an exit status."""
    try:
        status = cli.main(arguments, prog_name="sedna-render", standalone_mode=False)
        return status if isinstance(status, int) else ExitStatus.FINE
    except click.UsageError as problem:
        problem.show()
        return ExitStatus.INPUT
    except click.ClickException as problem:
        problem.show()
        return ExitStatus.INPUT
    except (click.Abort, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    except SystemExit:
        # Whoever read standard output has gone: click makes that of a broken pipe.
        return ExitStatus.SYSTEM
    except OSError as problem:
        click.echo(
            f"sedna-render: error: {problem.strerror or problem}: {problem.filename or ''}".rstrip(": "),
            err=True,
        )
        return ExitStatus.SYSTEM
    except Exception as problem:  # noqa: BLE001 - the one place: no input may give a traceback
        return _bug(problem, arguments)


def _bug(problem: Exception, arguments: list[str]) -> int:
    if "--debug" in arguments:
        import traceback  # noqa: PLC0415 - only for a bug

        traceback.print_exception(problem)
    frame: Any = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{frame.tb_frame.f_globals.get('__name__')}:{frame.tb_lineno}" if frame else "?"
    # The text of an exception may quote an input; its type and place do not.
    click.echo(
        f"sedna-render {__version__}: this is a bug ({type(problem).__name__} at {place}); nothing was written.\n"
        "  help: run again with --debug and report what it prints, with an input that shows it",
        err=True,
    )
    return ExitStatus.BUG
