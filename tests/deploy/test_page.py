"""deploy/README.md names only what there is: files, flags, objects."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from reconciler.commands.run import command as run
from reconciler.commands.status import command as status
from sedna_render import __version__


@pytest.fixture(scope="session")
def page(deploy: Path) -> str:
    return (deploy / "README.md").read_text(encoding="utf-8")


def test_its_files_and_folders_exist(page: str, deploy: Path) -> None:
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", page))
    named |= {f"deploy/{one}" for one in re.findall(r"^\| `([\w/-]+)` \|", page, re.MULTILINE)}
    assert len(named) > 10
    assert sorted(one for one in named if not (deploy.parent / one).exists()) == []


def test_it_names_every_piece(page: str, deploy: Path) -> None:
    pieces = {path.name for path in deploy.iterdir()} - {"README.md", "watched-namespace"}
    assert sorted(one for one in pieces if one not in page) == []


def test_the_program_understands_its_command_lines(page: str) -> None:
    lines = re.findall(r"^    python -m reconciler (.*)$", page, re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        name, *arguments = shlex.split(line)
        {"run": run, "status": status}[name].make_context(name, arguments)


def test_the_image_that_it_builds_is_of_this_version(page: str, deploy: Path) -> None:
    for text in (page, (deploy / "Containerfile").read_text(encoding="utf-8")):
        assert set(re.findall(r"sedna-reconciler:(\S+)", text)) == {__version__}


def test_the_warning_comes_first(page: str) -> None:
    warning = page.index("Never run it beside Sedna's own joint-inference controller")
    assert warning < page.index("\n## ")
    (anchor,) = re.findall(r"\]\(#([\w-]+)\)", page)
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
