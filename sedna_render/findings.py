"""What is wrong with an input: where, in which object, in which field, and how to mend it.

A leaf: every other module may import it, it imports none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ERROR = "error"
WARNING = "warning"
INFO = "info"
#: Characters of a line of a message at most.
LONGEST_LINE = 2000

#: The steps from the top of an object to one of its values: field names and list indexes.
Path = tuple[str | int, ...]

_PLAIN_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class Location(NamedTuple):
    """A place in an input file; lines and columns count from 1, a line of 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Finding(NamedTuple):
    """One thing that is wrong, or worth knowing, about an input."""

    rule: str
    severity: str
    location: Location
    subject: str
    field: str
    message: str
    remedy: str

    @property
    def is_error(self) -> bool:
        return self.severity == ERROR

    def text(self) -> str:
        """The finding as a person reads it: one line, and a second one with the remedy."""
        parts = [part for part in (self.subject, self.field, self.message) if part]
        first = one_line(f"{self.location}: {self.severity}[{self.rule}]: {': '.join(parts)}")
        return f"{first}\n  help: {one_line(self.remedy)}" if self.remedy else first


class InputError(Exception):
    """Raised by a step that cannot go on without the input that its findings describe."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__("\n".join(finding.text() for finding in findings))
        self.findings = findings


def one_line(text: str) -> str:
    """A text that stays on its line whatever was quoted in it: nothing of an input can pass for a message of ours."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - 1]}…"
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def field_text(path: Path) -> str:
    """A path as Kubernetes writes it: ``spec.containers[0].env[1].value``.

    >>> field_text(("metadata", "annotations", "a.b/c"))
    'metadata.annotations["a.b/c"]'
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_FIELD.match(step):
            text += f".{step}" if text else step
        else:
            import json  # noqa: PLC0415 - only for keys that no Kubernetes field has

            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The findings sorted by place, errors of one place first, each only once."""
    return sorted(
        set(findings),
        key=lambda found: (found.location, found.severity != ERROR, found.rule, found),
    )
