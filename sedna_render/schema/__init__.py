"""Is a document what its kind's schema says: everything that departs from it, as the API server would refuse it.

The public door of the validator (``closures``) and its words (``wording``). Pure but for reading its own
schema files; imports nothing slow. Values of secrets are never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render.findings import ERROR, WARNING, Path
from sedna_render.schema import closures

if TYPE_CHECKING:
    from sedna_render.schema.closures import Problem, Schema

_SERVICE = "joint_inference_service.json"
_FILES = {
    "Pod": "pod.json",
    "Deployment": "deployment.json",
    "Service": "service.json",
    "HorizontalPodAutoscaler": "horizontal_pod_autoscaler.json",
}
#: Schema files by the kind that they describe.
FILES = _FILES | {
    "JointInferenceService": _SERVICE,
    "Model": "model.json",
    "Node": "node.json",
    "Secret": "secret.json",
    "RenderConfig": "config.json",
}
#: Where a pod spec lies; None stands for either worker. Unknown fields below it survive, with a warning.
_POD_SPECS: dict[str, tuple[str | None, ...]] = {
    _SERVICE: ("spec", None, "template", "spec"),
    "pod.json": ("spec",),
    "deployment.json": ("spec", "template", "spec"),
}

#: Unknown fields beyond so many in one document get no guess at what was meant: guessing takes a millisecond.
_GUESSED = 100


class Violation(NamedTuple):
    """One departure from the schema; `at_key` says whether the place to show is the key or its value."""

    path: Path
    at_key: bool
    rule: str
    severity: str
    message: str
    remedy: str


_GENERATE_NAME = Violation(
    ("metadata", "generateName"),
    at_key=True,
    rule="generate-name",
    severity=ERROR,
    message="git cannot know a generated name (a fixed metadata.name would be right)",
    remedy="write name in place of generateName",
)


def check_service(data: dict[str, Any]) -> list[Violation]:
    """What is wrong with the shape of a JointInferenceService; that a pod has containers is checked elsewhere."""
    problems = closures.check(_SERVICE, data)
    if not problems and not _is_old_group(data):
        return []
    old, others = _old(data, problems)
    return old + [found for found in _violations(_SERVICE, data, others) if not _is_no_containers(found)]


def check_model(data: dict[str, Any]) -> list[Violation]:
    """What is wrong with the shape of a Model."""
    problems = closures.check("model.json", data)
    if not problems and not _is_old_group(data):
        return []
    old, others = _old(data, problems)
    return old + _violations("model.json", data, others)


def check_node(data: dict[str, Any]) -> list[Violation]:
    """What is wrong with the parts of a Node that this program reads; others are not looked at."""
    return _checked("node.json", data)


def check_secret(data: dict[str, Any]) -> list[Violation]:
    """What is wrong with the shape of a Secret; its values are not looked at."""
    return _checked("secret.json", data)


def check_config(data: dict[str, Any]) -> list[Violation]:
    """What is wrong with the shape of a RenderConfig."""
    return _checked("config.json", data)


def check_manifest(manifest: dict[str, Any]) -> list[Violation]:
    """What is wrong with the shape of a rendered object; nothing for a kind that this program does not render."""
    file = _FILES.get(str(manifest.get("kind")))
    return _checked(file, manifest) if file else []


def _checked(file: str, data: dict[str, Any]) -> list[Violation]:
    problems = closures.check(file, data)
    return _violations(file, data, problems) if problems else []


def _is_no_containers(found: Violation) -> bool:
    return found.rule == "missing-field" and found.path[-3:] == ("template", "spec", "containers")


def _is_old_group(data: Any) -> bool:
    version = data.get("apiVersion") if isinstance(data, dict) else None
    return isinstance(version, str) and version.startswith(("neptune.io/", "edgeai.io/"))


def _old(data: Any, problems: list[Problem]) -> tuple[list[Violation], list[Problem]]:
    """One finding if the document has an old form, and the problems that this does not explain."""
    from sedna_render.schema import old_form  # noqa: PLC0415 - only old or broken documents need it

    old = old_form.find(data) if isinstance(data, dict) else None
    if old is None:
        return [], problems
    others = [problem for problem in problems if problem.path[:2] not in old.explains]
    return [Violation(old.path, old.at_key, "old-schema", ERROR, old.message, old.remedy)], others


def _violations(file: str, data: Any, problems: list[Problem]) -> list[Violation]:
    """The problems in words; two of one cause (a field misspelt, and missing) as one."""
    from sedna_render.schema import misplaced, wording  # noqa: PLC0415 - only broken documents need them

    top = closures.root(file)
    unknown = [problem.path for problem in problems if problem.what == closures.UNKNOWN]
    guesses = {path: misplaced.guess(top, path) for path in unknown[:_GUESSED]}
    missing = {problem.path for problem in problems if problem.what == closures.MISSING}
    meant = {guess.path: path for path, guess in guesses.items() if guess and guess.path in missing}
    found = []
    for problem in problems:
        path = problem.path
        if problem.what == closures.MISSING and path in meant:
            continue
        if path == ("metadata", "name") and path in missing and data["metadata"].get("generateName"):
            found.append(_GENERATE_NAME)
            continue
        severity = ERROR
        if problem.what == closures.UNKNOWN and _is_in_pod_spec(file, path) and path not in meant.values():
            severity = WARNING
        rule, message, remedy = wording.words(top, problem, guesses.get(path))
        at_key = problem.what in {closures.UNKNOWN, closures.MISSING}
        found.append(Violation(path, at_key, rule, severity, message, remedy))
    return found


def _is_in_pod_spec(file: str, path: Path) -> bool:
    place = _POD_SPECS.get(file)
    return (
        place is not None
        and len(path) > len(place)
        and all(wanted in (None, step) for wanted, step in zip(place, path, strict=False))
    )


def json_schema(kind: str) -> Schema:
    """A self-contained JSON schema (draft 7) of a kind, for editors and kubeconform; KeyError for an unknown kind."""
    from sedna_render.schema import bundle  # noqa: PLC0415 - only one command needs it

    return bundle.bundle(FILES[kind])
