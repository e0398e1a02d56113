"""Finds and reads the templates: those that ship, and the files of a folder that replace them one by one."""

from __future__ import annotations

import os

from sedna_render import load, walk
from sedna_render.findings import ERROR, Finding, Location
from sedna_render.templates import RULE, TemplateText

_HERE = os.path.dirname(os.path.abspath(__file__))
#: In the wheel the templates lie inside the package, in a checkout beside it.
_SHIPPED = next(
    (
        folder
        for folder in (os.path.join(_HERE, "templates"), os.path.join(os.path.dirname(_HERE), "templates"))
        if os.path.isdir(folder)
    ),
    os.path.join(_HERE, "templates"),
)


def read(override: str = "") -> tuple[dict[str, TemplateText], list[Finding]]:
    """All templates by name; those in the folder ``override`` take the place of the ones that ship."""
    texts: dict[str, TemplateText] = {}
    findings: list[Finding] = []
    for name in _names(_SHIPPED):
        _read_one(os.path.join(_SHIPPED, name), name, f"templates/{name}", texts, findings)
    if override:
        _read_override(override, texts, findings)
    return texts, findings


def _read_override(folder: str, texts: dict[str, TemplateText], findings: list[Finding]) -> None:
    shown = walk.shown(folder)
    try:
        found = _names(folder)
    except OSError as problem:
        findings.append(
            _finding(
                shown, "", f"cannot read the templates: {problem.strerror}", "give a folder of templates"
            )
        )
        return
    known = sorted(texts)
    for name in found:
        if name not in known:
            findings.append(
                _finding(f"{shown}/{name}", name, f'no template is called "{name}"', _remedy(name, known))
            )
            continue
        _read_one(os.path.join(folder, name), name, f"{shown}/{name}", texts, findings)


def _read_one(
    path: str, name: str, shown: str, texts: dict[str, TemplateText], findings: list[Finding]
) -> None:
    source = load.read_file(shown, path)
    if isinstance(source, Finding):
        findings.append(source)
        return
    try:
        text = source.content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        findings.append(_finding(shown, name, f"not UTF-8 text: {problem.reason}", "save the file as UTF-8"))
        return
    texts[name] = TemplateText(name, shown, text)


def _names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml")) and name[0] != ".")


def _remedy(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415 - only when an error is being worded

    near = difflib.get_close_matches(name, known, n=1)
    suggestion = f"did you mean {near[0]}? " if near else ""
    return f"{suggestion}templates are: {', '.join(known)}"


def _finding(path: str, name: str, message: str, remedy: str) -> Finding:
    return Finding(RULE, ERROR, Location(path), f"template {name}" if name else "", "", message, remedy)
