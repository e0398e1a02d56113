"""``sedna-render check``: is the committed output what would be rendered?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from sedna_render import check as checks
from sedna_render import output as texts
from sedna_render import plan as plans
from sedna_render import repository as repositories
from sedna_render.cli.collector import no_collecting
from sedna_render.cli.exit_status import ExitStatus
from sedna_render.cli.options import common, request
from sedna_render.cli.render import make_plan
from sedna_render.cli.report import github_property, github_text, report
from sedna_render.findings import WARNING

if TYPE_CHECKING:
    from sedna_render.check import Drift
    from sedna_render.plan import Plan
    from sedna_render.repository import Repository

_HELP = """Is the committed folder what render would write? Changes nothing.

Lists changed, missing, orphaned and hand-edited files, each with the service that caused it, and the command that
mends them. Exit status 0: nothing to do; 1: something differs; 2: the inputs are wrong.

\b
Examples:
  sedna-render check services/ -o manifests/
  sedna-render check services/ -o manifests/ --format github"""


@click.command("check", help=_HELP)
@common
@click.option("-o", "--output", metavar="DIR", help="The committed folder; else output of the configuration.")
@click.option(
    "--manifest-format",
    "form",
    type=click.Choice(texts.FORMATS),
    help="What the files hold; else as they are.",
)
@click.option(
    "--kustomization/--no-kustomization", default=None, help="Whether a kustomization.yaml belongs to it."
)
@click.option(
    "--format",
    "report_form",
    type=click.Choice(("text", "json", "github")),
    default="text",
    show_default=True,
    help="The form of the list.",
)
@click.option("--diff", "show_diff", is_flag=True, help="Show what differs in each file.")
def command(**options: Any) -> int:
    """Parse, render, compare, report."""
    with no_collecting():
        repository = repositories.read(request(options, options["output"]))
        if not repository.output or options["output"] == "-":
            raise click.UsageError("check compares a folder: give -o DIR, or output in sedna-render.yaml")
        return _check(repository, options)


def _check(repository: Repository, options: dict[str, Any]) -> int:
    try:
        plan = make_plan(repository, options)
        repository.findings.extend(plan.findings)
        shown = [
            finding for finding in repository.findings if finding.is_error or finding.severity != WARNING
        ]
        report(shown, options["error_format"], color=options["color"])
        if repository.has_errors:
            return ExitStatus.INPUT
        drifts = [_from_here(drift, repository.project.root) for drift in checks.drifts(plan)]
        _print(plan, drifts, options)
    except plans.WriteError as problem:
        click.echo(f"sedna-render: error: {problem}", err=True)
        return ExitStatus.SYSTEM
    return ExitStatus.DRIFT if drifts else ExitStatus.FINE


def _print(plan: Plan, drifts: list[Drift], options: dict[str, Any]) -> None:
    mend = _mend(options, drifts)
    if options["report_form"] == "json":
        import json  # noqa: PLC0415 - only for this format

        listed = [
            {"kind": d.kind, "path": d.path, "service": d.service, "source": d.source, "detail": d.detail}
            for d in drifts
        ]
        click.echo(
            json.dumps({"drift": listed, "mend": mend if drifts else ""}, ensure_ascii=False, indent=2)
        )
        return
    for drift in drifts:
        if options["report_form"] == "github":
            text = f"{drift.kind}: {_sentence(drift)}. To mend: {mend}"
            click.echo(
                f"::error file={github_property(drift.path)},title=sedna-render check::{github_text(text)}"
            )
        else:
            click.echo(f"{drift.kind:<12} {drift.path}: {_sentence(drift)}")
            if options["show_diff"]:
                click.echo(checks.difference(plan, drift), nl=False)
    if options["report_form"] == "text":
        # The lock file has a drift for each of its lines.
        files = len({drift.path for drift in drifts})
        differ = "1 file differs" if files == 1 else f"{files} files differ"
        click.echo(f"{differ}; to mend: {mend}" if drifts else "up to date")


def _from_here(drift: Drift, root: str) -> Drift:
    """The drift with its source as a path that the user can open."""
    return drift._replace(source=os.path.relpath(os.path.join(root, drift.source))) if drift.source else drift


def _sentence(drift: Drift) -> str:
    about = f"{drift.service}" + (f" ({drift.source})" if drift.source else "") if drift.service else ""
    return f"{about} {drift.detail}".strip() if about else drift.detail


def _mend(options: dict[str, Any], drifts: list[Drift]) -> str:
    """The command that makes the folder what it should be, and what only a person can do before it."""
    import shlex  # noqa: PLC0415 - only when something is to be mended

    kinds = {drift.kind for drift in drifts}
    paths = list(options["paths"])
    dashed = any(path.startswith("-") and path != "-" for path in paths)
    words = ["sedna-render", "render", *([] if dashed else paths)]
    for name in ("config", "templates", "workload", "expose", "namespace", "layout"):
        if options[name]:
            words += [f"--{name}", options[name]]
    if options["form"]:
        words += ["--format", options["form"]]
    if options["kustomization"] is not None:
        words.append("--kustomization" if options["kustomization"] else "--no-kustomization")
    if options["allow_empty"]:
        words.append("--allow-empty")
    if options["output"]:
        words += ["-o", options["output"]]
    if plans.HAND_EDITED in kinds:
        words.append("--force")
    if dashed:
        words += ["--", *paths]
    command = shlex.join(words)
    return f"move the foreign files out of the way, then {command}" if plans.FOREIGN in kinds else command
