"""The shell sessions in the documentation: every page is followed as a reader would, and prints what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The fixture that is the reader's services/ when the page begins; "" is an empty folder.
PAGES = {
    "cli.md": "helmet-detection",
    "configuration.md": "helmet-detection",
    "guide.md": "",
    "migration.md": "",
    "templates.md": "helmet-detection",
    "troubleshooting.md": "helmet-detection",
}


def _shell(command: str, folder: Path) -> str:
    """What a command prints, standard error included."""
    environment = {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TEMPLATES": str(ROOT / "templates"),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.stdout


def _reader(tmp_path: Path, fixture: str) -> Path:
    """The folder in which a page is followed: services/, if it begins with any, and the program."""
    program = tmp_path / "bin" / "sedna-render"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sedna_render "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "repository"
    folder.mkdir()
    if fixture:
        shutil.copytree(
            ROOT / "fixtures" / fixture, folder / "services", ignore=shutil.ignore_patterns("case.md")
        )
    return folder


def _matches(said: str, printed: str) -> bool:
    """Whether a text is as the page has it; ``…`` on the page stands for anything, also for many lines."""
    pattern = ".*".join(re.escape(part) for part in said.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _commands(session: str) -> list[tuple[str, str]]:
    """Each command, with its further lines behind ``>``, and what it is said to print."""
    assert session.startswith("$ "), "a session begins with a command"
    found = re.findall(r"^\$ (.*\n)((?:> .*\n)*)((?:(?!\$ ).*\n)*)", session, flags=re.MULTILINE)
    return [(first + re.sub("^> ", "", more, flags=re.MULTILINE), said) for first, more, said in found]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "fixture"), PAGES.items(), ids=PAGES)
def test_following_a_page_prints_what_it_says(page: str, fixture: str, tmp_path: Path) -> None:
    folder = _reader(tmp_path, fixture)
    sessions = 0
    for language, content in BLOCK.findall((ROOT / "docs" / page).read_text()):
        name = content.splitlines()[0].removeprefix("# ")
        if language == "console":
            sessions += 1
            for command, said in _commands(content):
                printed = _shell(command, folder)
                assert _matches(said, printed), f"$ {command}\n{printed}"
        elif content.startswith("# ") and re.fullmatch(r"[\w.-]+(/[\w.-]+)*\.ya?ml", name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    assert sessions
