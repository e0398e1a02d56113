"""The URLs of servers, wherever they stand, and annotations that decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Render = Callable[..., Any]

ADDRESS = {"cloudAddress": "192.0.2.1"}
#: To be looked for in what is printed.
PASSWORD = "wet-paint"
S3 = "s3://bucket/big.pb"

BAD = [
    "http://",
    "http://:9000",
    "http://minio.example.com:90000",
    "http://minio.example.com:0",
    "http://minio.example.com:nine",
    "http://minio.example .com",
    "http://minio.example.com/a b",
    "http://minio.example.com/\u00a0",
    "http://[2001:db8::1",
    "s3://minio.example.com",
    f"http://reader:{PASSWORD}@minio.example.com:nine",
]
GOOD = [
    "http://minio.example.com",
    "HTTPS://minio.example.com:9000/",
    "http://[2001:db8::1]:9000",
    "http://192.0.2.5:65535/path",
    "http://localhost:9100",
]


def secret(endpoint: str) -> dict[str, Any]:
    metadata = {"name": "keys", "annotations": {"s3-endpoint": endpoint}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def annotated(make: Any, endpoint: str) -> dict[str, Any]:
    found: dict[str, Any] = make.model("store", S3, s3_endpoint=endpoint)
    return found


def everywhere(endpoint: str, render: Render, make: Any) -> list[Any]:
    """The endpoint as lcServer, s3Endpoint, and annotation of a Model and of a Secret."""
    return [
        render(config={**ADDRESS, "lcServer": endpoint}),
        render(config={**ADDRESS, "s3Endpoint": endpoint}),
        render(objects=[annotated(make, endpoint)]),
        render(objects=[secret(endpoint)]),
    ]


@pytest.mark.parametrize("endpoint", BAD)
def test_what_is_no_url_of_a_server_is_refused_and_not_quoted(
    endpoint: str, render: Render, make: Any
) -> None:
    for got in everywhere(endpoint, render, make):
        assert got.errors == ["invalid-endpoint"]
        assert PASSWORD not in got.stderr


@pytest.mark.parametrize("endpoint", GOOD)
def test_a_url_of_a_server_is_taken(endpoint: str, render: Render, make: Any) -> None:
    for got in everywhere(endpoint, render, make):
        assert got.errors == []
        assert "secret-value-in-git" not in got.rules


def test_a_password_in_a_url_is_warned_about_and_not_shown(render: Render, make: Any) -> None:
    for got in everywhere(f"http://reader:{PASSWORD}@minio.example.com", render, make):
        assert got.finding("secret-value-in-git")["severity"] == "warning"
        assert PASSWORD not in got.stderr


def test_only_an_s3_endpoint_may_be_without_its_scheme(render: Render, make: Any) -> None:
    lc_server, *others = everywhere("minio.example.com:9000", render, make)

    assert lc_server.errors == ["invalid-endpoint"]
    assert [got.errors for got in others] == [[], [], []]


def test_an_empty_endpoint_is_none(render: Render) -> None:
    assert render(config={**ADDRESS, "lcServer": "", "s3Endpoint": ""}).errors == []


@pytest.mark.parametrize("image", ["", " ", "a b"])
def test_an_image_that_downloads_nothing_is_refused(image: str, render: Render) -> None:
    assert render(config={**ADDRESS, "storageInitializerImage": image}).errors == ["invalid-image"]


@pytest.mark.parametrize(
    ("annotations", "unused"),
    [
        pytest.param({"expose": "NodePort", "node-port": "30001"}, [], id="node-port-with-NodePort"),
        pytest.param(
            {"expose": "EdgeMesh", "node-port": "30001"}, ["node-port"], id="node-port-with-EdgeMesh"
        ),
        pytest.param(
            {"expose": "EdgeMesh", "cloud-address": "192.0.2.1", "big-model-address": "a.example.com"},
            ["big-model-address", "cloud-address"],
            id="addresses-with-EdgeMesh",
        ),
        pytest.param({"big-model-address": "a.example.com"}, ["big-model-address"], id="with-the-default"),
        pytest.param(
            {"expose": "External", "big-model-address": "a.example.com", "cloud-address": "192.0.2.1"},
            ["cloud-address"],
            id="cloud-address-with-External",
        ),
        pytest.param({"expose": "EdgeMesh", "big-model-port": "80"}, [], id="a-port-is-always-used"),
    ],
)
def test_annotations_of_another_expose_are_warned_about(
    annotations: dict[str, str], unused: list[str], render: Render
) -> None:
    got = render(annotations=annotations)

    assert got.status == 0
    found = [item["field"] for item in got.findings if item["rule"] == "annotation-unused"]
    assert sorted(found) == [f'metadata.annotations["render.sedna.io/{name}"]' for name in unused]


@pytest.mark.parametrize(
    ("config", "errors"),
    [
        pytest.param({"annotations": {"Example.com/Owner": "a b"}}, [], id="upper-case-in-an-annotation"),
        pytest.param({"labels": {"Example.com/owner": "a"}}, ["invalid-name"], id="upper-case-in-a-label"),
        pytest.param({"annotations": {"a b": "c"}}, ["invalid-name"], id="blank"),
        pytest.param(
            {"annotations": {"render.sedna.io/expose": "EdgeMesh"}},
            ["unknown-annotation"],
            id="our-annotation",
        ),
        pytest.param({"labels": {"render.sedna.io/x": "y"}}, ["unknown-annotation"], id="our-label"),
    ],
)
def test_keys_of_labels_and_annotations_of_the_configuration(
    config: dict[str, Any], errors: list[str], render: Render
) -> None:
    assert render(config={**ADDRESS, **config}).errors == errors
