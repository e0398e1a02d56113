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
    lock_file,
    names,
    pipeline,
    plan,
    project,
    settings,
    template_files,
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
    lock_path = lock_file.path_of(found, output)
    lock_read, recorded, problems = lock_file.read(lock_path)
    findings += [*problems, *lock_file.misplaced(found, output, sources)]
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
