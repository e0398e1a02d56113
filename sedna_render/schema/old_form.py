"""Services from before Sedna had pod templates: recognised whole, and told once what is today's form.

Pure. Background: Sedna's first release, v0.1.0 (April 2021), has pod templates already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sedna_render.findings import Path

GROUP = "sedna.io/v1alpha1"
_OLD_GROUPS = {
    "neptune.io": "the name that Sedna had in January 2021, before its first release",
    "edgeai.io": "a name that Sedna had before its first release",
}
_WORKERS = ("edgeWorker", "cloudWorker")
_BEFORE = "this is the form from before release v0.1.0 (April 2021)"
_TODAY = (
    "write what runs in the worker as a pod template: template: {spec: {nodeName: …, containers: "
    "[{name: …, image: …, env: [{name: …, value: …}]}]}}"
)


class Old(NamedTuple):
    """Where an old form shows, what it is, what is written today, and the parts whose other problems it explains."""

    path: Path
    message: str
    remedy: str
    at_key: bool = True
    explains: frozenset[Path] = frozenset()


def find(data: dict[str, Any]) -> Old | None:
    """The sign that `data` is written in an old form; the plainest one if there are several."""
    group = _old_group(data)
    spec = data.get("spec")
    workers = spec if isinstance(spec, dict) else {}
    signs = {("spec", name): _sign(("spec", name), workers.get(name)) for name in _WORKERS}
    old = next((sign for sign in signs.values() if sign), None)
    if old is None:
        return group
    if group:
        old = old._replace(remedy=f"{old.remedy}; and {group.remedy}")
    return old._replace(explains=frozenset(path for path, sign in signs.items() if sign))


def _old_group(data: dict[str, Any]) -> Old | None:
    version = data.get("apiVersion")
    group = version.partition("/")[0] if isinstance(version, str) else ""
    if group not in _OLD_GROUPS:
        return None
    message = f"{group} is {_OLD_GROUPS[group]}"
    return Old(("apiVersion",), message, f"write apiVersion: {GROUP}", at_key=False)


def _sign(path: Path, worker: Any) -> Old | None:
    """What shows that one worker is written in an old form."""
    if isinstance(worker, list):
        return Old(
            path,
            f"{path[-1]} is a list: a form of July 2021 that is in no release (a service has one worker of each side)",
            f"write one service for each entry, with {path[-1]} as a map (take away the dash)",
        )
    if not isinstance(worker, dict):
        return None
    if "workerSpec" in worker:
        return Old((*path, "workerSpec"), f"workerSpec: {_BEFORE}", f"{_TODAY}; parameters are env today")
    if "hardExampleAlgorithm" in worker:
        today = "write hardExampleMining: {name: …, parameters: [{key: …, value: …}]}"
        return Old((*path, "hardExampleAlgorithm"), f"hardExampleAlgorithm: {_BEFORE}", today)
    for name in ("nodeName", "nodeSelector"):
        if name in worker and worker.get("template") is None:
            return Old((*path, name), f"{name} beside model: {_BEFORE}", _TODAY)
    return None
