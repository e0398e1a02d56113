"""The lock file: written sorted and commented, read back strictly, with the line of each mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedna_render import node_ports
from sedna_render.findings import Location
from sedna_render.node_ports import lock_text, parse_lock

TEXT = """\
# NodePort numbers given out by sedna-render: commit this file, so that every service keeps its number.
default/helmet 30012
site-b/helmet 30007
"""
NUMBERS = {"default/helmet": 30012, "site-b/helmet": 30007}


def test_the_text_says_what_it_is_and_is_sorted() -> None:
    assert lock_text(dict(reversed(NUMBERS.items()))) == TEXT


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param(TEXT, NUMBERS, id="as written"),
        pytest.param(TEXT.replace("\n", "\r\n"), NUMBERS, id="CRLF, as git writes on Windows"),
        pytest.param("\ufeff" + TEXT, NUMBERS, id="byte order mark"),
        pytest.param(TEXT.rstrip("\n"), NUMBERS, id="no newline at the end"),
        pytest.param(
            "site-b/helmet\t 30007 \n\n  # why\n default/helmet 30012", NUMBERS, id="blanks and comments"
        ),
        pytest.param("", {}, id="empty"),
    ],
)
def test_a_good_text_is_read_without_findings(text: str, expected: dict[str, int]) -> None:
    assert parse_lock(text, "sedna-render.lock") == (expected, [])


BAD_PORT = "the port is not a number from 1 to 65535"


@pytest.mark.parametrize(
    "line, message",
    [
        pytest.param("<<<<<<< HEAD", "is a mark of a git merge conflict", id="conflict begins"),
        pytest.param("||||||| base", "is a mark of a git merge conflict", id="conflict, base"),
        pytest.param("=======", "is a mark of a git merge conflict", id="conflict, middle"),
        pytest.param(">>>>>>> branch", "is a mark of a git merge conflict", id="conflict ends"),
        pytest.param(
            "default/helmet 30055", "default/helmet has a line already, line 2", id="a service twice"
        ),
        pytest.param(
            "default/other 30012",
            "30012 is given to default/other, but it is already that of default/helmet in line 2",
            id="a number twice, as after a merge",
        ),
        pytest.param("default/other", "is not of the form 'namespace/name port'", id="no port"),
        pytest.param("other 30001", "is not of the form 'namespace/name port'", id="no namespace"),
        pytest.param("/other 30001", "is not of the form 'namespace/name port'", id="empty namespace"),
        pytest.param("default/other 30001 x", "is not of the form 'namespace/name port'", id="more"),
        pytest.param(
            "default/other: 30001",
            "the service's name has the character ':', but only a-z, 0-9 and '-' are allowed",
            id="colon",
        ),
        pytest.param(
            "a/b/c 30001",
            "the namespace has the character '/', but only a-z, 0-9 and '-' are allowed",
            id="two slashes",
        ),
        pytest.param(
            "default/1cam 30001",
            "the service's name begins with '1', but must begin with a letter",
            id="invalid name",
        ),
        pytest.param("default/other 0", BAD_PORT, id="port 0"),
        pytest.param("default/other 65536", BAD_PORT, id="port 65536"),
        pytest.param("default/other 030001", BAD_PORT, id="leading zero"),
        pytest.param("default/other -1", BAD_PORT, id="negative"),
        pytest.param("default/other 3e4", BAD_PORT, id="no integer"),
        pytest.param("default/other ٣٠٠٠١", BAD_PORT, id="digits beyond ASCII"),
        pytest.param("default/other " + "9" * 5000, BAD_PORT, id="thousands of digits"),
        pytest.param("a/b 30001\ra/c 30002", "is not of the form 'namespace/name port'", id="CR inside"),
        pytest.param("\x00\x01", "is not of the form 'namespace/name port'", id="binary"),
    ],
)
def test_a_bad_line_is_an_error_at_its_place(line: str, message: str) -> None:
    numbers, findings = parse_lock(TEXT + line + "\n", "site/sedna-render.lock")

    assert numbers == NUMBERS
    assert [(found.rule, found.location, found.message) for found in findings] == [
        ("invalid-lock-file", Location("site/sedna-render.lock", 4, 1), message)
    ]
    assert findings[0].is_error
    assert findings[0].remedy


def test_every_bad_line_is_found_in_one_run() -> None:
    _, findings = parse_lock("<<<<<<< a\na/x 1\n=======\na/x 2\n>>>>>>> b\n", "l")

    assert [found.location.line for found in findings] == [1, 3, 4, 5]


NAME = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@given(st.dictionaries(st.builds("{}/{}".format, NAME, NAME), st.integers(1, 65535)))
def test_what_is_written_is_read_back(numbers: dict[str, int]) -> None:
    unique = {number: key for key, number in numbers.items()}
    written = {key: number for number, key in unique.items()}

    assert parse_lock(lock_text(written), "l") == (written, [])


@given(st.text())
def test_any_text_is_read_without_a_traceback(text: str) -> None:
    numbers, findings = parse_lock(text, "l")

    assert len(numbers) + len(findings) <= text.count("\n") + 1
    assert node_ports.parse_lock(lock_text(numbers), "l") == (numbers, [])
