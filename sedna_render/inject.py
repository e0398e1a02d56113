"""Merging: what a template injects meets the user's own pod template. Pure, and nothing of the user's is lost.

Every function gives a new value; what is worth telling goes to the list of findings that it is handed.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sedna_render.findings import Finding, Path
    from sedna_render.resources import Origin

#: What the library cannot do without, by the template that gives it.
CONTRACT = {
    "worker.cloud.yaml": ("NAMESPACE", "SERVICE_NAME", "WORKER_NAME", "MODEL_URL", "BIG_MODEL_BIND_PORT"),
    "worker.edge.yaml": (
        "NAMESPACE",
        "SERVICE_NAME",
        "WORKER_NAME",
        "MODEL_URL",
        "BIG_MODEL_IP",
        "BIG_MODEL_PORT",
        "HEM_NAME",
        "HEM_PARAMETERS",
    ),
}
#: The contract between Sedna's library and its controller: the user's own value would break the service.
CONTRACT_ENV = frozenset(name for names in CONTRACT.values() for name in names)
#: Fields of a worker template (worker.*.yaml, model.*.yaml, edge-autonomy.yaml).
PART_FIELDS = ("spec", "env", "initContainers", "volumes", "volumeMounts")


class Place(NamedTuple):
    """A pod template of a service, for messages, and where they go."""

    origin: Origin
    path: Path
    findings: list[Finding]

    def error(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Report an error about a field of this pod template."""
        self.findings.append(self.origin.error(rule, (*self.path, *path), message, remedy))

    def warning(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Report a warning about a field of this pod template."""
        self.findings.append(self.origin.warning(rule, (*self.path, *path), message, remedy))


def cleaned(value: Any) -> Any:
    """A value without null fields and without an empty ``resources``: both mean "not given"."""
    return value if _is_clean(value) else _cleaned(value)


def _is_clean(value: Any) -> bool:
    """Most values are, and looking is cheaper than building them anew: no recursion, one pass over all there is."""
    pending = [value]
    for nested in pending:
        if type(nested) is dict:
            if nested.get("resources") == {}:
                return False
            children = nested.values()
        else:
            children = nested
        for child in children:
            if child is None:
                return False
            kind = type(child)
            if kind is dict or kind is list:
                pending.append(child)
    return True


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _cleaned(item)
            for key, item in value.items()
            if item is not None and not (key == "resources" and item == {})
        }
    return [_cleaned(item) for item in value] if isinstance(value, list) else value


def inject(pod_spec: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], place: Place) -> dict[str, Any]:
    """The pod spec with the parts in it; the user's own fields stay unless a contract would break."""
    injected: dict[str, Any] = dict(pod_spec)
    for part in parts:
        if fields := part.get("spec"):
            injected = _merge_fields(injected, fields)
    env = [entry for part in parts for entry in part.get("env") or ()]
    mounts = [entry for part in parts for entry in part.get("volumeMounts") or ()]
    injected["containers"] = [
        _container(container, env, mounts, ("containers", index), place)
        for index, container in enumerate(pod_spec["containers"])
    ]
    init = [entry for part in parts for entry in part.get("initContainers") or ()]
    if init:
        injected["initContainers"] = _init_containers(pod_spec, init, place)
    volumes = [entry for part in parts for entry in part.get("volumes") or ()]
    if volumes:
        injected["volumes"] = _volumes(pod_spec.get("volumes") or [], volumes, place)
    return injected


def _merge_fields(spec: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(spec)
    for name, value in fields.items():
        if name == "tolerations":
            merged[name] = _tolerations(spec.get(name) or [], value)
        elif name == "dnsPolicy" and merged.get("hostNetwork") is False:
            # A worker that is not on the node's network does not want that network's name servers either.
            continue
        else:
            merged.setdefault(name, value)
    return merged


def _tolerations(own: Sequence[Mapping[str, Any]], added: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The user's tolerations, and those that they do not already cover for ever."""

    def covered(wanted: Mapping[str, Any]) -> bool:
        return any(
            toleration.get("key") in (wanted.get("key"), None)
            and toleration.get("operator", "Equal") == "Exists"
            and toleration.get("effect") in (wanted.get("effect"), None)
            and toleration.get("tolerationSeconds") is None
            for toleration in own
        )

    return [*own, *(toleration for toleration in added if not covered(toleration))]


def _container(
    container: Mapping[str, Any],
    env: Sequence[Mapping[str, Any]],
    mounts: Sequence[Mapping[str, Any]],
    path: Path,
    place: Place,
) -> dict[str, Any]:
    injected = dict(container)
    merged = merge_env(env, container.get("env") or (), (*path, "env"), place)
    if merged:
        injected["env"] = merged
    if mounts:
        injected["volumeMounts"] = _mounts(
            container.get("volumeMounts") or (), mounts, (*path, "volumeMounts"), place
        )
    return injected


def merge_env(
    ours: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]], path: Path, place: Place
) -> list[Any]:
    """Our entries, then the user's own, each name once.

    Ours come first so that the user's ``$(BIG_MODEL_IP)`` expands. Where the user's value wins, the entry stays at the
    user's place: it may itself expand what stands before it.
    """
    last = _last_entries(own, path, place)
    merged = []
    dropped = set()
    for entry in ours:
        name = entry["name"]
        index = last.get(name)
        if index is None:
            merged.append(entry)
        elif own[index] == entry:
            merged.append(entry)
            dropped.add(name)
        elif name in CONTRACT_ENV:
            merged.append(entry)
            dropped.add(name)
            place.warning(
                "env-overridden",
                (*path, index),
                f"{name} is set by sedna-render, the value given here is not used",
                f"remove the entry {name}",
            )
    merged.extend(
        entry
        for index, entry in enumerate(own)
        if entry["name"] not in dropped and last[entry["name"]] == index
    )
    return merged


def _last_entries(own: Sequence[Mapping[str, Any]], path: Path, place: Place) -> dict[str, int]:
    """The index of each name's last entry: the one whose value a container sees."""
    last: dict[str, int] = {}
    for index, entry in enumerate(own):
        name = entry["name"]
        if name in last:
            first = place.origin.locate((*place.path, *path, last[name], "name"))
            place.warning(
                "env-duplicate",
                (*path, index, "name"),
                f"{name} is there twice, also at {first}; the last one is used",
                "remove one of the entries: server-side apply refuses two of one name",
            )
        last[name] = index
    return last


def _mounts(
    own: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]], path: Path, place: Place
) -> list[Any]:
    merged = list(own)
    for mount in ours:
        folder = normalised(mount["mountPath"])
        at = next((i for i, entry in enumerate(own) if normalised(entry["mountPath"]) == folder), None)
        if at is None:
            merged.append(mount)
        elif not _same_mount(own[at], mount):
            place.error(
                "mount-path-clash",
                (*path, at, "mountPath"),
                f'"{folder}" is where the model is mounted',
                "mount this volume somewhere else",
            )
    return merged


def normalised(path: str) -> str:
    """A path of a container without doubled slashes, ``.`` and ``..``: what two mounts on one place have in common."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _same_mount(own: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    def essence(mount: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in mount.items() if value not in (None, False)}
        return {**kept, "mountPath": normalised(mount["mountPath"])}

    return essence(own) == essence(ours)


def _init_containers(
    pod_spec: Mapping[str, Any], ours: Sequence[Mapping[str, Any]], place: Place
) -> list[Any]:
    own = pod_spec.get("initContainers") or []
    merged = list(own)
    if pod_spec.get("resources"):
        # With limits on the whole pod, a container's own would have to fit into them: that is the user's to say.
        ours = [{key: value for key, value in entry.items() if key != "resources"} for entry in ours]
    for entry in ours:
        at = next((i for i, other in enumerate(own) if other["name"] == entry["name"]), None)
        if at is None:
            merged.append(entry)
        elif own[at] != entry:
            place.error(
                "reserved-name",
                ("initContainers", at, "name"),
                f'"{entry["name"]}" is the init container that downloads the model',
                "give this init container another name",
            )
    for index, container in enumerate(pod_spec["containers"]):
        if any(container["name"] == entry["name"] for entry in ours):
            place.error(
                "reserved-name",
                ("containers", index, "name"),
                f'"{container["name"]}" is the init container that downloads the model',
                "give this container another name",
            )
    return merged


def _volumes(own: Sequence[Mapping[str, Any]], ours: Iterable[Mapping[str, Any]], place: Place) -> list[Any]:
    merged = list(own)
    for volume in ours:
        at = next((i for i, other in enumerate(own) if other["name"] == volume["name"]), None)
        if at is None:
            merged.append(volume)
        elif own[at] != volume:
            place.error(
                "reserved-name",
                ("volumes", at, "name"),
                f'"{volume["name"]}" is the volume that holds the model',
                "give this volume another name",
            )
    return merged
