from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest

from reconciler import json_log


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(clock: Clock) -> Iterator[Callable[[], list[dict[str, object]]]]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    json_log.set_up("info", clock, as_json=True, stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(capture=False)


def test_a_record_is_one_object_on_one_line(lines: Callable[[], list[dict[str, object]]]) -> None:
    logging.getLogger("x").info("two\nlines of %s", "größe", extra={"service": "n/s"})

    (line,) = lines()
    assert line["message"] == "two\nlines of größe"
    assert (line["level"], line["logger"], line["service"]) == ("info", "x", "n/s")
    assert set(line) == {"time", "level", "logger", "message", "service"}


def test_an_exception_comes_with_its_traceback(lines: Callable[[], list[dict[str, object]]]) -> None:
    try:
        int("why")
    except ValueError:
        logging.getLogger("x").exception("it failed")

    assert "ValueError: invalid literal" in str(lines()[0]["traceback"])


def test_what_repeats_itself_is_thinned_out_and_counted(
    lines: Callable[[], list[dict[str, object]]], clock: Clock
) -> None:
    log = logging.getLogger("x")

    def repeat() -> None:
        log.warning("again: %s", clock.now)

    for _ in range(100):
        repeat()
    log.warning("another")
    clock.now += 60
    repeat()

    found = lines()
    assert len(found) == 60 + 1 + 1
    assert found[-1]["suppressed"] == 40
