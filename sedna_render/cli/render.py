"""``sedna-render render``: manifests to standard output, or into a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from sedna_render import (
    explain as explanation,
)
from sedna_render import (
    node_ports,
    write,
)
from sedna_render import (
    output as texts,
)
from sedna_render import (
    plan as plans,
)
from sedna_render import (
    repository as repositories,
)
from sedna_render.cli.collector import no_collecting
from sedna_render.cli.exit_status import ExitStatus
from sedna_render.cli.options import common, request
from sedna_render.cli.progress import progress
from sedna_render.cli.report import report
from sedna_render.findings import ERROR, WARNING, Finding, Location

if TYPE_CHECKING:
    from sedna_render.repository import Repository
    from sedna_render.resources import Origin

_OPTIONS_HELP = """Render manifests from files, folders (all YAML and JSON below them), globs or - (standard input).

Without -o they go to standard output. With -o they go into a folder that sedna-render then owns: files whose
service is gone are removed, files that somebody edited are never overwritten (see --force), and nothing at all is
written when anything is wrong.

\b
Examples:
  sedna-render render services/
  sedna-render render services/ -o manifests/ --kustomization
  sedna-render render service.yaml models.yaml --expose EdgeMesh | kubectl apply -f -
  sedna-render render services/ --explain default/helmet"""


@click.command("render", help=_OPTIONS_HELP)
@common
@click.option("-o", "--output", metavar="DIR", help="The folder to write into; - is standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(texts.FORMATS),
    help="What the manifests are written as; else YAML, or what the folder holds.",
)
@click.option(
    "--kustomization/--no-kustomization", default=None, help="Keep a kustomization.yaml that lists the files."
)
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited by hand.")
@click.option(
    "--explain", metavar="SERVICE", help="Print a service's effective settings and where they come from."
)
@click.option("-q", "--quiet", is_flag=True, help="Show errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was passed over.")
def command(**options: Any) -> int:
    """Parse, render, write, report."""
    with no_collecting():
        repository = repositories.read(request(options, options["output"]))
        if options["explain"] is not None:
            return _explain(repository, options["explain"], options)
        return _to_folder(repository, options) if repository.output else _to_stdout(repository, options)


def _to_stdout(repository: Repository, options: dict[str, Any]) -> int:
    unrecorded = _unrecorded(repository)
    pieces = list(texts.stream(progress(repository.render()), options["form"] or texts.YAML))
    if not repository.has_errors and not options["quiet"]:
        repository.findings.extend(_unrecorded_finding(origin, number) for origin, number in unrecorded)
    _report(repository, options)
    if repository.has_errors:
        return ExitStatus.INPUT
    # Bytes: manifests are UTF-8 whatever the terminal's encoding is.
    sys.stdout.buffer.write("".join(pieces).encode())
    sys.stdout.buffer.flush()
    return ExitStatus.FINE


def _to_folder(repository: Repository, options: dict[str, Any]) -> int:
    try:
        plan = make_plan(repository, options)
        repository.findings.extend((*plan.findings, *plans.refusals(plan, force=options["force"])))
        _report(repository, options)
        if repository.has_errors:
            return ExitStatus.INPUT
        done = write.apply(plan, force=options["force"])
    except plans.WriteError as problem:
        click.echo(f"sedna-render: error: {problem}", err=True)
        return ExitStatus.SYSTEM
    if not options["quiet"] and options["error_format"] == "text":
        click.echo(f"{repository.output}: {_summary(done)}", err=True)
    return ExitStatus.FINE


def make_plan(repository: Repository, options: dict[str, Any]) -> plans.Plan:
    """What would be written: the same for ``render`` and ``check``. Raises WriteError."""
    form = texts.Form(
        repository.settings["layout"], options["form"] or plans.format_of(repository.target) or texts.YAML
    )
    files = texts.files(progress(repository.render()), form)
    lock = repository.decisions.lock
    target = repository.target._replace(
        kustomization=options["kustomization"],
        lock_path=repository.lock_path,
        lock_text=node_ports.lock_text(lock) if lock or repository.recorded else "",
    )
    return plans.make(target, files)


def _summary(done: write.Written) -> str:
    if not done.written and not done.removed:
        return "nothing to do, every file is what it should be"
    return ", ".join(
        f"{number} file{'' if number == 1 else 's'} {what}"
        for number, what in ((done.written, "written"), (done.removed, "removed"))
        if number
    )


def _unrecorded(repository: Repository) -> list[tuple[Origin, int]]:
    """The services whose NodePort number was chosen now, and that nothing keeps."""
    services = repository.world.inventory.services
    return [
        (services[key].origin, assigned.number)
        for key, assigned in repository.decisions.numbers.items()
        if assigned.origin == node_ports.CHOSEN
    ]


def _unrecorded_finding(origin: Origin, number: int) -> Finding:
    return origin.warning(
        "nodeport-unrecorded",
        ("metadata", "name"),
        f"NodePort {number} was chosen now and is not recorded: another service may move it",
        "write with -o, which keeps the numbers in sedna-render.lock; "
        "or set the annotation render.sedna.io/node-port",
    )


def _explain(repository: Repository, name: str, options: dict[str, Any]) -> int:
    found = explanation.find(name, repository.world.inventory)
    if isinstance(found, list):
        there = f"did you mean {', '.join(found)}?" if found else "there is none among the inputs"
        repository.findings.append(
            Finding("no-such-service", ERROR, Location("--explain"), "", "", f'no service "{name}"', there)
        )
        _report(repository, options)
        return ExitStatus.INPUT
    rows = list(explanation.explain(found, repository.world, repository.decisions))
    for _ in repository.render():
        pass  # for what is wrong with the services
    repository.findings[:] = [one for one in repository.findings if not _is_about_another(one, found.origin)]
    _report(repository, options)
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    click.echo(f"{found.origin.subject} ({found.origin.locate()})")
    for row in rows:
        click.echo(f"  {row.name:<{widths[0]}}  {row.value:<{widths[1]}}  {row.source}".rstrip())
    return ExitStatus.INPUT if repository.has_errors else ExitStatus.FINE


def _is_about_another(finding: Finding, service: Origin) -> bool:
    return finding.subject.startswith(f"{service.kind} ") and finding.subject != service.subject


def _report(repository: Repository, options: dict[str, Any]) -> None:
    shown = [
        finding
        for finding in repository.findings
        if finding.is_error or not options["quiet"] or finding.severity != WARNING
    ]
    report(shown, options["error_format"], color=options["color"])
    if options["verbose"] and options["error_format"] == "text":
        for kind, number in sorted(repository.world.inventory.passed_over.items()):
            click.echo(f"passed over: {number} {kind}", err=True)
