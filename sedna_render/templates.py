"""Templates: text with Jinja2 expressions in, data out. Pure: the texts are an argument.

A value never enters the text of a template. Each expression becomes a mark, the text is parsed as YAML, and the marks
are then replaced in the parsed data: no value can break or inject YAML, or change its type.

A template that only prints plain variables (``{{ name }}``) needs no Jinja2 at all: its text is parsed once and filled
for every service. Any other is rendered by Jinja2's sandbox for each service with the real values. Both ways end in the
same two steps, ``skeleton`` and fill, and a test holds them to the same bytes.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render import yaml_reader
from sedna_render.findings import ERROR, Finding, InputError, Location, field_text
from sedna_render.template_skeleton import NestedValueError, mark_for, skeleton

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sedna_render.findings import Path
    from sedna_render.jinja_sandbox import Printed, Sandbox, SandboxError
    from sedna_render.template_skeleton import Fill

RULE = "template"

_EXPRESSION = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}")
_JINJA = re.compile(r"\{\{|\{%|\{#|\}\}|%\}|#\}")


class TemplateText(NamedTuple):
    """One template as read: its name (``pod.yaml``), where it was found, its text."""

    name: str
    shown_path: str
    text: str


class Filled(NamedTuple):
    """What a template gave: the data, and the template for messages about it."""

    data: dict[str, Any]
    template: Template
    #: True the first time that a plain template is filled, and always for others: the data is to be verified.
    unverified: bool

    def error(self, path: Path, message: str, remedy: str) -> Finding:
        """A finding about a place in the template that made this data."""
        return self.template.error(message, remedy, self.template.line_of(path), field_text(path))


class Template:
    """One template, made ready on first use."""

    def __init__(self, source: TemplateText, templates: Templates) -> None:
        self._source = source
        self._templates = templates
        self._plain: tuple[tuple[str, ...], Fill] | None = None
        self._document: yaml_reader.Document | None = None
        self._rendered = ""
        self._verified = False
        self._is_plain = not _JINJA.search(_EXPRESSION.sub("", source.text))

    def fill(self, values: Mapping[str, Any]) -> Filled:
        """The template's data with these values.

        Raises InputError, which names the template and the line, when the template is not right.
        """
        if not self._is_plain:
            return self.render(values)
        try:
            if self._plain is None:
                self._plain = self._parse_plain(values)
            names, fill = self._plain
            data = fill([values[name] for name in names])
        except NestedValueError as problem:
            raise InputError(self._nested(problem)) from problem
        unverified, self._verified = not self._verified, True
        return Filled(data, self, unverified)

    def render(self, values: Mapping[str, Any]) -> Filled:
        """The same through Jinja2, whatever the template holds."""
        try:
            text, printed, mark = self._templates.render(self._source.name, values)
            data = self._parse(text, mark)(printed)
        except NestedValueError as problem:
            raise InputError(self._nested(problem)) from problem
        if foreign := _foreign(data, ()):
            path, kind = foreign
            message = f"an expression gives a {kind}, which YAML does not have"
            remedy = "give text, numbers, true or false, lists (| list) or mappings with names as keys"
            raise InputError(self.error(message, remedy, self.line_of(path), field_text(path)))
        return Filled(data, self, unverified=True)

    def error(self, message: str, remedy: str, line: int = 0, field: str = "") -> Finding:
        """A finding about this template, at a line of it."""
        location = Location(self._source.shown_path, line, 1 if line else 0)
        return Finding(RULE, ERROR, location, f"template {self._source.name}", field, message, remedy)

    def line_of(self, path: Path) -> int:
        """The template's line, counted from 1, that gave the value at this path; 0 when it cannot be told."""
        if self._document is None:
            return 0
        rendered_line = self._document.locate(path).line
        return rendered_line if self._is_plain else self._template_line(rendered_line)

    def _parse_plain(self, values: Mapping[str, Any]) -> tuple[tuple[str, ...], Fill]:
        text = self._source.text
        names = tuple(dict.fromkeys(_EXPRESSION.findall(text)))
        for name in names:
            if name not in values:
                line = text.count("\n", 0, text.index(_first(name, text))) + 1
                raise InputError(self.undefined(name, values, line))
        mark = mark_for(text)
        marked = _EXPRESSION.sub(lambda match: f"{mark}{names.index(match[1])}.", text)
        return names, self._parse(marked, mark)

    def _parse(self, text: str, mark: str) -> Fill:
        self._rendered = text
        source = yaml_reader.Source(self._source.shown_path, text.encode())
        documents, findings = yaml_reader.read(source)
        self._document = documents[0] if documents else None
        if findings:
            raise InputError(*(self._unreadable(finding, mark) for finding in findings))
        if len(documents) != 1 or not isinstance(documents[0].data, dict):
            shown = f"{len(documents)} YAML documents" if len(documents) != 1 else "not a mapping"
            raise InputError(
                self.error(
                    f"the template gives {shown} where exactly one object is wanted",
                    "leave one document with fields in the template; start from the file that ships",
                )
            )
        return skeleton(documents[0].data, re.compile(re.escape(mark) + r"(\d+)\."))

    def _unreadable(self, finding: Finding, mark: str) -> Finding:
        line = finding.location.line
        message = re.sub(re.escape(mark) + r"\d+\.", "{{ … }}", finding.message)
        line = line if self._is_plain else self._template_line(line)
        return self.error(message, finding.remedy, line, finding.field)

    def undefined(self, name: str, values: Mapping[str, Any], line: int) -> Finding:
        """A finding about a variable that there is not."""
        known = sorted(key for key in values if not key.startswith("_"))
        return self.error(
            f"no variable {name} here (there are: {', '.join(known)})",
            f"use one of the variables that docs/templates.md lists for {self._source.name}{_near(name, known)}",
            line,
        )

    def _nested(self, problem: NestedValueError) -> Finding:
        if problem.in_key:
            return self.error(
                "an expression stands in the name of a field",
                "write the name out, or let an expression give the whole mapping",
                self.line_of(problem.path),
                field_text(problem.path),
            )
        return self.error(
            "a list or a mapping stands inside other text",
            "let the expression stand alone as the whole value of its field",
            self.line_of(problem.path),
            field_text(problem.path),
        )

    def _template_line(self, rendered_line: int) -> int:
        """The template's line that most likely printed a line of the rendered text.

        Lines are printed in the order of the template, but for loops, which begin anew.
        """
        patterns = [_line_pattern(line) for line in self._source.text.splitlines()]
        number = 0
        for line in self._rendered.splitlines()[:rendered_line]:
            ahead = [*range(number, len(patterns)), *range(number)]
            number = next((i + 1 for i in ahead if patterns[i].fullmatch(line)), number)
        return number


class Templates:
    """All templates of a run by name."""

    def __init__(self, texts: Mapping[str, TemplateText]) -> None:
        self._texts = dict(texts)
        self._ready: dict[str, Template] = {}
        self._sandbox: Sandbox | None = None

    def __getitem__(self, name: str) -> Template:
        template = self._ready.get(name)
        if template is None:
            template = self._ready[name] = Template(self._texts[name], self)
        return template

    def render(self, name: str, values: Mapping[str, Any]) -> Printed:
        """A template's text by Jinja2. Raises InputError, which names the template that is not right."""
        # 50 ms that a run with the shipped templates does not pay.
        from sedna_render import jinja_sandbox  # noqa: PLC0415

        if self._sandbox is None:
            texts = {name: source.text for name, source in self._texts.items()}
            self._sandbox = jinja_sandbox.Sandbox(texts)
        try:
            return self._sandbox.render(name, values)
        except jinja_sandbox.SandboxError as problem:
            raise InputError(self._finding(problem, values)) from problem

    def _finding(self, problem: SandboxError, values: Mapping[str, Any]) -> Finding:
        template = self[problem.template if problem.template in self._texts else min(self._texts)]
        if problem.undefined:
            return template.undefined(problem.undefined, values, problem.line)
        return template.error(str(problem), _SYNTAX, problem.line)


_SYNTAX = "see docs/templates.md; {{ name }} prints a variable, {% if name %} … {% endif %} chooses"


def _line_pattern(line: str) -> re.Pattern[str]:
    """What a line of a template can print; nothing, for one of statements only."""
    parts = re.split(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", line)
    return re.compile(".*".join(re.escape(part.rstrip()) for part in parts) + r"\s*")


def _foreign(data: Any, path: Path) -> tuple[Path, str] | None:
    """The place and the type of something that is not plain data; None when all of it is."""
    if isinstance(data, dict):
        for key, value in data.items():
            found = (path, f"mapping with a {type(key).__name__} as key") if type(key) is not str else None
            if found := found or _foreign(value, (*path, key)):
                return found
        return None
    if isinstance(data, list):
        return next(filter(None, (_foreign(item, (*path, index)) for index, item in enumerate(data))), None)
    if isinstance(data, float) and not math.isfinite(data):
        return path, "number that is not finite"
    return None if data is None or isinstance(data, str | int | float) else (path, type(data).__name__)


def _first(name: str, text: str) -> str:
    return next(match[0] for match in _EXPRESSION.finditer(text) if match[1] == name)


def _near(name: str, known: Sequence[str]) -> str:
    import difflib  # noqa: PLC0415 - only when an error is being worded

    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
