"""Jinja2's sandbox: a template's text and values in; text with marks, and the values they stand for, out.

The only module that imports Jinja2, and only when a template holds more than plain variables. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
from jinja2 import sandbox

from sedna_render.template_skeleton import mark_for, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Printed(NamedTuple):
    """A rendered text: each printed value is a mark, its index and a dot."""

    text: str
    values: list[Any]
    mark: str


class SandboxError(Exception):
    """A template that Jinja2 cannot render."""

    def __init__(self, message: str, template: str, line: int, undefined: str = "") -> None:
        """``template`` and ``line`` are where it happened, which may be in an included template.

        ``undefined`` is the variable that there is not, if that is what is wrong.
        """
        super().__init__(message)
        self.template = template
        self.line = line
        self.undefined = undefined


class Sandbox:
    """All templates of a run, ready to be rendered."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._printed: list[Any] = []
        self._mark = ""

        @jinja2.pass_context  # or constants would be printed when the template is compiled, before there is a mark
        def finalize(_context: jinja2.runtime.Context, value: Any) -> str:
            return self._print(value)

        self._texts = texts
        self._environment = sandbox.ImmutableSandboxedEnvironment(
            loader=jinja2.DictLoader(texts),
            undefined=jinja2.StrictUndefined,
            finalize=finalize,
            keep_trailing_newline=True,
            autoescape=False,  # YAML, and no value ever enters the text
        )
        # The only two sources of chance in Jinja2: a manifest that differs at every render is of no use.
        del self._environment.filters["random"]
        del self._environment.globals["lipsum"]

    def render(self, name: str, values: Mapping[str, Any]) -> Printed:
        """The template's text with these values. Raises SandboxError, and NestedValueError."""
        self._printed = []
        self._mark = mark_for(*self._texts.values(), repr(values).replace(r"\ue000", "\ue000"))
        try:
            text = self._environment.get_template(name).render(values)
        except jinja2.TemplateSyntaxError as problem:
            message = f"not a valid template: {problem.message}"
            raise SandboxError(message, problem.name or name, problem.lineno) from problem
        except jinja2.UndefinedError as problem:
            missing = re.match(r"'(\w+)' is undefined", str(problem))
            template, line = _place(problem, name)
            raise SandboxError(
                str(problem.message), template, line, missing[1] if missing else ""
            ) from problem
        except Exception as problem:
            # An expression of the user's may fail in any way that Python can.
            raise SandboxError(f"{type(problem).__name__}: {problem}", *_place(problem, name)) from problem
        printed: list[Any] = []
        for value in self._printed:
            printed.append(self._resolved(value, printed))
        return Printed(text, printed, self._mark)

    def _print(self, value: Any) -> str:
        if isinstance(value, jinja2.Undefined):
            str(value)  # StrictUndefined raises its own error here
        self._printed.append(value)
        return f"{self._mark}{len(self._printed) - 1}."

    def _resolved(self, value: Any, earlier: Sequence[Any]) -> Any:
        """A captured text ({% set %}, a macro) holds marks of what was printed earlier: put those values in."""
        if not isinstance(value, str):
            return value

        def earlier_text(match: re.Match[str]) -> str:
            index = int(match[1])
            return text_of(earlier[index], ()) if index < len(earlier) else match[0]

        return re.sub(re.escape(self._mark) + r"(\d+)\.", earlier_text, str(value))


def _place(problem: BaseException, name: str) -> tuple[str, int]:
    """The template and the line in which an exception was raised: Jinja2 rewrites the frames."""
    line, trace = 0, problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            name, line = trace.tb_frame.f_globals.get("name") or name, trace.tb_lineno
        trace = trace.tb_next
    return name, line
