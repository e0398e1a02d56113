"""Says in a person's words what libyaml found wrong with a text, where the mistake is, and its remedy. Pure.

Never repeats a value: the text may be a Secret's. Names of fields and well-known stray words are shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_render.findings import WARNING
from sedna_render.yaml_builder import TOO_DEEP
from sedna_render.yaml_text import Mark, Problem

if TYPE_CHECKING:
    from sedna_render.findings import Path

DIRECTIVE = "directives (%YAML, %TAG) are refused by Kubernetes"
NUL = "the character NUL must not stand in a string, not as an escape either"

_STRAY_WORDS = ("EOF", "EOT", "END", "EOL", "YAML")
_KEY_WITHOUT_SPACE = re.compile(r"[ \t-]*([A-Za-z_][\w./-]{0,62}):(?=[^\s:/])")
_QUOTE_IT = 'put the value in double quotes: "..."'


class Fault(NamedTuple):
    """A syntax error: the offset of the mistake, where the parser stopped, and the words for it."""

    offset: int
    stopped_at: int
    message: str
    remedy: str


def syntax_fault(text: str, error: Any) -> Fault:
    """What a ``yaml.YAMLError`` of this text means."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return Fault(0, len(text), "this is not YAML", "save the file as plain UTF-8 text")
    context = getattr(error, "context_mark", None)
    stopped_at = min(mark.index, len(text))
    started_at = min(context.index, len(text)) if context is not None else stopped_at
    for judge in (_stray_word, _tab, _open_quote, _no_space_after_colon, _by_message):
        fault = judge(text, str(error.problem), str(error.context or ""), started_at, stopped_at)
        if fault is not None:
            return Fault(fault[0], stopped_at, fault[1], fault[2])
    return Fault(stopped_at, stopped_at, f"this is not YAML: {error.problem}", "")


_Judgement = tuple[int, str, str] | None


def _line_at(text: str, offset: int) -> tuple[int, str]:
    """Where the line of this offset starts, and the line."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", start)
    return start, text[start : len(text) if end < 0 else end].rstrip("\r")


def _lines_before(text: str, offset: int) -> list[tuple[int, str]]:
    """The line of the offset and the one before it that is not blank."""
    start, line = _line_at(text, offset)
    found = [(start, line)]
    while start > 0:
        start, line = _line_at(text, start - 1)
        if line.strip():
            return [*found, (start, line)]
    return found


def _stray_word(text: str, _problem: str, _context: str, started_at: int, stopped_at: int) -> _Judgement:
    for offset in (started_at, stopped_at):
        for start, line in _lines_before(text, offset):
            if line.strip() in _STRAY_WORDS:
                word = line.strip()
                return (
                    start,
                    f"the line '{word}' is no part of the YAML",
                    f"delete the line '{word}', left over from a shell command",
                )
    return None


def _tab(text: str, problem: str, _context: str, _started_at: int, stopped_at: int) -> _Judgement:
    for start, line in _lines_before(text, stopped_at):
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent:
            return (
                start + indent.index("\t"),
                "the line is indented with a tab",
                "indent with spaces: YAML allows no tabs there",
            )
    if "cannot start any token" in problem and text[stopped_at : stopped_at + 1] == "\t":
        return stopped_at, "a tab stands where a value is expected", "use spaces instead of the tab"
    return None


def _open_quote(text: str, problem: str, context: str, started_at: int, stopped_at: int) -> _Judgement:
    if "quoted scalar" not in context:
        if "expected key" in problem or "expected ',' or" in problem:
            return _text_after_quote(text, stopped_at)
        return None
    if "unexpected end of stream" in problem or "document indicator" in problem:
        return (
            started_at,
            "the quote that opens here is never closed",
            "close the quote at the end of the value",
        )
    if "escape" in problem or "hexdecimal" in problem:
        remedy = "write \\\\ for a backslash, or put the value in single quotes"
        return stopped_at, "after a backslash stands something that is no escape of YAML", remedy
    return None


def _text_after_quote(text: str, stopped_at: int) -> _Judgement:
    start, line = _line_at(text, stopped_at)
    before = line[: stopped_at - start].rstrip()
    if before[-1:] in ("'", '"') and line[stopped_at - start :].strip():
        quote = before[-1]
        remedy = (
            "write '' for a quote inside single quotes"
            if quote == "'"
            else 'write \\" for a quote inside double quotes'
        )
        return (
            stopped_at,
            "text follows a closing quote",
            f"{remedy}, or close the quote at the end of the value",
        )
    return None


def _no_space_after_colon(
    text: str, problem: str, _context: str, started_at: int, stopped_at: int
) -> _Judgement:
    if "could not find expected ':'" not in problem and "mapping values are not allowed" not in problem:
        return None
    for offset in (started_at, stopped_at):
        for start, line in _lines_before(text, offset):
            match = _KEY_WITHOUT_SPACE.match(line)
            if match:
                # Not by its text: where a value lost its indentation, it may be half of a password.
                return (
                    start + match.start(1),
                    "no space follows the colon",
                    "write a space behind the colon",
                )
    return None


_MESSAGES = (
    (
        "mapping values are not allowed",
        "a ': ' stands where no field can begin",
        "indent the line like the fields beside it; put a value that holds ': ' in double quotes",
    ),
    (
        "could not find expected ':'",
        "the line is neither 'field: value' nor a list item",
        "add the missing ':', indent the line if it belongs to the value above, or delete it",
    ),
    (
        "did not find expected key",
        "the line is not indented like the lines before it",
        "indent fields of one mapping alike, and those below a field deeper than it",
    ),
    (
        "did not find expected '-' indicator",
        "a list item is expected here",
        "indent the items of one list alike and begin each with '- '",
    ),
    (
        "did not find expected ',' or '}'",
        "the mapping in braces is not closed here",
        "separate fields with ',' and close the braces with '}'",
    ),
    (
        "did not find expected ',' or ']'",
        "the list in brackets is not closed here",
        "separate items with ',' and close the brackets with ']'",
    ),
    (
        "block sequence entries are not allowed",
        "a list item cannot begin here",
        "put each '- ' on a line of its own, indented below the field",
    ),
    ("did not find expected node content", "a value is missing here", _QUOTE_IT),
    (
        "did not find expected <document start>",
        "the document has ended, but text follows",
        "put '---' between two documents; check the indentation",
    ),
    (
        "did not find expected alphabetic",
        "a value that begins with '*' or '&' is an alias or an anchor to YAML",
        _QUOTE_IT,
    ),
    ("cannot start any token", "a value cannot begin with this character", _QUOTE_IT),
    ("maximum nesting", TOO_DEEP, "look for a mistake in the indentation or in the brackets"),
    ("tag", "a value that begins with '!' is a tag to YAML, and this one is not valid", _QUOTE_IT),
    ("URI", "a value that begins with '!' is a tag to YAML, and this one is not valid", _QUOTE_IT),
    ("directive", DIRECTIVE, "delete the line that begins with '%'"),
    ("incompatible YAML document", DIRECTIVE, "delete the line that begins with '%'"),
    ("anchor", "an anchor (&name) stands where none is allowed", _QUOTE_IT),
    (
        "indentation",
        "the text of a '|' or '>' block is not indented as it should be",
        "indent the block with spaces, deeper than its field",
    ),
    (
        "comment or line break",
        "text follows the '|' or '>' that begins a block",
        "begin the block on the next line",
    ),
)


def _by_message(_text: str, problem: str, context: str, started_at: int, stopped_at: int) -> _Judgement:
    for part, message, remedy_text in _MESSAGES:
        if part in problem:
            # A line that lacks its colon is noticed only on the next one.
            offset = started_at if "simple key" in context else stopped_at
            return offset, message, remedy_text
    return None


def remedy(message: str, here: str = "") -> str:
    """How to mend what the recorder found: *here* are the characters around its place."""
    if "{{" in here or "{%" in here:
        return "this is a template: render it first, or put the expression in double quotes"
    for part, text in _REMEDIES:
        if part in message:
            return text
    return ""


_REMEDIES = (
    ("directives", "delete the line that begins with '%'"),
    ("infinity", "give a finite number, or put the value in quotes if it is a string"),
    ("the tag says", "remove the tag, or give a value of its type"),
    ("key is null", "write the field's name before the colon, in quotes if it is '~' or 'null'"),
    ("63 bits", "put the key in quotes"),
    ("must be a string, not", 'use a string as the name; put a value that begins with "{" or "[" in quotes'),
    ("no anchor", "define the anchor above, or put the value in double quotes if it is no alias"),
    ("contains itself", "write the value out"),
    ("stand for more than", "write the values out: so many aliases look like an attack on the reader"),
    (
        "deep",
        "no Kubernetes object is as deep as this: look for a mistake in the indentation or in the brackets",
    ),
    ("'<<'", "give an alias of a mapping, or a list of such aliases"),
    ("NUL", "remove it: no Kubernetes object, file name or environment variable can hold it"),
)


def duplicate(path: Path, first: Mark, second: Mark) -> Problem:
    """One field given twice in one mapping."""
    message = f"is given twice in one mapping: here and at line {first.line}, column {first.column}"
    # A second apiVersion at the top is where another object begins.
    is_next_object = path in (("apiVersion",), ("kind",), ("metadata",), ("spec",))
    remedy = (
        "put a line --- before the next object, or keep one of the two"
        if is_next_object
        else "keep one of the two"
    )
    return Problem("duplicate-key", second, message, remedy, path)


def overridden(path: Path, own: Mark, merge: Mark) -> Problem:
    """A field that a later ``<<`` gives another value: readers differ about the winner."""
    message = (
        f"is overridden by the '<<' below it, at line {merge.line}: kubectl takes the merged value, "
        "other tools take this one"
    )
    remedy_text = "move the '<<' to the top of the mapping: what follows it wins with every tool"
    return Problem("duplicate-key", own, message, remedy_text, path, WARNING)
