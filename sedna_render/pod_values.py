"""Values of a pod template that the API server refuses whatever stands beside them. Pure.

Only what every version refuses, or what no node can run: a field's meaning is the API server's business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sedna_render.hosts import PORTS
from sedna_render.inject import normalised
from sedna_render.object_checks import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sedna_render.findings import Path
    from sedna_render.inject import Place

PORT_NAME_LENGTH = 15
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
# Lt and Gt came with Kubernetes 1.35.
_OPERATORS = ("Exists", "Equal", "Lt", "Gt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SOURCES = frozenset({"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"})

# Text, compiled by `re` when first used: most names are plain words.
_ENV_NAME = r"[ -<>-~]+"
_PORT_NAME = r"(?=[a-z0-9-]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*"


def check_pod(pod_spec: Mapping[str, Any], place: Place) -> None:
    """Report words that a field of the pod cannot hold."""
    _check_word(pod_spec, "restartPolicy", RESTART_POLICIES, (), place)
    _check_word(pod_spec, "dnsPolicy", _DNS_POLICIES, (), place)
    for index, toleration in enumerate(pod_spec.get("tolerations") or ()):
        path: Path = ("tolerations", index)
        _check_word(toleration, "operator", _OPERATORS, path, place)
        _check_word(toleration, "effect", _EFFECTS, path, place)
        exists = toleration.get("operator") == "Exists"
        if not exists and not toleration.get("key"):
            message = "a toleration without a key is one of every taint, for which operator must be Exists"
            place.error("unsupported-value", path, message, "add operator: Exists, or the key of a taint")
        if exists and toleration.get("value"):
            message = "with operator Exists any value is tolerated"
            place.error(
                "unsupported-value", (*path, "value"), message, "remove the value, or write operator: Equal"
            )


def check_container(container: Mapping[str, Any], path: Path, place: Place) -> None:
    """Report what is refused in a container: its image, its words, ports and env, and where it mounts."""
    name, image = container["name"], container.get("image")
    if not image:
        place.error(
            "image-missing", path, f'container "{name}" has no image', "add image: <repository>:<tag>"
        )
    elif image.split() != [image] and not is_placeholder(image):
        message = f'the image of container "{name}" has a blank in it: no node can fetch it'
        place.error("invalid-image", (*path, "image"), message, "write <repository>:<tag>, without blanks")
    _check_word(container, "imagePullPolicy", _PULL_POLICIES, path, place)
    if ports := container.get("ports"):
        _check_ports(ports, (*path, "ports"), place)
    if env := container.get("env"):
        _check_env(env, (*path, "env"), place)
    if mounts := container.get("volumeMounts"):
        _check_mounts(mounts, (*path, "volumeMounts"), place)


def check_mounted_volumes(pod_spec: Mapping[str, Any], place: Place) -> None:
    """Report mounts of volumes that the whole pod, with everything injected, does not have."""
    volumes = {volume["name"] for volume in pod_spec.get("volumes") or ()}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            for number, mount in enumerate(container.get("volumeMounts") or ()):
                if mount["name"] not in volumes:
                    there = f" (there are: {', '.join(sorted(volumes))})" if volumes else " (it has none)"
                    place.error(
                        "invalid-mount",
                        (kind, index, "volumeMounts", number, "name"),
                        f'the pod has no volume "{mount["name"]}"{there}',
                        "add the volume to the template's volumes, or correct the name",
                    )


def _check_word(
    holder: Mapping[str, Any], field: str, words: Sequence[str], path: Path, place: Place
) -> None:
    word = holder.get(field)
    if not word or word in words:
        return
    near = {known.lower(): known for known in words}.get(word.lower())
    place.error(
        "unsupported-value",
        (*path, field),
        f'"{word}" is not a value of {field}',
        f"did you mean {near}?" if near else f"write one of: {', '.join(words)}",
    )


def _check_ports(ports: Sequence[Mapping[str, Any]], path: Path, place: Place) -> None:
    names: dict[str, int] = {}
    for index, port in enumerate(ports):
        for field in ("containerPort", "hostPort"):
            number = port.get(field)
            # A hostPort of 0 is none.
            if number is not None and not (number in PORTS or (number == 0 and field == "hostPort")):
                message = f"{number} is not a port (1 to 65535)"
                place.error("invalid-port", (*path, index, field), message, "write a number from 1 to 65535")
        _check_word(port, "protocol", _PROTOCOLS, (*path, index), place)
        name = port.get("name")
        if not name:
            continue
        if len(name) > PORT_NAME_LENGTH or not re.fullmatch(_PORT_NAME, name):
            place.error(
                "invalid-port",
                (*path, index, "name"),
                f'"{name}" is not the name of a port',
                f"use at most {PORT_NAME_LENGTH} lower-case letters, digits and single hyphens between them, "
                "one of them a letter",
            )
        first = names.setdefault(name, index)
        if first != index:
            at = place.origin.locate((*place.path, *path, first, "name"))
            message = f'two ports are called "{name}", also at {at}'
            place.error("invalid-port", (*path, index, "name"), message, "give each port a name of its own")


def _check_env(env: Sequence[Mapping[str, Any]], path: Path, place: Place) -> None:
    for index, entry in enumerate(env):
        name = entry["name"]
        # The first two are for speed: such a name is an ordinary one.
        if not (name.isascii() and name.isidentifier()) and not re.fullmatch(_ENV_NAME, name):
            place.error(
                "invalid-env",
                (*path, index, "name"),
                "a variable has a character that none may have" if name else "a variable has no name",
                "use letters, digits and _",
            )
        source = entry.get("valueFrom")
        if source is not None and (problem := _source_problem(entry.get("value"), source)):
            message, remedy = problem
            place.error(
                "invalid-env", (*path, index, "valueFrom"), f"{name or 'a variable'} {message}", remedy
            )


def _source_problem(value: str | None, source: Mapping[str, Any]) -> tuple[str, str] | None:
    given = [name for name, reference in source.items() if reference is not None]
    if not given:
        return "takes its value from nothing", f"name a source: one of {', '.join(sorted(_SOURCES))}"
    if value:
        return "has both value and valueFrom", "keep one of the two"
    if len(_SOURCES.intersection(given)) > 1:
        return f"takes its value from {' and '.join(given)}", "keep one source"
    return None


def _check_mounts(mounts: Sequence[Mapping[str, Any]], path: Path, place: Place) -> None:
    seen: dict[str, int] = {}
    for index, mount in enumerate(mounts):
        if not mount["mountPath"]:
            message = f'volume "{mount["name"]}" is mounted at no path'
            place.error(
                "invalid-mount", (*path, index, "mountPath"), message, "write an absolute path, such as /data"
            )
            continue
        first = seen.setdefault(normalised(mount["mountPath"]), index)
        if first != index:
            at = place.origin.locate((*place.path, *path, first, "mountPath"))
            place.error(
                "mount-path-clash",
                (*path, index, "mountPath"),
                f'two volumes are mounted at "{mount["mountPath"]}", also at {at}',
                "mount one of them somewhere else",
            )
