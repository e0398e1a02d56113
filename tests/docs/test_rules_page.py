"""docs/rules.md is true: a section for every rule, and what its example is said to print is what is printed."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from sedna_render import cli, settings, templates
from sedna_render.findings import ERROR, WARNING
from sedna_render.resources import MODEL_ANNOTATIONS, SERVICE_ANNOTATIONS

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
PAGE = ROOT / "docs" / "rules.md"

RULE_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
FINDING = re.compile(r" (error|warning)\[([a-z0-9-]+)\]: ")
#: Words in the code that look like a rule and are none.
NO_RULES = {
    *(SERVICE_ANNOTATIONS + MODEL_ANNOTATIONS),
    *("s3-endpoint", "s3-usehttps", "sedna-render", "x-kubernetes-preserve-unknown-fields"),
}
CODEC = re.compile(r"utf-\d+.*")


class Section(NamedTuple):
    """One rule as the page has it."""

    rule: str
    text: str

    @property
    def severities(self) -> set[str]:
        line = self.text.lstrip().splitlines()[0].lower()
        return {severity for severity in (ERROR, WARNING) if severity in line}

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)


def _sections() -> list[Section]:
    parts = re.split(r"^## (\S+)\n", PAGE.read_text(), flags=re.MULTILINE)
    return [
        Section(rule, re.split(r"\n\n# [A-Z]", text)[0])
        for rule, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


SECTIONS = _sections()


def _texts_in_code() -> set[str]:
    """Every string of the program that may be the name of a rule."""
    found = {templates.RULE}
    for path in (ROOT / "sedna_render").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and RULE_ID.fullmatch(node.value)
            ):
                found.add(node.value)
            elif isinstance(node, ast.Call):
                found.update(_reported(node))
    return {text for text in found if text not in NO_RULES and not CODEC.fullmatch(text)}


def _reported(call: ast.Call) -> Iterator[str]:
    """The rule of a call such as ``place.error("placeholder", …)``, also when it is one word."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first = call.args[0] if call.args else None
    if name in {"Finding", "Refused", "Caution", "error", "warning"} and isinstance(first, ast.Constant):
        text = str(first.value)
        if re.fullmatch(r"[a-z][a-z0-9-]*", text):
            yield text


def _rules_of_fixtures() -> set[str]:
    named = {
        rule
        for path in FIXTURES.rglob("case.md")
        for rules in re.findall(
            r"^(?:Errors|Renders, with warnings): (.*)\.$", path.read_text(), re.MULTILINE
        )
        for rule in rules.split(", ")
    }
    printed = {
        rule
        for path in (ROOT / "tests" / "snapshots").iterdir()
        for _, rule in FINDING.findall(path.read_text())
    }
    return named | printed


def test_every_rule_of_the_program_has_a_section_and_every_section_is_a_rule() -> None:
    assert sorted(section.rule for section in SECTIONS) == sorted(_texts_in_code())


def test_every_rule_that_a_fixture_or_a_snapshot_names_has_a_section() -> None:
    assert _rules_of_fixtures() - {section.rule for section in SECTIONS} == set()


def test_the_severities_of_a_section_are_those_that_were_seen() -> None:
    said = {section.rule: section.severities for section in SECTIONS}
    for path in (ROOT / "tests" / "snapshots").iterdir():
        for severity, rule in FINDING.findall(path.read_text()):
            assert severity in said[rule], rule


# --- the examples -------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """Files to be put beside the services of fixtures/helmet-detection, and what is then run."""

    prepare: Callable[[], object]
    commands: tuple[str, ...] = ("render services",)


def _write(path: str, text: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(text)


def _edit(path: str, old: str, new: str) -> Callable[[], object]:
    def edit() -> None:
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new, 1))

    return edit


def _nothing() -> None:
    """The services as they are."""


def _second_service() -> None:
    shutil.copytree("services", "other")
    Path("other/nodes.yaml").unlink()
    for name in ("service.yaml", "models.yaml"):
        _edit(f"other/{name}", "namespace: site-safety", "namespace: other")()
    _edit("other/models.yaml", "namespace: site-safety", "namespace: other")()


def _big_file() -> None:
    os.truncate(os.open("services/dump.yaml", os.O_CREAT | os.O_RDWR), 65 << 20)


def _foreign_file() -> None:
    Path("manifests").mkdir()
    Path("manifests/site-safety.helmet-detection.yaml").write_text("mine\n")


def _broken_template() -> None:
    Path("templates").mkdir()
    Path("templates/pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ nam }}\n")


def _append(path: str, line: str) -> Callable[[], object]:
    return lambda: Path(path).write_text(Path(path).read_text() + line)


MODEL_URL = "  url: /data/big-model/yolov3_darknet.pb"
TO_FOLDER = "render services -o manifests"

EXAMPLES = {
    "config-in-output": Example(
        _write("sedna-render.yaml", f"apiVersion: {settings.API_VERSION}\nkind: {settings.KIND}\n"),
        ("render services -o .",),
    ),
    "credential-unused": Example(
        _edit(
            "services/models.yaml",
            MODEL_URL,
            "  url: https://models.example.com/big.pb\n  credentialName: model-store",
        )
    ),
    "secret-key-missing": Example(
        lambda: (
            _edit(
                "services/models.yaml",
                MODEL_URL,
                "  url: s3://models/big.pb\n  credentialName: model-store",
            )(),
            _write(
                "services/secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: model-store\n  namespace: site-safety\n"
                "  annotations: {s3-endpoint: minio.example.com}\ndata: {SECRET_ACCESS_KEY: c2VjcmV0}\n",
            )(),
        )
    ),
    "duplicate-volume": Example(
        _edit(
            "services/service.yaml",
            "        volumes:\n",
            "        volumes:\n          - name: output\n            emptyDir: {}\n",
        )
    ),
    "file-too-large": Example(_big_file),
    "foreign-file": Example(_foreign_file, (TO_FOLDER,)),
    "hand-edited": Example(
        _nothing,
        (TO_FOLDER, "+manifests/site-safety.helmet-detection.yaml", TO_FOLDER),
    ),
    "index-damaged": Example(_nothing, (TO_FOLDER, "!manifests/.sedna-render.index", TO_FOLDER)),
    "input-in-output": Example(_nothing, ("render services -o services",)),
    "invalid-lock-file": Example(
        lambda: (
            _write("sedna-render.yaml", f"apiVersion: {settings.API_VERSION}\nkind: {settings.KIND}\n")(),
            _write("sedna-render.lock", "site-safety/helmet-detection 30047\nsite-safety/vests 30047\n")(),
        )
    ),
    "no-input": Example(_nothing, ("render services/*.yml",)),
    "no-such-file": Example(_nothing, ("render servces",)),
    "no-such-service": Example(_nothing, ("render services --explain helmt",)),
    "not-an-object": Example(
        _write("services/notes.yaml", "- apiVersion: sedna.io/v1alpha1\n  kind: Model\n")
    ),
    "partial-render": Example(
        _second_service,
        (
            "render services other -o manifests --layout single",
            "render services -o manifests --layout single",
        ),
    ),
    "template": Example(
        _broken_template,
        ("render services --templates templates",),
    ),
    "unreadable-file": Example(lambda: os.mkfifo("services/pipe.yaml")),
}


def _run(command: str) -> str:
    """What one command says on standard error; ``+file`` edits a file instead, ``!file`` as a merge would."""
    if command[0] in "+!":
        _append(command[1:], "# by hand\n" if command[0] == "+" else "<<<<<<< HEAD\n")()
        return ""
    result = CliRunner().invoke(cli.cli, command.split(), standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stderr


def _example_messages(section: Section, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    fixture = re.search(r"^# (fixtures/\S+)", section.text, re.MULTILINE)
    if fixture and section.rule not in EXAMPLES:
        monkeypatch.chdir(ROOT)
        case = Path(fixture[1])
        while not (case / "case.md").exists():
            case = case.parent
        parts = [str(case / name) for name in ("north", "south") if (case / name).is_dir()]
        return _run(" ".join(["render", *(parts or [str(case)])]))
    shutil.copytree(
        FIXTURES / "helmet-detection", folder / "services", ignore=shutil.ignore_patterns("case.md")
    )
    monkeypatch.chdir(folder)
    example = EXAMPLES[section.rule]
    example.prepare()
    return [_run(command) for command in example.commands][-1]


@pytest.mark.parametrize("section", [pytest.param(section, id=section.rule) for section in SECTIONS])
def test_the_example_of_a_rule_prints_what_the_page_says(
    section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = _example_messages(section, tmp_path, monkeypatch)
    (messages,) = section.blocks("text")[-1:]
    assert f"[{section.rule}]: " in messages
    assert messages.rstrip("\n") in printed
    assert "\nTo mend: " in section.text


@pytest.mark.parametrize("section", [pytest.param(section, id=section.rule) for section in SECTIONS])
def test_the_example_of_a_rule_is_in_the_fixture_that_it_names(section: Section) -> None:
    for block in section.blocks("yaml"):
        name, *lines = block.splitlines()
        if name.startswith("# fixtures/"):
            there = [
                line.strip() for line in (ROOT / name[2:]).read_bytes().decode(errors="replace").splitlines()
            ]
            position = 0
            for line in lines:
                position = there.index(line.strip(), position) + 1
        else:
            assert section.rule in EXAMPLES
