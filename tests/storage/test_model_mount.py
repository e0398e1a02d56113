"""From a Model's URL to its mount: Sedna's own answers, the named deviations, and every refusal."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import go_url, model_mount
from sedna_render.model_mount import ClaimMount, Download, HostPathMount, NoMount, Refused, plan

GOLDEN_FOLDER = os.path.join(os.path.dirname(__file__), "..", "golden")


def golden(release: str) -> list[dict[str, Any]]:
    with open(os.path.join(GOLDEN_FOLDER, f"{release}_vectors.json"), encoding="utf-8") as stream:
        vectors: list[dict[str, Any]] = json.load(stream)["mountURL"]
    return vectors


SEED, DEPLOYMENT = golden("seed"), golden("deployment")

#: What Sedna accepts, or crashes on, and we refuse: in each case no worker could have read the model.
REFUSED = {
    "": "missing-field",
    "/": "model-url-root",
    "/model.pb": "model-url-root",
    "/data/models/": "model-url-trailing-slash",
    "/data//x/../m.pb": "model-url-escapes",
    "//host/p/m.pb": "model-url-unparseable",
    "models/m.pb": "model-url-relative",
    "./m.pb": "model-url-relative",
    "m.pb": "model-url-relative",
    "/my%20dir/m.pb": "model-url-escapes",
    "/a#b/m.pb": "model-url-query",
    "/a?b=c/m.pb": "model-url-query",
    "a:b/m.pb": "model-url-scheme",
    "1a:b": "model-url-unparseable",
    ":x": "model-url-unparseable",
    "%zz": "model-url-unparseable",
    "/x%zz/m.pb": "model-url-unparseable",
    "s3://bucket": "model-url-root",
    "s3://bucket/": "model-url-root",
    "s3://bucket/../../etc/passwd": "model-url-escapes",
    "s3:///m.pb": "model-url-unparseable",
    "s3://u:p@bucket/m.pb": "model-url-unparseable",
    "https://h/a/m.tar.gz": "model-archive",
    "http://h": "model-url-root",
    "file:///m.pb": "model-url-scheme",
    "file://m.pb": "model-url-scheme",
    "obs://b/m.pb": "model-url-scheme",
    "ftp://h/m.pb": "model-url-scheme",
    "hdfs://n/m": "model-url-scheme",
    "gs://b/m.pb": "model-url-scheme",
    "\t/x": "model-url-unparseable",
    "/x\x7f/m.pb": "model-url-unparseable",
}

#: The scheme is handed on in lower case: the initializer does not know another one.
ARGUMENTS = {"S3://bucket/m.pb": "s3://bucket/m.pb", "HTTP://H/a.pb": "http://H/a.pb"}


def expected_of(vector: dict[str, Any], prefix: str) -> tuple[str, str, str]:
    """Folder or download folder, mount path, MODEL_URL: Sedna's, with the two deviations in spelling."""
    container = vector["containerPath"].replace(prefix, "/home/data", 1)
    mount = vector["mountPath"].replace(prefix, "/home/data", 1).removesuffix("/")
    return vector["hostPath"] or vector["downloadDstDir"], mount, container


def answer(found: model_mount.Plan) -> tuple[str, str, str]:
    if isinstance(found, HostPathMount):
        return found.folder, found.mount_path, found.model_url
    assert isinstance(found, Download)
    return found.folder, "/downloads", found.model_url


def test_there_are_44_golden_urls_and_each_is_either_equal_or_named() -> None:
    assert len(SEED) == len(DEPLOYMENT) == 44
    assert REFUSED.keys() < {vector["url"] for vector in SEED}


@pytest.mark.parametrize(
    "vector, prefix",
    [
        *[pytest.param(vector, "/hostpath", id=f"seed {vector['url']!a}") for vector in SEED],
        *[pytest.param(vector, "/home/data", id=f"v0.7 {vector['url']!a}") for vector in DEPLOYMENT],
    ],
)
def test_a_golden_url_becomes_what_sedna_makes_of_it_or_is_refused(
    vector: dict[str, Any], prefix: str
) -> None:
    url = vector["url"]
    found = plan(url)

    if url in REFUSED:
        assert isinstance(found, Refused)
        assert found.rule == REFUSED[url]
    elif url.startswith("pvc:"):
        assert found == ClaimMount("x", "m.pb", "/pvc/x", "/pvc/x/m.pb")
    else:
        assert answer(found) == expected_of(vector, prefix)
        if isinstance(found, Download):
            assert found.url == ARGUMENTS.get(url, vector["downloadSrcURL"])


@pytest.mark.parametrize("vector", [vector for vector in SEED if "panic" in vector], ids=ascii)
def test_what_crashes_sedna_is_refused_as_unparseable(vector: dict[str, Any]) -> None:
    assert isinstance(found := plan(vector["url"]), Refused)
    assert found.rule == "model-url-unparseable"


@pytest.mark.parametrize(
    "url, expected",
    [
        pytest.param(
            "/data/./m.pb",
            HostPathMount("/data/./", "/home/data/data", "/home/data/data/m.pb"),
            id="a dot inside",
        ),
        pytest.param(
            "/data//m.pb",
            HostPathMount("/data//", "/home/data/data", "/home/data/data/m.pb"),
            id="two slashes",
        ),
        pytest.param(
            "/模型/m.pb",
            HostPathMount("/模型/", "/home/data/模型", "/home/data/模型/m.pb"),
            id="beyond ASCII",
        ),
        pytest.param(
            "/a/$(X)", HostPathMount("/a/", "/home/data/a", "/home/data/a/$(X)"), id="a dollar stays single"
        ),
        pytest.param("/a/..b", HostPathMount("/a/", "/home/data/a", "/home/data/a/..b"), id="dots in a name"),
        pytest.param(
            "/a/m.zip", HostPathMount("/a/", "/home/data/a", "/home/data/a/m.zip"), id="no one unpacks it"
        ),
        pytest.param(
            "http://h/a/m%20x.pb",
            Download("http://h/a/m%20x.pb", "http", "/downloads/h/a/", "/downloads/h/a/m%20x.pb"),
            id="the initializer does not decode the file's name",
        ),
        pytest.param(
            "http://h/a%20b/m.pb",
            Download("http://h/a%20b/m.pb", "http", "/downloads/h/a b/", "/downloads/h/a b/m.pb"),
            id="the folder is ours to name",
        ),
        pytest.param(
            "http://h/a%2Fb/m%2Fx.pb",
            Download("http://h/a%2Fb/m%2Fx.pb", "http", "/downloads/h/a/b/", "/downloads/h/a/b/m%2Fx.pb"),
            id="escaped slashes",
        ),
        pytest.param(
            "http://h/a;v=1/m.pb;v=2",
            Download("http://h/a;v=1/m.pb;v=2", "http", "/downloads/h/a;v=1/", "/downloads/h/a;v=1/m.pb"),
            id="the initializer cuts parameters off the file's name",
        ),
        pytest.param(
            "https://[fd00::1]:8443/m.pb",
            Download(
                "https://[fd00::1]:8443/m.pb",
                "https",
                "/downloads/[fd00::1]:8443/",
                "/downloads/[fd00::1]:8443/m.pb",
            ),
            id="IPv6",
        ),
        pytest.param(
            "https://h/m.pb#part",
            Download("https://h/m.pb#part", "https", "/downloads/h/", "/downloads/h/m.pb"),
            id="a fragment",
        ),
        pytest.param(
            "https://h/m.pb.bz2",
            Download("https://h/m.pb.bz2", "https", "/downloads/h/", "/downloads/h/m.pb.bz2"),
            id="compressed, but left alone by the initializer",
        ),
        pytest.param(
            "s3://b/m.pb.gz",
            Download("s3://b/m.pb.gz", "s3", "/downloads/b/", "/downloads/b/m.pb.gz"),
            id="gzip is only unzipped over http",
        ),
        pytest.param(
            "s3://b/a b/m.pb",
            Download("s3://b/a b/m.pb", "s3", "/downloads/b/a b/", "/downloads/b/a b/m.pb"),
            id="blank",
        ),
        pytest.param(
            "pvc://models", ClaimMount("models", "", "/pvc/models", "/pvc/models"), id="a whole claim"
        ),
        pytest.param(
            "pvc://models/", ClaimMount("models", "", "/pvc/models", "/pvc/models"), id="a claim and a slash"
        ),
        pytest.param(
            "pvc://models.v1/a//b%20c/",
            ClaimMount("models.v1", "a/b c", "/pvc/models.v1", "/pvc/models.v1/a/b c"),
            id="a folder of a claim",
        ),
    ],
)
def test_a_url_is_planned_where_the_file_will_really_be(url: str, expected: model_mount.Plan) -> None:
    assert plan(url) == expected


@pytest.mark.parametrize(
    "url, rule, message, remedy",
    [
        pytest.param("", "missing-field", "is empty", "write /folder/file", id="empty"),
        pytest.param(
            " /data/m.pb", "model-url-relative", "begins with a blank", "write '/data/m.pb'", id="a blank"
        ),
        pytest.param("*", "model-url-relative", "is a relative path", "write /folder/file", id="asterisk"),
        pytest.param(
            "/.", "model-url-root", "is the node's root folder", "two levels down", id="root in disguise"
        ),
        pytest.param("/./m.pb", "model-url-root", "lies directly in '/'", "/models/m.pb", id="root, dotted"),
        pytest.param(
            "///m.pb", "model-url-unparseable", "begins with '//'", "write '/m.pb'", id="three slashes"
        ),
        pytest.param(
            "/data/.", "model-url-trailing-slash", "ends in a slash", "write '/data'", id="a dot at the end"
        ),
        pytest.param("/data/m?", "model-url-query", "has a '?' or '#'", "rename", id="a bare question mark"),
        pytest.param("/data/m#", "model-url-query", "has a '?' or '#'", "rename", id="a bare hash"),
        pytest.param(
            "/100%25/m", "model-url-escapes", "percent-escapes", "cannot be used", id="a percent sign itself"
        ),
        pytest.param(
            "/my%20dir/m", "model-url-escapes", "percent-escapes", "'/my dir/m'", id="an escaped blank"
        ),
        pytest.param("/a/%2e%2e/m", "model-url-escapes", "a step upward", "without '..'", id="escaped dots"),
        pytest.param("/a/..%2fm", "model-url-escapes", "a step upward", "without '..'", id="escaped slash"),
        pytest.param("/x%zz/m", "model-url-unparseable", "has '%zz'", "cannot be used", id="a bad escape"),
        pytest.param(
            "/x%00/m", "model-url-unparseable", "control characters", "without such", id="an escaped NUL"
        ),
        pytest.param("s3://b/%ff", "model-url-unparseable", "no UTF-8", "without such", id="escaped bytes"),
        pytest.param("/x\ud800/m", "model-url-unparseable", "'\\ud800'", "delete", id="half a character"),
        pytest.param("s3:b/m", "model-url-unparseable", "has no '//' after 's3:'", "s3://", id="no slashes"),
        pytest.param(
            "s3:/b/m", "model-url-unparseable", "names no bucket", "write s3://bucket/key", id="one slash"
        ),
        pytest.param(
            "http:///m", "model-url-unparseable", "names no server", "write http://host/path", id="no host"
        ),
        pytest.param(
            "http://../m", "model-url-escapes", "a step upward", "without '..'", id="dots for a host"
        ),
        pytest.param(
            "s3://b:9000/k", "model-url-unparseable", "has a port", "s3-endpoint", id="an endpoint in s3"
        ),
        pytest.param("s3://b/k?x", "model-url-query", "has a '?' or '#'", "https://", id="a query in s3"),
        pytest.param("s3://b/k#x", "model-url-query", "has a '?' or '#'", "https://", id="a fragment in s3"),
        pytest.param(
            "s3://b/a//k", "model-url-unparseable", "'//'", "single slashes", id="two slashes in s3"
        ),
        pytest.param("s3://b/./k", "model-url-unparseable", "'/./'", "single slashes", id="a dot in s3"),
        pytest.param("s3://b/m.TGZ", "model-archive", "is an archive", "unpacked", id="an archive in s3"),
        pytest.param(
            "https://h/m.tar.xz?v=1", "model-archive", "is an archive", "unpacked", id="an archive, query"
        ),
        pytest.param("http://h/m.gz", "model-archive", "is compressed", "uncompressed", id="gzip over http"),
        pytest.param(
            "http://h/d/", "model-url-trailing-slash", "names no file", "one file", id="a folder over http"
        ),
        pytest.param("http://h//", "model-url-root", "a whole server", "http://host/path", id="slashes only"),
        pytest.param("http://h/.", "model-url-root", "names no file", "one file", id="a dot over http"),
        pytest.param("http://h/;v=1", "model-url-root", "names no file", "one file", id="parameters only"),
        pytest.param(
            "pvc:///m", "model-url-unparseable", "names no claim", "pvc://claim/path", id="no claim"
        ),
        pytest.param(
            "pvc://u@c/m", "model-url-unparseable", "has a user name", "pvc://claim/path", id="user in pvc"
        ),
        pytest.param(
            "pvc://C/m", "invalid-name", "the character 'C'", "pvc://claim/path", id="invalid claim"
        ),
        pytest.param(
            "pvc://c:1/m", "invalid-name", "the character ':'", "pvc://claim/path", id="port in pvc"
        ),
        pytest.param(
            "pvc://c/m?x", "model-url-query", "query or fragment", "pvc://claim/path", id="query in pvc"
        ),
        pytest.param("pvc://c/../d", "model-url-escapes", "a step upward", "without '..'", id="dots in pvc"),
        pytest.param("file:///a/m", "model-url-scheme", "'file'", "the path alone: '/a/m'", id="file"),
        pytest.param(
            "file://a/m", "model-url-scheme", "'file'", "the path alone: '/a/m'", id="file, two slashes"
        ),
        pytest.param("file:m", "model-url-scheme", "'file'", "write /folder/file", id="file, no slash"),
        pytest.param("obs://b/m", "model-url-scheme", "'obs'", "S3 interface", id="another object store"),
        pytest.param("hf://Qwen/Qwen2.5", "model-url-scheme", "'hf'", "model-mount", id="a hub"),
        pytest.param("sftp://h/m", "model-url-scheme", "'sftp'", "pvc://", id="a server"),
        pytest.param("C:\\m.pb", "model-url-scheme", "'c'", "Windows", id="Windows"),
        pytest.param(
            "localhost:80/m", "model-url-scheme", "'localhost'", "http:// before it", id="host and port"
        ),
        pytest.param(
            "htps://h/m", "model-url-scheme", "'htps'", "http(s)://host/path", id="a typing mistake"
        ),
    ],
)
def test_a_url_that_cannot_work_is_refused_with_its_remedy(
    url: str, rule: str, message: str, remedy: str
) -> None:
    found = plan(url)

    assert isinstance(found, Refused)
    assert found.rule == rule
    assert message in found.message
    assert remedy in found.remedy


@pytest.mark.parametrize(
    "url, rules, message",
    [
        pytest.param("https://h/m.pb?v=3", ["secret-value-in-git"], "has a query", id="a query"),
        pytest.param(
            "https://h/m.pb?a=1&X-Amz-Signature=x", ["secret-value-in-git"], "looks signed", id="signed"
        ),
        pytest.param(
            "https://me:pw@h/m.pb", ["secret-value-in-git"], "a user name or password", id="password"
        ),
        pytest.param("https://me:pw@h/m.pb?token=x", ["secret-value-in-git"] * 2, "looks signed", id="both"),
        pytest.param("s3://b/a%20b/m.pb", ["model-url-escapes"], "just these characters", id="escapes in s3"),
        pytest.param("s3://b/models/", ["model-url-trailing-slash"], "up to v0.3.0", id="a folder in s3"),
        pytest.param("/data/m.pb", [], "", id="nothing to say"),
    ],
)
def test_what_works_but_is_risky_is_a_warning(url: str, rules: list[str], message: str) -> None:
    found = plan(url)

    assert not isinstance(found, Refused)
    assert [warning.rule for warning in found.warnings] == rules
    assert message in "".join(warning.message for warning in found.warnings)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.deepseek.com/v1",
        "Qwen/Qwen2.5-0.5B-Instruct",
        "%zz",
        "1a:b",
        "file:///m.pb",
        "/data/models/",
    ],
)
def test_without_a_mount_the_url_is_passed_on_as_it_is_written(url: str) -> None:
    assert plan(url, mount=False) == NoMount(url)


@pytest.mark.parametrize("url, rule", [("", "missing-field"), ("a\x00", "model-url-unparseable")])
def test_without_a_mount_only_what_no_environment_can_hold_is_refused(url: str, rule: str) -> None:
    assert isinstance(found := plan(url, mount=False), Refused)
    assert found.rule == rule


def test_without_a_mount_a_secret_is_still_a_secret() -> None:
    assert isinstance(found := plan("https://h/v1?api_key=x", mount=False), NoMount)
    assert [warning.rule for warning in found.warnings] == ["secret-value-in-git"]


@pytest.mark.parametrize("scheme", ["s3", "http", "https", "pvc", "ftp", "file", "obs"])
@pytest.mark.parametrize(
    "rest", ["m.pb", "../m.pb", "", "m.tar", "%zz", "m?hunter2=1", "m?sig=hunter2#hunter2", "a//b"]
)
def test_no_message_shows_a_password_or_a_signature(scheme: str, rest: str) -> None:
    found = plan(f"{scheme}://me:hunter2@host/{rest}")

    said = [found.message, found.remedy] if isinstance(found, Refused) else list(found.warnings)
    assert "hunter2" not in repr(said)


PIECES = st.sampled_from(
    [
        "/",
        "//",
        "..",
        ".",
        "%2e",
        "%2F",
        "%00",
        "%",
        "a",
        "b c",
        "é",
        "s3:",
        "s3://",
        "http://",
        "pvc://",
        "h",
        ":",
        "@",
        "?",
        "#",
        ";",
        "\\",
        "~",
        "$",
        "$(A)",
        "/downloads",
        "/home/data",
        "[::1]",
        "\n",
        "�",
        ".tar",
        "80",
    ]
)
URLS = st.text(st.characters(), max_size=40) | st.lists(PIECES, max_size=10).map("".join)
ROOTS = {HostPathMount: "/home/data/", Download: "/downloads/"}


@given(URLS, st.booleans())
def test_any_text_is_planned_and_no_model_leaves_its_folder(url: str, mount: bool) -> None:
    found = plan(url, mount=mount)

    if isinstance(found, Refused):
        assert found.message
        assert found.remedy
    elif isinstance(found, NoMount):
        assert (found.model_url, mount) == (url, False)
    else:
        assert go_url.clean(found.model_url) == found.model_url
        root = f"/pvc/{found.claim}" if isinstance(found, ClaimMount) else ROOTS[type(found)]
        assert found.model_url.startswith(root)
        assert found.model_url != root or isinstance(found, ClaimMount)


@given(URLS)
def test_the_model_lies_in_what_is_mounted_or_downloaded(url: str) -> None:
    found = plan(url)

    if isinstance(found, HostPathMount):
        inside = found.model_url.removeprefix(f"{found.mount_path}/")
        assert "/" not in inside
        assert found.folder + inside == url
        assert found.mount_path == f"/home/data{go_url.clean(found.folder)}"
    elif isinstance(found, Download):
        assert found.folder.startswith("/downloads/")
        assert "/" not in found.model_url.removeprefix(found.folder)


@given(st.from_regex(model_mount._PLAIN_HOST_PATH, fullmatch=True))
def test_a_plain_path_of_a_node_is_planned_as_by_gos_rules(url: str) -> None:
    assert plan(url) == model_mount._plan(url, mount=True)
