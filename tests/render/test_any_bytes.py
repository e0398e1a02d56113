"""Whatever bytes stand in a file, the program ends with 0 or 2, says why, and never with a traceback."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import cli, yaml_reader

ROOT = Path(__file__).parents[2]
CASES = ("helmet-detection", "s3-credentials", "hostile-strings", "hpa", "affinity-cloud", "two-containers")


def content_of(case: str) -> bytes:
    """All objects of a fixture as one stream."""
    paths = sorted((ROOT / "fixtures" / case).glob("*.yaml"))
    return b"\n---\n".join(path.read_bytes() for path in paths if path.name != "sedna-render.yaml")


INPUTS = {case: content_of(case) for case in CASES}
CONFIG = b"""\
apiVersion: render.sedna.io/v1alpha1
kind: RenderConfig
cloudAddress: 192.0.2.1
nodeAddresses: {cloud-1: 2001:db8::1}
nodePortRange: 30000-30100
labels: {team: vision}
annotations: {example.com/a: b}
edgeAutonomy: true
s3Endpoint: s3.example.com
"""
LOCK = b"# numbers\nsite-safety/helmet-detection 30001\ndefault/other 30002\n"
TEMPLATE = (ROOT / "templates" / "service.nodeport.yaml").read_bytes()
TOKENS = (
    *(
        b"\x00",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\r",
        b"\t",
        b"\x1b",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
    ),
    *(
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!str ",
        b"!!binary ",
        b"!x ",
        b"? ",
        b"- ",
        b": ",
        b"#",
        b"|\n",
        b">-\n",
        b"%YAML 1.2\n",
    ),
    *(
        b"---\n",
        b"...\n",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"'",
        b"\\",
        b"null",
        b"~",
        b"1e999",
        b".nan",
        b"0x",
        b"9" * 400,
    ),
    *(
        b"{{ ",
        b" }}",
        b"{% ",
        b" %}",
        b"$(",
        b"${",
        b"items: ",
        b"kind: List\n",
        b"[" * 300,
        b"a: " * 200,
        b"\n" * 50,
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("bytes")
    (path / ".git").mkdir()
    (path / "in").mkdir()
    (path / "mine").mkdir()
    before = Path.cwd()
    os.chdir(path)
    yield path
    os.chdir(before)


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    """A text with a few pieces cut out, doubled, moved, or replaced by what parsers stumble over."""
    content = original
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(st.sampled_from(TOKENS), st.binary(max_size=6), st.just(content[start:end] * 2))
        )
        content = content[:start] + piece + content[end:]
    return content


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.cli, arguments, input=stdin, standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), result.stdout, result.stderr


def assert_civil(status: int, stdout: str, stderr: str) -> None:
    assert status in (0, 2)
    assert "Traceback" not in stderr
    if status == 2:
        assert "error[" in stderr
        # --explain shows what it knows about a service that is wrong, too.
        assert stdout == "" or stdout.startswith("JointInferenceService ")


@given(data=st.data())
def test_any_bytes_on_standard_input(folder: Path, data: st.DataObject) -> None:
    content = data.draw(mutated(INPUTS[data.draw(st.sampled_from(CASES))]))

    assert_civil(
        *run("render", "-", "--expose", data.draw(st.sampled_from(["NodePort", "EdgeMesh"])), stdin=content)
    )


@given(content=st.binary(max_size=200))
def test_bytes_of_no_meaning_on_standard_input(folder: Path, content: bytes) -> None:
    assert_civil(*run("render", "-", stdin=content))


@pytest.mark.parametrize(
    ("name", "original"),
    [
        pytest.param("sedna-render.yaml", CONFIG, id="configuration"),
        pytest.param("sedna-render.lock", LOCK, id="lock-file"),
        pytest.param("mine/service.nodeport.yaml", TEMPLATE, id="template"),
    ],
)
@given(data=st.data())
def test_any_bytes_in_the_other_files(folder: Path, name: str, original: bytes, data: st.DataObject) -> None:
    contents = {
        "sedna-render.yaml": CONFIG,
        "sedna-render.lock": LOCK,
        "mine/service.nodeport.yaml": TEMPLATE,
    }
    contents[name] = data.draw(mutated(original))
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    (folder / "in" / "all.yaml").write_bytes(INPUTS["helmet-detection"])

    assert_civil(*run("render", "in", "--templates", "mine"))
    assert_civil(*run("render", "in", "--templates", "mine", "--explain", "helmet-detection"))


OBJECTS = {
    case: [document.data for document in yaml_reader.read(yaml_reader.Source(case, content))[0]]
    for case, content in INPUTS.items()
}
WEIRD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(
        ["", "$(X)", "a" * 300, "../../etc", "s3://", "http://[", "pvc://", "/", "0", "List", "Secret", "Pod"]
    ),
    st.sampled_from(
        [[], {}, [[]], [{}], {"": ""}, {"name": None}, [None], {"a": {"b": []}}, [{"name": "x"}]]
    ),
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something can be changed: every field and every item."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in entries:
        yield (*path, key)
        yield from places(item, (*path, key))


PLACES = {case: list(places(items)) for case, items in OBJECTS.items()}


@st.composite
def rebuilt(draw: st.DrawFn) -> list[Any]:
    """Objects with a few fields removed, renamed, doubled, or given another value."""
    case = draw(st.sampled_from(CASES))
    items = copy.deepcopy(OBJECTS[case])
    for *path, last in draw(st.lists(st.sampled_from(PLACES[case]), min_size=1, max_size=4)):
        parent: Any = items
        try:
            for step in path:
                parent = parent[step]
            value = parent.pop(last)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # an earlier change took it away
        how = draw(st.sampled_from(["replace", "replace", "wrap", "rename", "remove"]))
        new = draw(WEIRD) if how == "replace" else [value, value] if how == "wrap" else value
        if how == "remove":
            continue
        if isinstance(parent, list):
            parent.insert(int(last), new)
        else:
            parent[draw(st.text(max_size=5)) if how == "rename" else last] = new
    return items


@given(items=rebuilt(), workload=st.sampled_from(["Pod", "Deployment"]))
def test_objects_of_any_shape(folder: Path, items: list[Any], workload: str) -> None:
    content = "\n---\n".join(json.dumps(item) for item in items).encode()

    for arguments in (("--workload", workload), ("--expose", "External"), ("--explain", "helmet-detection")):
        assert_civil(*run("render", "-", *arguments, stdin=content))
