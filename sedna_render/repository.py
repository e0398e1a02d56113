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
    yaml_reader,
)
from sedna_render.findings import ERROR, Finding, Location
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
    covers = found.covers([*request.paths, *(source.name for source in sources)])
    lock_path = _lock_path(found, output)
    recorded, problems = _read_lock(lock_path)
    findings += [*problems, *_misplaced_lock(lock_path, output, sources)]
    target = plan.Target(output, found.root, covers, found.source is not None)
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


def _misplaced_lock(lock_path: str, output: str, sources: Sequence[yaml_reader.Source]) -> list[Finding]:
    """A lock file where an earlier configuration had it: without it every service would get a new number."""
    if not lock_path or os.path.lexists(lock_path):
        return []
    folders = {output, *(os.path.dirname(source.name) for source in sources)}
    candidates = sorted({os.path.normpath(os.path.join(folder, node_ports.LOCK_FILE)) for folder in folders})
    wanted = os.path.normpath(lock_path)
    return [
        Finding(
            "misplaced-lock-file",
            ERROR,
            Location(found),
            "",
            "",
            f"the NodePort numbers are recorded here, but the lock file belongs beside the configuration: {wanted}",
            f"move it: git mv {found} {wanted}",
        )
        for found in candidates
        if os.path.lexists(found)
    ]


def _read_lock(path: str) -> tuple[dict[str, int], list[Finding]]:
    if not path or not os.path.lexists(path):
        return {}, []
    source = load.read_file(path)
    if isinstance(source, Finding):
        return {}, [source]
    return node_ports.parse_lock(source.content.decode("utf-8", "replace"), path)
