"""The README's example is a fixture and its snapshot: it cannot rot."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"<!-- example: (\S+?)(?:, ([^>]*))? -->\n```yaml\n(.*?)```\n", re.DOTALL)


def examples() -> dict[str, str]:
    return {path: text for path, _, text in EXAMPLE.findall((ROOT / "README.md").read_text())}


def test_the_input_is_the_fixture() -> None:
    for path in ("fixtures/readme/service.yaml", "fixtures/readme/models.yaml"):
        assert examples()[path] == (ROOT / path).read_text()


def test_the_output_is_the_edge_worker_of_the_snapshot() -> None:
    snapshot = (ROOT / "tests/snapshots/readme.yaml").read_text()

    assert examples()["tests/snapshots/readme.yaml"] == snapshot.split("---\n")[-1]


def test_the_commands_of_the_first_minute_are_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert {"demo", "test"} <= set(targets)
    assert "make demo" in (ROOT / "README.md").read_text()
