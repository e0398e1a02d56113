"""Go's own answers, made by go/main.go, are what go_url must give."""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import go_url
from sedna_render.go_url import GoURL, GoURLError

with open(os.path.join(os.path.dirname(__file__), "go_url_vectors.json"), encoding="utf-8") as stream:
    VECTORS: dict[str, Any] = json.load(stream)


def raw(vector: dict[str, str], part: str) -> str:
    """A part that Go gave as bytes, as go_url gives it."""
    return base64.b64decode(vector.get(part, "")).decode("utf-8", "surrogateescape")


def is_refused(vector: dict[str, str]) -> bool:
    return "error" in vector


ACCEPTED = [vector for vector in VECTORS["parse"] if not is_refused(vector)]
REFUSED = [vector for vector in VECTORS["parse"] if is_refused(vector)]


def test_the_vectors_hold_hundreds_of_urls_of_both_kinds() -> None:
    assert len(ACCEPTED) > 200
    assert len(REFUSED) > 100


@pytest.mark.parametrize("vector", ACCEPTED, ids=lambda vector: ascii(vector["text"]))
def test_a_url_that_go_parses_has_the_same_parts(vector: dict[str, Any]) -> None:
    parsed = go_url.parse(vector["text"])

    assert isinstance(parsed, GoURL)
    assert parsed._replace(raw_path="") == GoURL(
        scheme=vector.get("scheme", ""),
        opaque=vector.get("opaque", ""),
        userinfo=vector.get("user", False),
        host=raw(vector, "host"),
        path=raw(vector, "path"),
        raw_path="",
        raw_query=vector.get("rawQuery", ""),
        fragment=raw(vector, "fragment"),
    )


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: ascii(vector["text"]))
def test_a_url_that_go_refuses_is_refused(vector: dict[str, str]) -> None:
    assert isinstance(go_url.parse(vector["text"]), GoURLError)


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param("/\x01", "has the control character '\\x01'", id="control character"),
        pytest.param(":x", "begins with ':', with no scheme before it", id="no scheme"),
        pytest.param(
            "1a:b/c",
            "has a colon before the first '/', where only a scheme such as s3: may stand",
            id="colon in the first segment",
        ),
        pytest.param(
            "/x%zz/m", "has '%zz', but after a '%' two hexadecimal digits must follow", id="bad escape"
        ),
        pytest.param(
            "http://h:80a/",
            "has something other than a number after the ':' that follows the host",
            id="bad port",
        ),
        pytest.param("http://a b/", "has the character ' ' in its host name", id="blank in the host"),
        pytest.param(
            "http://a%41/", "has the percent-escape '%41' in its host name", id="escape in the host"
        ),
        pytest.param("http://[::1/", "has a '[' in its host that no ']' closes", id="open bracket"),
        pytest.param("http://a[::1]/", "has a '[' inside its host name", id="bracket inside"),
        pytest.param(
            "http://[x]/",
            "has brackets around something that is not an IPv6 address",
            id="no address in brackets",
        ),
        pytest.param(
            "http://[fe80::1%25a|b]/",
            "has the character '|' in its IPv6 zone",
            id="forbidden character in the zone",
        ),
        pytest.param(
            "http://[fe80::1%25a%2f]/",
            "has a percent-escape in its IPv6 zone that stands for a character no zone may have",
            id="forbidden escape in the zone",
        ),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, message: str) -> None:
    assert go_url.parse(text) == GoURLError(message)


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hunter2/x@host/m.pb",
        "https://me:hunter2?x@host/m.pb",
        "https://me:hunter2%zz@host/m.pb",
        "https://me:hunter2<@host/m.pb",
        "https://me:hunter2[@host/m.pb",
    ],
)
def test_a_refusal_does_not_show_the_password(text: str) -> None:
    refused = go_url.parse(text)

    assert isinstance(refused, GoURLError)
    assert "hunter2" not in refused.message


def test_the_raw_path_is_the_path_as_written() -> None:
    parsed = go_url.parse("s3://b/a%20b/%2F?q#f")

    assert isinstance(parsed, GoURL)
    assert (parsed.raw_path, parsed.path) == ("/a%20b/%2F", "/a b//")


def test_paths_are_cleaned_as_go_cleans_them() -> None:
    assert {path: go_url.clean(path) for path in VECTORS["clean"]} == VECTORS["clean"]


def test_paths_are_joined_as_go_joins_them() -> None:
    assert [go_url.join(*vector["parts"]) for vector in VECTORS["join"]] == [
        vector["path"] for vector in VECTORS["join"]
    ]


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    assert isinstance(go_url.parse(text), GoURL | GoURLError)


@given(st.text(st.sampled_from("/.a%2eé"), max_size=30))
def test_a_clean_path_stays_as_it_is(path: str) -> None:
    clean = go_url.clean(path)

    assert go_url.clean(clean) == clean
    assert "//" not in clean
    assert not (clean.startswith("/") and ".." in clean.split("/"))
