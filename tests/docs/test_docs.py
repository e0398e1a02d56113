"""The documentation is whole: commands, options, keys, variables and links are those that there are."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from sedna_api.labels import ANNOTATION_PREFIX
from sedna_render import cli, settings
from sedna_render.cli.exit_status import ExitStatus
from sedna_render.resources import MODEL_ANNOTATIONS, SERVICE_ANNOTATIONS
from sedna_render.templates import Filled, Template

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEMPLATES = sorted(path.name for path in (ROOT / "templates").iterdir())
MADE = {
    *(".git", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *("__pycache__", "build", "dist", "htmlcov", "sedna_render.egg-info"),
}


def _files() -> Iterator[Path]:
    """The files of the repository, but for what tools have put into it."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in MADE and not name.startswith(".venv"))
        yield from (Path(folder, name) for name in sorted(names) if name != ".coverage")


PAGES = [
    pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in _files() if path.suffix == ".md"
]


def _section(page: str, heading: str) -> str:
    """What stands below a heading, down to the next one of its level."""
    level = heading.split(" ", maxsplit=1)[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^{level} |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {heading}"
    return found[1]


def _without_code(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)


# --- the command line ---------------------------------------------------------------------------------------------


def _commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli.cli)
    for name in cli.cli.list_commands(context):
        command = cli.cli.get_command(context, name)
        assert command is not None
        yield name, command


COMMANDS = [pytest.param(name, command, id=name) for name, command in _commands()]


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_has_a_section_and_a_help_text(name: str, command: click.Command) -> None:
    section = _section((DOCS / "cli.md").read_text(), f"## {name}")
    assert command.help
    assert cli.COMMANDS[name][1]
    assert f"$ sedna-render {name}" in section


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_option_is_in_the_section_of_its_command_and_has_a_help_text(
    name: str, command: click.Command
) -> None:
    section = _section((DOCS / "cli.md").read_text(), f"## {name}")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"
            for option in (*parameter.opts, *parameter.secondary_opts):
                assert re.search(rf"`{re.escape(option)}[` ]", section), f"{name} {option} is not documented"


def test_every_option_in_the_tables_is_one() -> None:
    page = (DOCS / "cli.md").read_text()
    for name, command in _commands():
        known = {
            option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help", "-h"}
        rows = re.findall(r"^\| (`-.*?) \| ", _section(page, f"## {name}"), re.MULTILINE)
        assert {option for row in rows for option in re.findall(r"`(--?[a-z][a-z-]*)", row)} <= known


def test_the_exit_statuses_are_those_of_the_program() -> None:
    listed = re.findall(
        r"^\| (\d+) \| ", _section((DOCS / "cli.md").read_text(), "## Exit status"), re.MULTILINE
    )
    assert [int(number) for number in listed] == sorted(ExitStatus)


def test_the_example_in_python_runs() -> None:
    outcome = doctest.testfile(str(DOCS / "cli.md"), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# --- the configuration --------------------------------------------------------------------------------------------


def _config_keys() -> set[str]:
    schema = json.loads((ROOT / "sedna_render" / "schemas" / "config.json").read_text())
    return set(schema["properties"]) - {"apiVersion", "kind"}


def test_every_key_of_the_configuration_has_a_row_and_a_section_and_there_are_no_others() -> None:
    page = _section((DOCS / "configuration.md").read_text(), "## Keys")
    assert set(re.findall(r"^\| \[(\w+)\]", page, re.MULTILINE)) == _config_keys() == set(settings.DEFAULTS)
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == _config_keys()


def test_the_defaults_in_the_table_are_those_of_the_program() -> None:
    page = _section((DOCS / "configuration.md").read_text(), "## Keys")
    for name, default in re.findall(r"^\| \[(\w+)\][^|]*\|[^|]*\| ([^|]+) \|", page, re.MULTILINE):
        value = settings.DEFAULTS[name]
        shown = json.dumps(value) if isinstance(value, bool) else value
        assert default == (f"`{shown}`" if shown else "none"), name


def test_the_examples_of_the_keys_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _section((DOCS / "configuration.md").read_text(), "## Keys")
    examples = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shutil.copytree(ROOT / "fixtures" / "helmet-detection", tmp_path / "services")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sedna-templates").mkdir()
    for example in examples:
        Path("sedna-render.yaml").write_text(
            f"apiVersion: {settings.API_VERSION}\nkind: {settings.KIND}\n{example}"
        )
        result = CliRunner().invoke(cli.cli, ["render", "services", "-o", "-"], standalone_mode=False)
        assert result.return_value == 0, f"{example}{result.stderr}"
    assert len(examples) >= len(_config_keys()) - 1


def test_every_annotation_is_in_the_tables_and_there_are_no_others() -> None:
    section = _section((DOCS / "configuration.md").read_text(), "## Annotations")
    rows = re.findall(rf"^\| `{ANNOTATION_PREFIX}([\w-]+)`", section, re.MULTILINE)
    assert rows == [*SERVICE_ANNOTATIONS, *MODEL_ANNOTATIONS]


# --- templates ----------------------------------------------------------------------------------------------------

TYPES = {str: "string", int: "integer", bool: "boolean", dict: "map", list: "list", type(None): "null"}


@pytest.fixture(scope="module")
def given() -> dict[str, dict[str, set[str]]]:
    """What each template was really given while all fixtures were rendered: its variables, and their types."""
    seen: dict[str, dict[str, set[str]]] = {}
    fill = Template.fill

    def recording(self: Template, values: Mapping[str, Any]) -> Filled:
        variables = seen.setdefault(self._source.name, {})
        for name, value in values.items():
            variables.setdefault(name, set()).add(TYPES[type(value)])
        return fill(self, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "fill", recording)
        for case in sorted((ROOT / "fixtures").iterdir()):
            if (case / "case.md").exists():
                CliRunner().invoke(cli.cli, ["render", str(case)], standalone_mode=False)
    return seen


def _documented(name: str) -> dict[str, set[str]]:
    section = _section((DOCS / "templates.md").read_text(), f"### {name}")
    return {
        variable: set(types.split(" or "))
        for variable, types in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)
    }


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_variables_of_a_template_are_those_that_it_is_given(
    name: str, given: dict[str, dict[str, set[str]]]
) -> None:
    assert _documented(name).keys() == given[name].keys()


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_types_of_a_templates_variables_are_those_that_it_is_given(
    name: str, given: dict[str, dict[str, set[str]]]
) -> None:
    documented = _documented(name)
    for variable, types in given[name].items():
        assert types <= documented[variable], variable


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_uses_documented_variables_only(name: str) -> None:
    used = set(re.findall(r"\{\{ (\w+) \}\}", (ROOT / "templates" / name).read_text()))
    assert used <= _documented(name).keys()


def test_there_is_a_section_for_every_template_and_no_other() -> None:
    section = _section((DOCS / "templates.md").read_text(), "## The files")
    assert sorted(re.findall(r"^### (\S+)$", section, re.MULTILINE)) == TEMPLATES


# --- all pages ----------------------------------------------------------------------------------------------------


def _anchors(page: str) -> set[str]:
    """The anchors that GitHub makes of a page's headings; a second one of a name gets a number."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", _without_code(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)).strip().lower()
        anchor = unique = plain.replace(" ", "-")
        number = 0
        while unique in found:
            number += 1
            unique = f"{anchor}-{number}"
        found.add(unique)
    return found


@pytest.mark.parametrize("path", PAGES)
def test_relative_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _without_code(path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), target
        assert there.is_relative_to(ROOT), target
        if anchor:
            assert anchor in _anchors(there.read_text()), target


def test_no_file_names_a_path_of_the_machine_on_which_it_was_written() -> None:
    here = {str(ROOT), str(Path.home()) if Path.home() != Path("/") else str(ROOT)}
    if sys.prefix != sys.base_prefix:
        here.add(sys.prefix)
    pattern = re.compile("|".join(rf"{re.escape(path)}(?![\w-])" for path in sorted(here)).encode())
    found = [path.relative_to(ROOT).as_posix() for path in _files() if pattern.search(path.read_bytes())]
    assert found == []


def test_the_decisions_are_numbered_without_a_gap_and_say_what_they_must() -> None:
    names = sorted(path.name for path in (DOCS / "decisions").glob("*.md"))
    assert [name[:5] for name in names] == [f"{number:04}-" for number in range(1, len(names) + 1)]
    for name in names:
        headings = re.findall(r"^## (.*)$", (DOCS / "decisions" / name).read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], name
