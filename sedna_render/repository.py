"""Reads a repository: its configuration, its templates, its objects, its lock file; and takes every decision.

What comes out is all that ``pipeline.render`` needs, and every finding so far.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sedna_api import KIND_SERVICE
from sedna_render import (
    load,
    names,
    node_ports,
    pipeline,
    plan,
    project,
    settings,
    template_files,
    walk,
    yaml_reader,
)
from sedna_render.findings import ERROR, WARNING, Finding, Location
from sedna_render.inventory import Inventory
from sedna_render.settings import Settings
from sedna_render.templates import Templates
from sedna_render.worker import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sedna_render.manifests import RenderedService
    from sedna_render.pipeline import Decisions
    from sedna_render.project import Project


class Request(NamedTuple):
    """What the command line asks for."""

    paths: Sequence[str]
    config: str | None = None
    #: The output folder, None when the configuration decides, "" for standard output.
    output: str | None = None
    templates: str | None = None
    #: Settings given as flags, None where not given.
    flags: Mapping[str, Any] = MappingProxyType({})
    allow_empty: bool = False
    stdin: BinaryIO | None = None


class Repository(NamedTuple):
    """A repository as read, ready to be rendered."""

    project: Project
    settings: Settings
    #: The output folder; "" for standard output.
    output: str
    lock_path: str
    recorded: Mapping[str, int]
    world: World
    decisions: Decisions
    #: What the output is compared with; the lock file's text is added where it is written.
    target: plan.Target
    findings: list[Finding]

    @property
    def has_errors(self) -> bool:
        """Whether nothing may be written."""
        return any(finding.severity == ERROR for finding in self.findings)

    def render(self) -> Iterator[RenderedService]:
        """The services one by one; what is wrong with them is added to the findings."""
        return pipeline.render(self.world, self.decisions, self.findings)


def read(request: Request) -> Repository:
    """Read everything that a request names. Never raises for what a user can cause: findings say it."""
    found, findings = project.find(request.paths, request.config)
    effective, problems = _settings(found, request)
    findings += problems
    output = _output(found, effective, request)
    if output:
        findings += project.inside_output(found, output)
    templates_folder = request.templates or _beside(found, effective["templates"])
    texts, problems = template_files.read(templates_folder)
    findings += problems
    skipped = [folder for folder in (output, templates_folder) if folder]
    usable = not any(finding.is_error for finding in findings)
    sources, problems = load.load(request.paths, skip_folders=skipped, stdin=request.stdin)
    findings += problems
    inventory = _inventory(sources, effective["namespace"])
    inventory.is_complete = inventory.is_complete and not problems
    findings += inventory.findings
    if not usable:
        # Under settings that are not the ones meant, the services would have errors that are none.
        inventory.services.clear()
    elif (
        not request.allow_empty
        and not inventory.has_service
        and not any(finding.is_error for finding in findings)
    ):
        findings.append(_no_service(inventory, request.paths))
    if usable:
        findings += _unused_configurations(inventory, found)
    covers = found.covers([*request.paths, *(source.name for source in sources)])
    lock_path = _lock_path(found, output)
    lock_read, recorded, problems = _read_lock(lock_path)
    findings += [*problems, *_misplaced_lock(found, output, sources)]
    target = plan.Target(output, found.root, covers, found.is_anchored, lock_read=lock_read)
    gone = plan.gone_services(target, _service_keys(inventory)) if output and recorded else ()
    decisions = pipeline.decide(inventory, effective, recorded, gone)
    findings += decisions.findings
    world = World(effective, inventory, Templates(texts), found.source_path)
    return Repository(found, effective, output, lock_path, recorded, world, decisions, target, findings)


def _settings(found: Project, request: Request) -> tuple[Settings, list[Finding]]:
    findings: list[Finding] = []
    effective = Settings()
    if found.source is not None:
        documents, findings = yaml_reader.read(found.source)
        if len(documents) == 1:
            effective, problems = settings.from_document(documents[0])
            findings = [*findings, *problems]
        elif not findings:
            findings = [
                Finding(
                    "bad-config",
                    ERROR,
                    Location(found.source.name),
                    settings.KIND,
                    "",
                    f"{len(documents)} documents where one {settings.KIND} is wanted",
                    f"start with apiVersion: {settings.API_VERSION} and kind: {settings.KIND}",
                )
            ]
    namespace = request.flags.get("namespace")
    if namespace is not None and (problem := names.dns_1123_label(namespace)):
        remedy = "use lower-case letters, digits and - (at most 63)"
        findings = [*findings, settings.flag_error("invalid-name", "--namespace", problem, remedy)]
    return effective.with_flags(request.flags), findings


def _output(found: Project, effective: Settings, request: Request) -> str:
    if request.output is not None:
        return request.output
    return _beside(found, effective["output"])


def _beside(found: Project, path: str) -> str:
    """A path of the configuration file, which is relative to that file's folder."""
    if not path or os.path.isabs(path) or found.source is None:
        return path
    return os.path.join(os.path.dirname(found.source.name), path)


def _inventory(sources: list[yaml_reader.Source], namespace: str) -> Inventory:
    inventory = Inventory(namespace)
    for source in sources:
        documents, findings = yaml_reader.read(source)
        inventory.findings.extend(findings)
        inventory.is_complete = inventory.is_complete and not findings
        for document in documents:
            inventory.add(document)
    return inventory


def _service_keys(inventory: Inventory) -> set[str]:
    """The services among the inputs, also those that were refused."""
    return {f"{namespace}/{name}" for kind, namespace, name in inventory.seen if kind == KIND_SERVICE}


def _no_service(inventory: Inventory, paths: Sequence[str]) -> Finding:
    kinds = sorted({kind for kind, _, _ in inventory.seen} | inventory.passed_over.keys())
    there = f"; there is only: {', '.join(kinds)}" if kinds else ""
    return Finding(
        "no-service",
        ERROR,
        Location(" ".join(paths)),
        "",
        "",
        f"no {KIND_SERVICE} in the inputs{there}",
        "give the folder that holds the service, or say --allow-empty when there may be none",
    )


def _lock_path(found: Project, output: str) -> str:
    """Beside the configuration, else in the output folder; "" when there is neither."""
    if found.source is not None:
        return os.path.join(os.path.dirname(found.source.name), node_ports.LOCK_FILE)
    return os.path.join(output, node_ports.LOCK_FILE) if output else ""


def _unused_configurations(inventory: Inventory, found: Project) -> list[Finding]:
    """Configurations below the paths that are not the one in force: whoever wrote them thinks otherwise."""
    used = os.path.realpath(found.source.name) if found.source is not None else ""
    in_force = f"the one in force is {found.source.name}" if found.source is not None else "none is in force"
    return [
        Finding(
            "unused-config",
            WARNING,
            document.locate(()),
            settings.KIND,
            "",
            f"this configuration is not used: {in_force}",
            "put it at or above the paths that are rendered, or name it with --config",
        )
        for document in inventory.configurations
        if os.path.realpath(document.source.name) != used
    ]


def _misplaced_lock(found: Project, output: str, sources: Sequence[yaml_reader.Source]) -> list[Finding]:
    """A lock file where an earlier configuration had it: without it every service would get a new number."""
    lock_path = _lock_path(found, output)
    if not lock_path or os.path.lexists(lock_path):
        return []
    folders = {*filter(None, [output]), *(os.path.dirname(source.name) for source in sources)}
    places = {os.path.normpath(os.path.join(folder, node_ports.LOCK_FILE)) for folder in folders}
    misplaced = sorted(place for place in places if os.path.lexists(place) and not _has_configuration(place))
    if not misplaced:
        return []
    wanted = os.path.normpath(lock_path)
    where = "beside the configuration" if found.is_anchored else "in the output folder"
    message = "the NodePort numbers are recorded here, but the lock file belongs {}: {}"
    message = message.format(where, walk.printable(wanted))
    remedy = _move(misplaced[0], wanted) if len(misplaced) == 1 else _join(len(misplaced), wanted)
    severity = ERROR if output else WARNING  # what is only shown loses no number
    return [
        Finding("misplaced-lock-file", severity, Location(walk.printable(place)), "", "", message, remedy)
        for place in misplaced
    ]


def _has_configuration(lock_path: str) -> bool:
    """Whether a configuration lies beside the lock file, which then is that one's: it is where it belongs."""
    return os.path.lexists(os.path.join(os.path.dirname(lock_path), settings.FILE_NAME))


def _move(place: str, wanted: str) -> str:
    import shlex  # noqa: PLC0415 - only when a lock file is misplaced

    folder = os.path.dirname(wanted) or "."
    first = "" if os.path.isdir(folder) else f"mkdir -p {shlex.quote(folder)} && "
    return walk.printable(f"move it: {first}git mv {shlex.quote(place)} {shlex.quote(wanted)}")


def _join(number: int, wanted: str) -> str:
    return f"join the lines of these {number} lock files into one, {walk.printable(wanted)}, and remove them"


def _read_lock(path: str) -> tuple[bytes | None, dict[str, int], list[Finding]]:
    """The lock file as it is, what it says, and what is wrong with it."""
    if not path or not os.path.lexists(path):
        return None, {}, []
    source = load.read_file(path)
    if isinstance(source, Finding):
        return None, {}, [source]
    return source.content, *node_ports.parse_lock(source.content.decode("utf-8", "replace"), path)
