"""What is looked at in an object beside its schema: placeholders, control characters; and what is left without its errors.

Pure.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from sedna_render.findings import Finding, field_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sedna_render.findings import Path
    from sedna_render.resources import Origin
    from sedna_render.schema import Violation
    from sedna_render.yaml_reader import Document

#: Characters of a value that a message quotes at most.
LONGEST_QUOTE = 60

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
#: A value that a person was to fill in: $EDGE_NODE, ${EDGE_NODE}, <to be filled>, $(command …).
_PLACEHOLDER = re.compile(r"\$[A-Za-z_]\w*|\$\{\w+\}|<[^<>]+>|\$\(.*\)", re.DOTALL)
#: In an env value $(NAME) is Kubernetes' own; the others reach the program as they are.
_SHELL_VARIABLE = re.compile(r"\$[A-Za-z_]\w*|\$\{\w+\}")

_CONTAINERS = ("initContainers", "containers")
_STAND_INS = (*_CONTAINERS, "volumes")
_UNKNOWN = "unknown"


def as_finding(document: Document, subject: str, data: Any, violation: Violation) -> Finding:
    """A departure from the schema as a finding about the object, or the configuration, that the data is."""
    message, remedy = violation.message, violation.remedy
    read = _number_at(data, violation.path) if violation.rule == "wrong-type" else ""
    if read and json.dumps(read) in remedy:
        # 1.10 is read as 1.1: in quotes it has to be what somebody wrote.
        written = document.written(violation.path) or read
        remedy = remedy.replace(json.dumps(read), json.dumps(written))
        message = message.replace(f"the number {read} ", f"the number {written} ")
    place = document.locate(violation.path, key=violation.at_key)
    return Finding(
        violation.rule, violation.severity, place, subject, field_text(violation.path), message, remedy
    )


def _number_at(data: Any, path: Path) -> str:
    """The number at a path as Python writes it; "" when there is none."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return ""
    return repr(data) if type(data) in (int, float) else ""


def is_placeholder(value: Any) -> bool:
    """Whether a text is one that a person was to replace: ``$EDGE_NODE``, ``<to be filled>``."""
    return (
        isinstance(value, str)
        and ("$" in value or "<" in value)
        and _PLACEHOLDER.fullmatch(value.strip()) is not None
    )


def placeholders(origin: Origin, fields: Iterable[tuple[Path, Any]]) -> list[Finding]:
    """Errors about those of the fields that hold a placeholder."""
    return [
        origin.error(
            "placeholder",
            path,
            f"{quoted(value)} is a placeholder that nobody filled in",
            "write the real value; nothing expands it after this file",
        )
        for path, value in fields
        if is_placeholder(value)
    ]


def unexpanded(origin: Origin, spec: Mapping[str, Any]) -> Iterator[Finding]:
    """Warnings about env values that only a shell would expand. The value is not shown: it may be more than a name."""
    for path, container in _containers(spec):
        for index, entry in enumerate(container.get("env") or []):
            value = entry.get("value")
            if isinstance(value, str) and _SHELL_VARIABLE.fullmatch(value):
                yield origin.warning(
                    "placeholder",
                    (*path, "env", index, "value"),
                    "the value is the name of a shell variable: the program gets it as it stands here",
                    "write the real value, or $(NAME) for another entry of env",
                )


def owners(data: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """An owner that does not exist has the object deleted as soon as it is applied."""
    for index, owner in enumerate(data["metadata"].get("ownerReferences") or []):
        yield ("metadata", "ownerReferences", index, "uid"), owner.get("uid")


def filled_in_fields(spec: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The fields of a service that documentation leaves for people to fill in."""
    for worker in ("edgeWorker", "cloudWorker"):
        part = spec[worker]
        yield ("spec", worker, "model", "name"), part["model"]["name"]
        pod_spec = part["template"].get("spec") or {}
        path: Path = ("spec", worker, "template", "spec")
        yield (*path, "nodeName"), pod_spec.get("nodeName")
        for key, value in (pod_spec.get("nodeSelector") or {}).items():
            yield (*path, "nodeSelector", key), value
    for path, container in _containers(spec):
        yield (*path, "image"), container.get("image")


def _containers(spec: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for worker in ("edgeWorker", "cloudWorker"):
        pod_spec = spec[worker]["template"].get("spec") or {}
        for kind in _CONTAINERS:
            for index, container in enumerate(pod_spec.get(kind) or []):
                yield ("spec", worker, "template", "spec", kind, index), container


def without(data: dict[str, Any], violations: Sequence[Violation]) -> dict[str, Any]:
    """The data without the values that are wrong, so that what else is wrong with it can be told in the same run.

    Where a field is missing, the item of a list that should have it goes too.
    """
    import copy  # noqa: PLC0415 - only for objects with errors

    pruned: dict[str, Any] = copy.deepcopy(data)
    doomed = set()
    for violation in violations:
        path = violation.path
        if path[-1:] == ("containers",):
            continue  # a worker without any would be told to have none
        if path[-1:] == ("hardExampleMining",) and violation.rule == "missing-field":
            # Nothing else is decided by it: the rest of the service can be looked at.
            pruned["spec"]["edgeWorker"]["hardExampleMining"] = {"name": ""}
            continue
        if violation.rule == "missing-field":
            while path and not isinstance(path[-1], int):
                path = path[:-1]
        if path:
            doomed.add(path)
    # Items of lists from the last to the first, so that the others keep their places.
    for path in sorted(doomed, key=lambda path: [(str(type(step)), step) for step in path], reverse=True):
        _remove(pruned, path)
    return pruned


def _remove(data: Any, path: Path) -> None:
    for step in path[:-1]:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return
    with contextlib.suppress(KeyError, IndexError, TypeError):
        if len(path) > 1 and path[-2] in _STAND_INS:
            data[path[-1]] = _stand_in(data[path[-1]], *path[-2:])
        elif path[-1] == "image" and path[-3] in _CONTAINERS:
            data["image"] = _UNKNOWN
        else:
            del data[path[-1]]


def _stand_in(item: Any, kind: str | int, index: str | int) -> dict[str, str]:
    """What takes the place of a container or volume: without it others would be told that it is not there."""
    given = item if isinstance(item, dict) else {}
    name, image = given.get("name"), given.get("image")
    stand_in = {"name": name if isinstance(name, str) else f"{kind}-{index}".lower()}
    if kind in _CONTAINERS:
        stand_in["image"] = image if isinstance(image, str) else _UNKNOWN
    return stand_in


def escaped_controls(origin: Origin, data: Any, path: Path) -> Iterator[Finding]:
    """Control characters that were written as escapes: legal, and hardly ever meant."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from escaped_controls(origin, value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from escaped_controls(origin, value, (*path, index))
    elif isinstance(data, str) and (found := _CONTROL.search(data)):
        yield origin.warning(
            "control-character",
            path,
            f"the text holds the control character U+{ord(found[0]):04X}",
            "take the escape out, unless the program that reads the text wants it",
        )


def quoted(value: str) -> str:
    """A value as a message quotes it: in quotes, and not longer than a line."""
    text = value if len(value) <= LONGEST_QUOTE else f"{value[: LONGEST_QUOTE - 1]}…"
    return f'"{text}"'
