"""Names: what Kubernetes accepts, and what is derived, hashed or converted, pinned by vectors."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import names

HERE = os.path.dirname(__file__)
with open(os.path.join(HERE, "..", "golden", "seed_vectors.json"), encoding="utf-8") as stream:
    CONVERTED: dict[str, str] = json.load(stream)["convertK8SValidName"]
with open(os.path.join(HERE, "..", "storage", "go_url_vectors.json"), encoding="utf-8") as stream:
    LOWERED: dict[str, str] = json.load(stream)["lower"]

VALID_NAME = st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
SUFFIX = st.sampled_from(["", "-cloud", "-edge", "-deployment-cloud", "-deployment-edge", "-cloud-0123abcd"])
LONG = "a" * 63


@pytest.mark.parametrize(
    "check, text, problem",
    [
        pytest.param(names.dns_1035_label, "helmet-detection-2", None, id="a Service's name"),
        pytest.param(names.dns_1035_label, "a", None, id="one letter"),
        pytest.param(names.dns_1035_label, LONG, None, id="63 characters"),
        pytest.param(
            names.dns_1035_label,
            LONG + "a",
            "has 64 characters, but at most 63 are allowed",
            id="64 characters",
        ),
        pytest.param(names.dns_1035_label, "", "is empty", id="empty"),
        pytest.param(
            names.dns_1035_label, "1cam", "begins with '1', but must begin with a letter", id="digit first"
        ),
        pytest.param(
            names.dns_1035_label, "-a", "begins with '-', but must begin with a letter", id="dash first"
        ),
        pytest.param(
            names.dns_1035_label, "a-", "ends in '-', but must end in a letter or a digit", id="dash last"
        ),
        pytest.param(
            names.dns_1035_label,
            "my.ji",
            "has the character '.', but only a-z, 0-9 and '-' are allowed",
            id="dot",
        ),
        pytest.param(
            names.dns_1035_label,
            "Helmet",
            "has the character 'H', but only a-z, 0-9 and '-' are allowed",
            id="upper",
        ),
        pytest.param(
            names.dns_1035_label,
            "helmet\n",
            "has the character '\\n', but only a-z, 0-9 and '-' are allowed",
            id="newline at the end",
        ),
        pytest.param(
            names.dns_1035_label,
            "helm\u00e9t",
            "has the character '\\xe9', but only a-z, 0-9 and '-' are allowed",
            id="letter beyond ASCII",
        ),
        pytest.param(
            names.dns_1035_label,
            "cam\u0663",
            "has the character '\\u0663', but only a-z, 0-9 and '-' are allowed",
            id="digit beyond ASCII",
        ),
        pytest.param(names.dns_1123_label, "1cam", None, id="a namespace may begin with a digit"),
        pytest.param(
            names.dns_1123_label,
            "-",
            "begins with '-', but must begin with a letter or a digit",
            id="dash only",
        ),
        pytest.param(
            names.dns_1123_label,
            "a_b",
            "has the character '_', but only a-z, 0-9 and '-' are allowed",
            id="underscore",
        ),
        pytest.param(names.dns_1123_subdomain, "edge-1.site-2.example", None, id="a node's name"),
        pytest.param(names.dns_1123_subdomain, "a" * 253, None, id="253 characters"),
        pytest.param(
            names.dns_1123_subdomain,
            "a" * 254,
            "has 254 characters, but at most 253 are allowed",
            id="254 characters",
        ),
        pytest.param(
            names.dns_1123_subdomain,
            "a..b",
            "has a part between two dots that does not begin and end with a letter or a digit",
            id="two dots",
        ),
        pytest.param(
            names.dns_1123_subdomain,
            "a.-b",
            "has a part between two dots that does not begin and end with a letter or a digit",
            id="dash after a dot",
        ),
        pytest.param(
            names.dns_1123_subdomain,
            ".a",
            "begins with '.', but must begin with a letter or a digit",
            id="dot first",
        ),
        pytest.param(names.label_value, "", None, id="a label may be empty"),
        pytest.param(names.label_value, "V1.0_beta-2", None, id="a label"),
        pytest.param(
            names.label_value,
            "_a",
            "begins with '_', but must begin with a letter or a digit",
            id="underscore first",
        ),
        pytest.param(
            names.label_value,
            "a b",
            "has the character ' ', but only letters, digits, '-', '_' and '.' are allowed",
            id="blank in a label",
        ),
        pytest.param(
            names.label_value, LONG + "a", "has 64 characters, but at most 63 are allowed", id="a label of 64"
        ),
        pytest.param(names.label_key, "app", None, id="a key without prefix"),
        pytest.param(
            names.label_key, "jointinferenceservice.sedna.io/worker-type", None, id="a key with prefix"
        ),
        pytest.param(names.label_key, "", "is empty", id="an empty key"),
        pytest.param(names.label_key, "a.b/", "has no name after the '/'", id="a prefix only"),
        pytest.param(names.label_key, "/a", "the part before the '/' is empty", id="an empty prefix"),
        pytest.param(
            names.label_key,
            "A.b/c",
            "the part before the '/' has the character 'A', but only a-z, 0-9, '-' and '.' are allowed",
            id="a prefix in upper case",
        ),
        pytest.param(
            names.label_key,
            "a/b/c",
            "the part before the '/' has the character '/', but only a-z, 0-9, '-' and '.' are allowed",
            id="two slashes",
        ),
    ],
)
def test_a_name_is_valid_or_it_is_said_why_not(
    check: Callable[[str], str | None], text: str, problem: str | None
) -> None:
    assert check(text) == problem


@given(st.text(max_size=70))
def test_what_is_invalid_always_has_a_reason(text: str) -> None:
    is_label = re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text, re.ASCII) is not None and len(text) <= 63

    assert (names.dns_1123_label(text) is None) == is_label
    assert (names.dns_1035_label(text) is None) == (is_label and text[0].isalpha())


@pytest.mark.parametrize(
    "stem, suffix, expected",
    [
        pytest.param("helmet", "-cloud", ("helmet-cloud", False), id="short"),
        pytest.param("a" * 57, "-cloud", ("a" * 57 + "-cloud", False), id="just 63"),
        pytest.param("a" * 58, "-cloud", ("a" * 48 + "-433de657-cloud", True), id="64"),
        pytest.param("a" * 63, "-deployment-edge", ("a" * 38 + "-d9cc9e68-deployment-edge", True), id="long"),
        pytest.param(
            "a" * 47 + "-" + "a" * 10,
            "-cloud",
            ("a" * 47 + "-44289a94-cloud", True),
            id="no dash before the hash",
        ),
        pytest.param(
            "hpa-" + "a" * 63,
            "-deployment-cloud",
            ("hpa-" + "a" * 33 + "-b1745537-deployment-cloud", True),
            id="hpa",
        ),
    ],
)
def test_a_derived_name_over_63_is_shortened_and_keeps_its_suffix(
    stem: str, suffix: str, expected: tuple[str, bool]
) -> None:
    assert names.derived(stem, suffix) == expected


def test_a_suffix_that_leaves_no_room_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="leaves no room"):
        names.derived("a", "-" + "b" * 63)


@given(VALID_NAME, SUFFIX)
def test_a_derived_name_is_always_valid_and_ends_in_its_suffix(stem: str, suffix: str) -> None:
    name, shortened = names.derived(stem, suffix)

    assert names.dns_1035_label(name) is None
    assert name.endswith(suffix)
    assert shortened == (len(stem + suffix) > 63)


@given(st.lists(VALID_NAME, unique=True, max_size=8), SUFFIX)
def test_different_names_give_different_derived_names(stems: list[str], suffix: str) -> None:
    # The heads alike: only the hash can tell them apart.
    longer = ["a" * 40 + stem[-23:] for stem in stems]

    for group in (stems, sorted(set(longer))):
        assert len({names.derived(stem, suffix).name for stem in group}) == len(group)


@pytest.mark.parametrize(
    "worker, expected",
    [
        (("default", "helmet-detection", "cloud"), "cloudworker-9ckq2"),
        (("default", "helmet-detection", "edge"), "edgeworker-fpbjm"),
        (("site-b", "helmet-detection", "edge"), "edgeworker-pv89f"),
        (("default", "a", "cloud"), "cloudworker-bz4rs"),
    ],
)
def test_worker_names_never_change(worker: tuple[str, str, str], expected: str) -> None:
    assert names.worker_name(*worker) == expected


@given(st.text(), st.text(), st.sampled_from(["cloud", "edge"]))
def test_worker_names_have_five_characters_of_sednas_alphabet(namespace: str, name: str, worker: str) -> None:
    assert re.fullmatch(
        rf"{worker}worker-[bcdfghjklmnpqrstvwxz2456789]{{5}}", names.worker_name(namespace, name, worker)
    )


@given(st.text())
def test_the_hash_is_sha_256_of_the_utf_8_text_as_a_big_endian_integer(text: str) -> None:
    digest = hashlib.sha256(text.encode())

    assert names.stable_hash(text) == int(digest.hexdigest(), 16)
    assert names.short_hash(text) == digest.hexdigest()[:8]


def test_a_hash_of_half_a_character_is_no_traceback() -> None:
    assert names.short_hash("\ud800") == hashlib.sha256(b"\xed\xa0\x80").hexdigest()[:8]


@pytest.mark.parametrize("missing", [[], ["_sha2", "_sha256"]], ids=["its own SHA-256", "OpenSSL's"])
def test_every_interpreter_has_a_sha_256(missing: list[str]) -> None:
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({missing!r}))\n"
        "from sedna_render import names\n"
        "print(names.short_hash('default/a'), '_hashlib' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    # hashlib brings OpenSSL along, which costs half as much as the start of the interpreter.
    assert found.stdout.split() == ["9efb3611", str(bool(missing))]


@pytest.mark.parametrize(("path", "expected"), CONVERTED.items(), ids=ascii)
def test_paths_become_names_as_in_sedna(path: str, expected: str) -> None:
    assert names.converted(path) == expected


@pytest.mark.parametrize(("letter", "lower"), LOWERED.items(), ids=ascii)
def test_letters_are_lowered_as_go_lowers_them(letter: str, lower: str) -> None:
    assert names.converted(f"/a{letter}b/") == f"a{lower}bz"


@pytest.mark.parametrize(
    "path, taken, expected",
    [
        pytest.param("/data/big_model/", [], "data-big-modelz", id="Sedna's name"),
        pytest.param("/a_b/", ["data"], "a-bz", id="free"),
        pytest.param("/a_b/", ["a-bz"], "a-bz-6068df6a", id="taken"),
        pytest.param("/a_b/", ["a-bz", "a-bz-6068df6a"], "a-bz-cf4a2c10", id="taken twice"),
        pytest.param("/-a/", [], "az-382f7ea5", id="Sedna's name begins with a dash"),
        pytest.param("/", [], "model-8a5edab2", id="Sedna's name is empty"),
        pytest.param("---", [], "z-cb3f91d5", id="dashes only"),
        pytest.param("/" + "ab/" * 30, ["ab-" * 20 + "abz"], "ab-" * 17 + "ab-38e3346d", id="long and taken"),
    ],
)
def test_a_volume_has_sednas_name_or_one_with_a_hash(path: str, taken: list[str], expected: str) -> None:
    assert names.volume_name(path, taken) == expected


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=5))
def test_a_volume_name_is_valid_and_free(path: str, others: list[str]) -> None:
    taken: set[str] = set()
    for text in [*others, path, path, path]:
        name = names.volume_name(text, taken)

        assert names.dns_1123_label(name) is None
        assert name not in taken
        taken.add(name)
