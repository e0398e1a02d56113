"""The lock file as runs of the whole program find it: several runs at once, and a file that lies elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sedna_render import cli

ROOT = Path(__file__).parents[2]
LOCK = "sedna-render.lock"
CONFIG = "apiVersion: render.sedna.io/v1alpha1\nkind: RenderConfig\ncloudAddress: 192.0.2.1\n"
OBJECTS = """\
apiVersion: sedna.io/v1alpha1
kind: Model
metadata: {{name: m-{name}}}
spec: {{url: /data/m/m.pb, format: pb}}
---
apiVersion: sedna.io/v1alpha1
kind: JointInferenceService
metadata: {{name: {name}}}
spec:
  cloudWorker:
    model: {{name: m-{name}}}
    template: {{spec: {{nodeName: cloud, containers: [{{name: c, image: "a/b:1"}}]}}}}
  edgeWorker:
    model: {{name: m-{name}}}
    hardExampleMining: {{name: IBT}}
    template: {{spec: {{nodeName: edge, containers: [{{name: c, image: "a/b:1"}}]}}}}
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test: services a and b, each in a folder of its own."""
    (tmp_path / ".git").mkdir()
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "service.yaml").write_text(OBJECTS.format(name=name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recorded(path: str = LOCK) -> set[str]:
    return {line.split()[0] for line in Path(path).read_text().splitlines() if not line.startswith("#")}


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sedna_render", "render", *arguments, "-q"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


# --- several runs at once ----------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [("out", "out"), ("out", "other")], ids=["one folder", "two folders"])
def test_runs_at_once_lose_no_number(outputs: tuple[str, str]) -> None:
    Path("sedna-render.yaml").write_text(CONFIG)
    for output in outputs:
        Path(output).mkdir(exist_ok=True)
    for _ in range(3):
        Path(LOCK).unlink(missing_ok=True)
        waiting = dict(zip("ab", outputs, strict=True))
        while waiting:
            runs = {name: start(name, "-o", output) for name, output in waiting.items()}
            errors = {name: run.communicate()[1] for name, run in runs.items()}
            statuses = {name: run.returncode for name, run in runs.items()}
            refused = {name for name, status in statuses.items() if status == 3}
            assert set(statuses.values()) <= {0, 3}, errors
            assert refused != {"a", "b"}, errors
            assert all("nothing was changed: run again" in errors[name] for name in refused), errors
            waiting = {name: waiting[name] for name in refused}

        assert recorded() == {"default/a", "default/b"}
        assert not [name for name in os.listdir() if name.startswith(".sedna-render")]


# --- a lock file that lies elsewhere -----------------------------------------------------------------


class Told:
    """What the program says of misplaced lock files: severity and place, and the remedies."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.status = cli.run(["render", *arguments])
        lines = capsys.readouterr().err.splitlines()
        found = [at for at, line in enumerate(lines) if "[misplaced-lock-file]" in line]
        self.messages = [lines[at] for at in found]
        self.places = [lines[at].split("[")[0] for at in found]
        self.remedies = [lines[at + 1].strip().removeprefix("help: ") for at in found]


@pytest.fixture
def other() -> str:
    """A configuration in a folder of its own, with which nothing is found beside the inputs by itself."""
    Path("other").mkdir()
    Path("other/sedna-render.yaml").write_text(CONFIG)
    return "other/sedna-render.yaml"


def put_lock(folder: str) -> None:
    Path(folder, LOCK).write_text("default/a 30077\n")


def test_a_lock_file_beside_a_configuration_of_its_own_is_no_matter_of_another(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a/sedna-render.yaml").write_text(CONFIG)
    put_lock("a")

    told = Told(capsys, "a", "--config", other, "-o", "out")

    assert (told.status, told.places) == (0, [])
    assert recorded("other/sedna-render.lock") == {"default/a"}
    assert Path("a", LOCK).read_text() == "default/a 30077\n"


def test_on_standard_output_a_misplaced_lock_file_is_a_warning(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put_lock("a")

    told = Told(capsys, "a", "--config", other)

    assert (told.status, told.places) == (0, ["a/sedna-render.lock: warning"])


def test_on_standard_output_the_current_folder_is_no_place_that_counts(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put_lock(".")

    assert Told(capsys, "a", "--config", other).places == []


@pytest.mark.parametrize(
    ("folder", "missing"), [("other", False), ("a b/it's", True)], ids=["plain", "to be quoted"]
)
def test_the_remedy_for_one_lock_file_can_be_pasted(
    folder: str, missing: bool, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in put").mkdir()
    Path("a/service.yaml").rename("in put/service.yaml")
    put_lock("in put")
    arguments = ["--config", other, "-o", "out"] if folder == "other" else ["-o", folder]

    told = Told(capsys, "in put", *arguments)

    assert (told.status, told.places) == (2, ["in put/sedna-render.lock: error"])
    (remedy,) = told.remedies
    command = remedy.removeprefix("move it: ")
    assert command.startswith("mkdir -p") == missing
    subprocess.run(["sh", "-ec", command.replace("git mv", "mv")], check=True)
    assert recorded(f"{folder}/{LOCK}") == {"default/a"}
    assert Told(capsys, "in put", *arguments).places == []


def test_lines_of_several_lock_files_are_to_be_joined(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_lock("a")
    put_lock("b")

    told = Told(capsys, "a", "b", "--config", other, "-o", "out")

    assert told.places == ["a/sedna-render.lock: error", "b/sedna-render.lock: error"]
    assert set(told.remedies) == {
        "join the lines of these 2 lock files into one, other/sedna-render.lock, and remove them"
    }


def test_the_message_speaks_of_a_configuration_only_where_there_is_one(
    other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put_lock("a")

    (with_one,) = Told(capsys, "a", "--config", other, "-o", "out").messages
    (without,) = Told(capsys, "a", "-o", "out").messages

    assert with_one.endswith("belongs beside the configuration: other/sedna-render.lock")
    assert without.endswith("belongs in the output folder: out/sedna-render.lock")


# --- what check says of it ---------------------------------------------------------------------------


def test_check_counts_the_lock_file_once_whatever_the_number_of_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("sedna-render.yaml").write_text(CONFIG)
    assert cli.run(["render", "a", "b", "-o", "out"]) == 0
    assert cli.run(["check", "a", "b", "-o", "out"]) == 0
    with Path(LOCK).open("a") as stream:
        stream.write("# a comment is not kept\n# nor is another\n")
    capsys.readouterr()

    assert cli.run(["check", "a", "b", "-o", "out"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["lock", "lock"]
    assert lines[-1].startswith("1 file differs; to mend: ")
    assert cli.run(["render", "a", "b", "-o", "out"]) == 0
    assert "a comment" not in Path(LOCK).read_text()
