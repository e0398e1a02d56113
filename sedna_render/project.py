"""Finds the project that the inputs belong to: its sedna-render.yaml and the folder that paths are relative to.

Reads that one file and does not look into it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sedna_render import load, walk
from sedna_render.findings import ERROR, Finding, Location
from sedna_render.settings import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sedna_render.yaml_reader import Source

_TOP_MARK = ".git"


class Project:
    """The configuration file, if there is one, and the folder that source paths are relative to."""

    def __init__(self, source: Source | None, root: str) -> None:
        """``root``: absolute, without symbolic links: the configuration's folder, else the current one."""
        self.source = source
        self.root = root
        self._folders: dict[str, tuple[str, str]] = {}

    @property
    def is_anchored(self) -> bool:
        """Whether the root is a configuration's folder: the same in every run, wherever it is started."""
        return self.source is not None

    def source_path(self, name: str) -> str:
        """The file's path relative to the root, POSIX, ``..`` where it lies outside; "" for standard input.

        Links among the folders are resolved, the file's own name stays: one file, one path, however it is reached.
        """
        if name in (walk.STDIN_NAME, walk.STDIN):
            return ""
        folder, _, base = name.rpartition("/")
        relative = self._resolve(folder, name)[1]
        return base if relative == "." else f"{relative}/{base}"

    def covers(self, paths: Iterable[str]) -> frozenset[str]:
        """What a run over these PATH arguments (and the names of the files read) covers, as absolute paths.

        "" is standard input.
        """
        return frozenset(map(self._cover, paths))

    def _cover(self, path: str) -> str:
        if path in (walk.STDIN_NAME, walk.STDIN):
            return ""
        if os.path.isdir(path):
            return os.path.realpath(path)
        folder, _, base = walk.shown(path).rpartition("/")
        return f"{self._resolve(folder, path)[0].rstrip('/')}/{base}"

    def _resolve(self, folder: str, name: str) -> tuple[str, str]:
        """The real path of a file's folder, and that path relative to the root."""
        folder = folder or ("/" if name.startswith("/") else ".")
        known = self._folders.get(folder)
        if known is None:
            real = os.path.realpath(folder)
            known = self._folders[folder] = (
                real,
                "." if real == self.root else os.path.relpath(real, self.root),
            )
        return known


def find(paths: Sequence[str], config: str | None = None) -> tuple[Project, list[Finding]]:
    """The project of the paths: ``config`` when given, else the nearest sedna-render.yaml at or above each path.

    The search goes up as far as a folder that holds ``.git``. Paths that lead to different files are an error.
    """
    if config is not None:
        return _read(config)
    found = sorted(_nearest(paths))
    if not found:
        return Project(None, os.getcwd()), []
    project, findings = _read(_short(found[0]))
    if len(found) > 1:
        findings = [*findings, _two_configurations(found)]
    return project, findings


def inside_output(project: Project, output: str) -> list[Finding]:
    """An error when the configuration lies in the output folder, where generated files are put and removed."""
    if project.source is None:
        return []
    folder = os.path.realpath(output)
    if project.root != folder and not project.root.startswith(folder.rstrip("/") + "/"):
        return []
    message = f"the configuration lies in the output folder {walk.printable(walk.shown(output))}"
    remedy = "choose an output folder beside the configuration, e.g. `output: manifests`"
    return [_finding("config-in-output", project.source.name, message, remedy)]


def _read(path: str) -> tuple[Project, list[Finding]]:
    result = load.read_file(walk.shown(path), path)
    root = os.path.realpath(os.path.dirname(path) or ".")
    if isinstance(result, Finding):
        return Project(None, root), [result]
    return Project(result, root), []


def _nearest(paths: Iterable[str]) -> set[str]:
    """The real paths of the configuration files that the paths lead to."""
    known: dict[str, str] = {}
    folders = {_start(path) for path in paths}
    return {found for found in (_upward(folder, known) for folder in folders) if found}


def _start(path: str) -> str:
    """The absolute folder where the search for a path's configuration starts."""
    if path == walk.STDIN:
        return os.getcwd()
    full = os.path.abspath(path) if ".." not in path.split("/") else os.path.realpath(path)
    while not os.path.isdir(full) and full != os.path.dirname(
        full
    ):  # a file, a glob, or a path that does not exist
        full = os.path.dirname(full)
    return full


def _upward(folder: str, known: dict[str, str]) -> str:
    """The nearest configuration at or above the folder, "" for none; ``known`` spares asking the disk again."""
    passed = []
    found = ""
    while folder not in known:
        passed.append(folder)
        path = os.path.join(folder, FILE_NAME)
        if os.path.lexists(path):
            found = os.path.join(os.path.realpath(folder), FILE_NAME)
            break
        parent = os.path.dirname(folder)
        if parent == folder or os.path.lexists(os.path.join(folder, _TOP_MARK)):
            break
        folder = parent
    else:
        found = known[folder]
    known.update(dict.fromkeys(passed, found))
    return found


def _short(path: str) -> str:
    """The path as people would write it: relative to the current folder when it lies at or below it or just above."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(path) else path


def _two_configurations(found: Sequence[str]) -> Finding:
    names = [_short(path) for path in found]
    message = f"the inputs belong to different configurations: {', '.join(map(walk.printable, names))}"
    remedy = "render each part by itself, or name one with --config"
    return _finding("two-configs", names[0], message, remedy)


def _finding(rule: str, name: str, message: str, remedy: str) -> Finding:
    return Finding(rule, ERROR, Location(walk.printable(name)), "", "", message, remedy)
