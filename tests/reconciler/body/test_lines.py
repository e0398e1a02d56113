from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler import lines as lines_module
from reconciler.lines import TooLongError, lines


@given(st.lists(st.binary(max_size=8).map(lambda text: text.replace(b"\n", b"")), max_size=8), st.data())
def test_however_a_text_is_chunked_its_lines_are_the_same(texts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(text + b"\n" for text in texts)
    chunks = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        chunks.append(stream[:size])
        stream = stream[size:]

    assert list(lines(iter(chunks))) == [text for text in texts if text.strip()]


def test_a_last_line_that_was_cut_is_left_out() -> None:
    assert list(lines(iter([b"one\ntw"]))) == [b"one"]


def test_a_line_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LONGEST", 100)
    with pytest.raises(TooLongError):
        list(lines(iter([b"x" * 60, b"x" * 60])))
