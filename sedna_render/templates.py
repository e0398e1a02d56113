"""Templates: text with Jinja2 expressions in, data out. Pure: the texts are an argument.

A value never enters the text of a template. Each expression becomes a mark, the text is parsed as YAML, and the marks
are then replaced in the parsed data: no value can break or inject YAML, or change its type.

A template that only prints plain variables (``{{ name }}``) needs no Jinja2 at all: its text is parsed once and filled
for every service. Any other is rendered by Jinja2's sandbox for each service with the real values. Both ways end in the
same two steps, ``_compile`` and fill, and a test holds them to the same bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render import yaml_reader
from sedna_render.findings import ERROR, Finding, InputError, Location, field_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import jinja2

    from sedna_render.findings import Path

    Fill = Callable[[Sequence[Any]], Any]

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

    def __init__(self, source: TemplateText, environment: Callable[[], _Jinja]) -> None:
        self._source = source
        self._environment = environment
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
        if self._plain is None:
            self._plain = self._parse_plain(values)
        names, fill = self._plain
        data = fill([values[name] for name in names])
        unverified, self._verified = not self._verified, True
        return Filled(data, self, unverified)

    def render(self, values: Mapping[str, Any]) -> Filled:
        """The same through Jinja2, whatever the template holds."""
        jinja = self._environment()
        try:
            text, printed, mark = jinja.render(self._source, values, self)
            fill = self._compile(text, mark)
            data = fill(printed)
        except _NestedValueError as problem:
            raise InputError(self._nested(problem)) from problem
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
        mark = _mark(text)
        marked = _EXPRESSION.sub(lambda match: f"{mark}{names.index(match[1])}.", text)
        fill = self._compile(marked, mark)
        try:
            fill([values[name] for name in names])
        except _NestedValueError as problem:
            raise InputError(self._nested(problem)) from problem
        return names, fill

    def _compile(self, text: str, mark: str) -> Fill:
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
        fill = _compile(documents[0].data, re.compile(re.escape(mark) + r"(\d+)\."), ())
        return fill if fill is not None else _nothing

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

    def _nested(self, problem: _NestedValueError) -> Finding:
        return self.error(
            "a list or a mapping stands inside other text",
            "let the expression stand alone as the whole value of its field",
            self.line_of(problem.path),
            field_text(problem.path),
        )

    def _template_line(self, rendered_line: int) -> int:
        """The template's line that most likely printed a line of the rendered text."""
        lines = self._rendered.splitlines()
        if not 0 < rendered_line <= len(lines):
            return 0
        for number, line in enumerate(self._source.text.splitlines(), start=1):
            parts = re.split(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", line)
            pattern = ".*".join(re.escape(part.rstrip()) for part in parts)
            if pattern.replace(".*", "").strip() and re.fullmatch(pattern + r"\s*", lines[rendered_line - 1]):
                return number
        return 0


class Templates:
    """All templates of a run by name."""

    def __init__(self, texts: Mapping[str, TemplateText]) -> None:
        self._texts = dict(texts)
        self._ready: dict[str, Template] = {}
        self._jinja: _Jinja | None = None

    def __getitem__(self, name: str) -> Template:
        template = self._ready.get(name)
        if template is None:
            template = self._ready[name] = Template(self._texts[name], self._environment)
        return template

    def _environment(self) -> _Jinja:
        if self._jinja is None:
            self._jinja = _Jinja(self._texts)
        return self._jinja


class _Jinja:
    """Jinja2's sandbox, imported only when a template needs more than plain variables."""

    def __init__(self, texts: Mapping[str, TemplateText]) -> None:
        import jinja2  # noqa: PLC0415 - 50 ms that a run with the shipped templates does not pay
        from jinja2 import sandbox  # noqa: PLC0415

        self._jinja2 = jinja2
        self._printed: list[Any] = []
        self._mark = ""

        @jinja2.pass_context  # or constants would be printed when the template is compiled, before there is a mark
        def finalize(_context: jinja2.runtime.Context, value: Any) -> str:
            return self._print(value)

        self._environment = sandbox.ImmutableSandboxedEnvironment(
            loader=jinja2.DictLoader({name: source.text for name, source in texts.items()}),
            undefined=jinja2.StrictUndefined,
            finalize=finalize,
            keep_trailing_newline=True,
            autoescape=False,  # YAML, and no value ever enters the text
        )
        # The only two sources of chance in Jinja2: a manifest that differs at every render is of no use.
        del self._environment.filters["random"]
        del self._environment.globals["lipsum"]

    def _print(self, value: Any) -> str:
        if isinstance(value, self._jinja2.Undefined):
            str(value)  # StrictUndefined raises its own error here
        self._printed.append(value)
        return f"{self._mark}{len(self._printed) - 1}."

    def render(
        self, source: TemplateText, values: Mapping[str, Any], template: Template
    ) -> tuple[str, list[Any], str]:
        """The rendered text, the values that its marks stand for, and the mark."""
        self._printed = []
        self._mark = _mark(source.text, repr(values).replace(r"\ue000", "\ue000"))
        try:
            text = self._environment.get_template(source.name).render(values)
        except self._jinja2.TemplateSyntaxError as problem:
            raise InputError(
                template.error(f"not a valid template: {problem.message}", _SYNTAX, problem.lineno)
            ) from problem
        except self._jinja2.UndefinedError as problem:
            if undefined := re.match(r"'(\w+)' is undefined", str(problem)):
                raise InputError(
                    template.undefined(undefined[1], values, _line_in_template(problem))
                ) from problem
            known = sorted(key for key in values if not key.startswith("_"))
            raise InputError(
                template.error(
                    f"{problem.message} (there are: {', '.join(known)})",
                    f"use one of the variables that docs/templates.md lists for {source.name}",
                    _line_in_template(problem),
                )
            ) from problem
        except Exception as problem:
            # An expression of the user's may fail in any way that Python can.
            raise InputError(
                template.error(
                    f"{type(problem).__name__}: {problem}", "mend the expression", _line_in_template(problem)
                )
            ) from problem
        printed: list[Any] = []
        for value in self._printed:
            printed.append(self._resolved(value, printed))
        return text, printed, self._mark

    def _resolved(self, value: Any, earlier: Sequence[Any]) -> Any:
        """A captured text ({% set %}, a macro) holds marks of what was printed earlier: put those values in."""
        if not isinstance(value, str):
            return value

        def earlier_text(match: re.Match[str]) -> str:
            index = int(match[1])
            return _as_text(earlier[index], ()) if index < len(earlier) else match[0]

        return re.sub(re.escape(self._mark) + r"(\d+)\.", earlier_text, str(value))


_SYNTAX = "see docs/templates.md; {{ name }} prints a variable, {% if name %} … {% endif %} chooses"


class _NestedValueError(ValueError):
    def __init__(self, path: Path) -> None:
        super().__init__(field_text(path))
        self.path = path


def _compile(data: Any, marks: re.Pattern[str], path: Path) -> Fill | None:
    """A function from values to this data with the marks replaced; None when there is nothing to leave (null)."""
    if data is None:
        return None
    if isinstance(data, dict):
        return _compile_mapping(data, marks, path)
    if isinstance(data, list):
        return _compile_list(data, marks, path)
    if isinstance(data, str) and marks.search(data):
        return _compile_text(data, marks, path)
    return _constant(data)


def _compile_mapping(data: dict[str, Any], marks: re.Pattern[str], path: Path) -> Fill:
    if any(marks.search(key) for key in data):
        raise _NestedValueError(path)
    fills = {key: _compile(value, marks, (*path, key)) for key, value in data.items()}
    ready = {key: fill for key, fill in fills.items() if fill is not None}
    constants = {key: fill(()) for key, fill in ready.items() if hasattr(fill, "constant")}
    whole = [(key, fill.index) for key, fill in ready.items() if hasattr(fill, "index")]
    others = [
        (key, fill)
        for key, fill in ready.items()
        if not hasattr(fill, "constant") and not hasattr(fill, "index")
    ]
    if not whole and not others:
        return _constant(constants)

    def fill_mapping(values: Sequence[Any]) -> dict[str, Any]:
        filled = constants.copy()
        for key, index in whole:
            value = values[index]
            if value is not None:
                filled[key] = value
        for key, fill in others:
            value = fill(values)
            if value is not None:
                filled[key] = value
        return filled

    return fill_mapping


def _compile_list(data: list[Any], marks: re.Pattern[str], path: Path) -> Fill:
    fills = [
        (item, fill) for i, item in enumerate(data) if (fill := _compile(item, marks, (*path, i))) is not None
    ]
    if all(hasattr(fill, "constant") for _, fill in fills):
        return _constant([fill(()) for _, fill in fills])
    if path and path[-1] == "env":
        items = [_whole_or_nothing(fill, _indexes(item, marks)) for item, fill in fills]
    else:
        items = [fill for _, fill in fills]

    def fill_list(values: Sequence[Any]) -> list[Any]:
        return [value for fill in items if (value := fill(values)) is not None]

    return fill_list


def _whole_or_nothing(fill: Fill, needs: Sequence[int]) -> Fill:
    """An env entry that prints a null is left out: it has no value to give."""
    if not needs:
        return fill
    first, *others = needs

    def fill_entry(values: Sequence[Any]) -> Any:
        if values[first] is None or any(values[index] is None for index in others):
            return None
        return fill(values)

    return fill_entry


def _indexes(data: Any, marks: re.Pattern[str]) -> tuple[int, ...]:
    """The values that an entry prints: one that prints a null is left out whole."""
    if isinstance(data, dict):
        return tuple(index for value in data.values() for index in _indexes(value, marks))
    if isinstance(data, list):
        return tuple(index for value in data for index in _indexes(value, marks))
    return tuple(int(index) for index in marks.findall(data)) if isinstance(data, str) else ()


def _compile_text(text: str, marks: re.Pattern[str], path: Path) -> Fill:
    whole = marks.fullmatch(text)
    if whole:
        return _hole(int(whole[1]))
    parts = marks.split(text)

    def fill_text(values: Sequence[Any]) -> str:
        texts = [
            part if position % 2 == 0 else _as_text(values[int(part)], path)
            for position, part in enumerate(parts)
        ]
        return "".join(texts)

    return fill_text


def _as_text(value: Any, path: Path) -> str:
    if isinstance(value, (dict, list)):
        raise _NestedValueError(path)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _hole(index: int) -> Fill:
    def fill_hole(values: Sequence[Any]) -> Any:
        return values[index]

    fill_hole.index = index  # type: ignore[attr-defined]
    return fill_hole


def _constant(data: Any) -> Fill:
    def fill_constant(_values: Sequence[Any]) -> Any:
        return data

    fill_constant.constant = True  # type: ignore[attr-defined]
    return fill_constant


def _nothing(_values: Sequence[Any]) -> Any:
    return {}


def _mark(*texts: str) -> str:
    """A text that occurs in none of the texts and that YAML reads as part of a plain string.

    Of private-use characters: no filter that changes case can make it out of a value, or break it.
    """
    mark = "\ue000"
    while any(mark in text for text in texts):
        mark += "\ue000"
    return mark


def _first(name: str, text: str) -> str:
    return next(match[0] for match in _EXPRESSION.finditer(text) if match[1] == name)


def _line_in_template(problem: BaseException) -> int:
    """The line of the template in which an exception was raised: Jinja2 rewrites the frames."""
    line, trace = 0, problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _near(name: str, known: Sequence[str]) -> str:
    import difflib  # noqa: PLC0415 - only when an error is being worded

    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
