"""No value of a Secret is ever printed: not in manifests, not in messages, however broken the Secret is."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sedna_render import cli

CANARY = "canary5up3rs3cr3t"
ENCODED = base64.b64encode(CANARY.encode()).decode()

SERVICE = """\
apiVersion: sedna.io/v1alpha1
kind: JointInferenceService
metadata: {name: helmet}
spec:
  cloudWorker: &worker
    model: {name: big}
    template: {spec: {nodeName: cloud-1, containers: [{name: main, image: "example.com/main:1"}]}}
  edgeWorker:
    <<: *worker
    hardExampleMining: {name: IBT}
---
apiVersion: sedna.io/v1alpha1
kind: Model
metadata: {name: big}
spec: {url: "s3://bucket/big.pb", format: pb, credentialName: keys}
"""
HEAD = 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys, annotations: {s3-endpoint: s3.example.com, s3-usehttps: "1"}}\n'
CONFIG = "apiVersion: render.sedna.io/v1alpha1\nkind: RenderConfig\ncloudAddress: 192.0.2.1\n"

VALID = {
    "stringData": f"stringData: {{ACCESS_KEY_ID: {CANARY}, SECRET_ACCESS_KEY: {CANARY}}}\n",
    "data": f"data:\n  ACCESS_KEY_ID: {ENCODED}\n  SECRET_ACCESS_KEY: {ENCODED}\n",
    "block": f"stringData:\n  ACCESS_KEY_ID: |\n    {CANARY}\n  SECRET_ACCESS_KEY: >-\n    {CANARY}\n",
    "missing key": f"stringData: {{OTHER: {CANARY}}}\n",
    "immutable": f"immutable: true\ntype: Opaque\nstringData: {{ACCESS_KEY_ID: {CANARY}, SECRET_ACCESS_KEY: {CANARY}}}\n",
}
BROKEN = {
    "duplicate key": f"stringData:\n  ACCESS_KEY_ID: {CANARY}\n  ACCESS_KEY_ID: {CANARY}\n",
    "duplicate section": f"stringData: {{ACCESS_KEY_ID: {CANARY}}}\nstringData: {{ACCESS_KEY_ID: {CANARY}}}\n",
    "a value that is a list": f"stringData:\n  ACCESS_KEY_ID: [{CANARY}]\n",
    "a value that is a mapping": f"data:\n  ACCESS_KEY_ID: {{{CANARY}: {CANARY}}}\n",
    "a value that is a number": "stringData:\n  ACCESS_KEY_ID: 987654321987654321\n",
    "a section that is text": f"stringData: {CANARY}\n",
    "a section that is a list": f"stringData: [{CANARY}, {CANARY}]\n",
    "the value where a key belongs": f"stringData:\n  {CANARY}\n",
    "no YAML: a tab": f"stringData:\n\tACCESS_KEY_ID: {CANARY}\n",
    "no YAML: an open quote": f'stringData:\n  ACCESS_KEY_ID: "{CANARY}\n',
    "no YAML: an open bracket": f"stringData: {{ACCESS_KEY_ID: {CANARY}\n",
    "no YAML: two values": f"stringData:\n  ACCESS_KEY_ID: {CANARY} : {CANARY}\n  x\n",
    "no YAML: an anchor": f"stringData:\n  ACCESS_KEY_ID: *{CANARY}\n",
    "no YAML: an anchor alone": f"stringData:\n  ACCESS_KEY_ID: &{CANARY}\n  OTHER: &{CANARY}\n",
    "a merge of text": f"stringData:\n  <<: {CANARY}\n",
    "a key that is a mapping": f"stringData:\n  ? {{{CANARY}: x}}\n  : {CANARY}\n",
    "a key without an end": f"stringData:\n  {CANARY}\n  ACCESS_KEY_ID: x\n",
    "a key that is too long": f"stringData:\n  {'x' * 1100}{CANARY}: x\n",
    "no YAML: a tag": f"stringData:\n  ACCESS_KEY_ID: !{CANARY} x\n",
    "no YAML: a directive": f"stringData:\n  ACCESS_KEY_ID: %{CANARY}\n",
    "no YAML: a value at the margin": f"stringData:\n  ACCESS_KEY_ID: |\n{CANARY}\n",
    "no YAML: an escape": f'stringData:\n  ACCESS_KEY_ID: "{CANARY}\\q"\n',
    "control character": f"stringData:\n  ACCESS_KEY_ID: {CANARY}\x07\n",
    "escaped control character": f'stringData:\n  ACCESS_KEY_ID: "{CANARY}\\x00"\n',
    "a value that is binary": f"data:\n  ACCESS_KEY_ID: !!binary {ENCODED}\n",
    "a value at the top": f"{CANARY}\n",
    "an unknown field": f"stringDatas:\n  ACCESS_KEY_ID: {CANARY}\n",
    "a stray key": f"{CANARY}: x\nstringData: {{}}\n",
}
BROKEN_HEADS = {
    "no kind": HEAD.replace("kind: Secret\n", ""),
    "no apiVersion": HEAD.replace("apiVersion: v1\n", ""),
    "no name": HEAD.replace("name: keys, ", ""),
    "wrong kind": HEAD.replace("kind: Secret", "kind: [Secret]"),
}


def run(folder: Path, secret: str | bytes, *arguments: str) -> tuple[int, str, str]:
    (folder / ".git").mkdir()
    (folder / "service.yaml").write_text(SERVICE)
    (folder / "secret.yaml").write_bytes(secret.encode() if isinstance(secret, str) else secret)
    (folder / "sedna-render.yaml").write_text(CONFIG)
    result = CliRunner().invoke(cli.cli, ["render", str(folder), "-v", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.stdout, result.stderr


def assert_silent(*texts: str) -> None:
    for text in texts:
        for canary in (CANARY, ENCODED, "987654321987654321"):
            assert canary not in text
            assert canary not in text.replace("\\", "")


@pytest.mark.parametrize(
    "arguments", [[], ["--explain", "helmet"], ["--format", "json", "--error-format", "json"]]
)
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in VALID.items()])
def test_a_secret_is_used_and_its_values_are_not_seen(
    body: str, arguments: list[str], tmp_path: Path
) -> None:
    status, stdout, stderr = run(tmp_path, HEAD + body, *arguments)

    assert status == 0
    assert_silent(stdout, stderr)


@pytest.mark.parametrize("form", ["text", "json", "github"])
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BROKEN.items()])
def test_a_broken_secret_is_told_without_its_values(body: str, form: str, tmp_path: Path) -> None:
    status, stdout, stderr = run(tmp_path, HEAD + body, "--error-format", form)

    assert status in (0, 2)
    assert_silent(stdout, stderr)


@pytest.mark.parametrize("head", [pytest.param(head, id=name) for name, head in BROKEN_HEADS.items()])
def test_a_secret_that_is_hardly_one_is_told_without_its_values(head: str, tmp_path: Path) -> None:
    status, stdout, stderr = run(tmp_path, head + VALID["stringData"])

    assert status in (0, 2)
    assert_silent(stdout, stderr)


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda item: {"apiVersion": "v1", "kind": "List", "items": [item]}, id="List"),
        pytest.param(
            lambda item: {"apiVersion": "v1", "kind": "SecretList", "items": [item]}, id="SecretList"
        ),
    ],
)
@pytest.mark.parametrize("value", [CANARY, [CANARY], {CANARY: CANARY}])
def test_a_secret_in_a_list_is_told_without_its_values(wrap: Any, value: Any, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"A": value}}

    status, stdout, stderr = run(tmp_path, json.dumps(wrap(secret)))

    assert status == 2  # no endpoint is known, whatever else there is
    assert_silent(stdout, stderr)


def test_two_secrets_of_one_name_are_told_without_their_values(tmp_path: Path) -> None:
    status, stdout, stderr = run(tmp_path, f"{HEAD}{VALID['stringData']}---\n{HEAD}{VALID['data']}")

    assert status == 2
    assert "duplicate-resource" in stderr
    assert_silent(stdout, stderr)


def test_bytes_that_are_no_text_are_told_without_what_stands_beside_them(tmp_path: Path) -> None:
    status, stdout, stderr = run(tmp_path, (HEAD + VALID["stringData"]).encode() + b"# \xff\xfe\n")

    assert status == 2
    assert_silent(stdout, stderr)
