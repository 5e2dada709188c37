"""Strings in two arrays against Python's own lists of strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xorec.data.text import Text, gather_spans

strings = st.lists(st.text(max_size=20), max_size=30)


@given(strings)
def test_what_is_packed_comes_back(values: list[str]) -> None:
    text = Text.pack(values)
    assert list(text) == values
    assert len(text) == len(values)


@given(strings, st.data())
def test_take_is_a_list_of_items(values: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(values) - 1)) if values else st.just([]))
    taken = Text.pack(values).take(np.array(rows, dtype=np.int64))
    assert list(taken) == [values[row] for row in rows]
    assert Text.pack(values).strings(rows) == [values[row] for row in rows]


def test_rows_outside_are_refused() -> None:
    text = Text.pack(["a"])
    for row in (-1, 1):
        with pytest.raises(IndexError):
            text[row]
        with pytest.raises(IndexError):
            text.strings([0, row])


def test_bytes_that_are_no_utf8_survive() -> None:
    name = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert list(Text.pack([name])) == [name]


def test_gather_spans() -> None:
    places, offsets = gather_spans(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert places.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert offsets.tolist() == [0, 3, 5, 5, 8]
