"""Where an id stands: a table that is the same everywhere, and that a wrong file cannot misuse."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.text import IdTable, Text
from xorec.recommender.model_file import check_ids, pack_ids

# few letters and NUL, so that prefixes of each other are common
texts = st.lists(st.text(alphabet="a\0b", max_size=6) | st.text(max_size=9), unique=True)
integers = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True)


@given(texts | integers)
def test_buckets_have_every_row_once(raw: list[str] | list[int]) -> None:
    ids = Ids.of(raw)
    table = IdTable.of(ids.values)
    assert sorted(table.rows.tolist()) == list(range(len(raw)))
    assert all(begin <= end for begin, end in pairwise(table.starts.tolist()))
    assert (len(table.starts) - 1).bit_count() == 1


@given(st.tuples(texts, texts) | st.tuples(integers, integers), st.booleans())
def test_ids_of_a_whole_data_set_are_found_as_one_by_one(
    lists: tuple[list[Any], list[Any]], in_order: bool
) -> None:
    known, asked = lists
    ids = Ids.of(sorted(known) if in_order else known)
    others = Ids.of({*asked, *known[:3]})
    assert ids.find_many(others).tolist() == [ids.find(one) for one in others]


def test_the_table_is_the_same_on_every_machine() -> None:
    text, numbers = (
        IdTable.of(Text.pack(["tea", "milk", "rice"])),
        IdTable.of(np.array([30, 10, 20])),
    )
    assert (text.starts.tolist(), text.rows.tolist()) == ([0, 0, 0, 1, 1, 1, 1, 2, 3], [0, 1, 2])
    assert (numbers.starts.tolist(), numbers.rows.tolist()) == (
        [0, 0, 0, 0, 0, 1, 2, 3, 3],
        [0, 2, 1],
    )


def test_integers_that_ascend_need_no_table() -> None:
    assert Ids.of([1, 5, 9]).table is None
    assert Ids.of([5, 1]).table is not None
    assert Ids.of([1, 5, 9]).find(5) == 1


def test_ids_that_were_asked_can_be_pickled() -> None:
    for raw in (["b", "a"], [2, 1], [1, 2]):
        ids = Ids.of(raw)
        assert ids.find(raw[1]) == 1
        assert pickle.loads(pickle.dumps(ids)).find(raw[1]) == 1


@pytest.mark.parametrize("raw", [["b", "a", "c"], [2, 1, 3]])
def test_a_file_keeps_the_table_and_one_without_it_is_read_too(raw: list[str] | list[int]) -> None:
    ids = Ids.of(raw)
    tensors = pack_ids("item_ids", ids)
    assert vars(check_ids("item_ids", ids.kind, tensors, values=True))["table"].rows is not None
    plain = {name: tensor for name, tensor in tensors.items() if ".table." not in name}
    assert "table" not in vars(check_ids("item_ids", ids.kind, plain, values=True))
    assert check_ids("item_ids", ids.kind, plain, values=True).find_many(raw).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows", lambda rows: rows + 1, "value 3 but 0 to 2"),
        ("rows", lambda rows: rows - 1, "value -1 but 0 to 2"),
        ("rows", lambda rows: rows[:2], "2 should be 3"),
        ("rows", lambda rows: rows.astype(np.int64), "int64"),
        ("starts", lambda starts: starts[::-1].copy(), "does not rise"),
        ("starts", lambda starts: starts[:1] * 0, "does not rise"),
        ("starts", lambda starts: np.array([0, 1, 2, 3], np.int32), "no power of two"),
    ],
)
def test_a_wrong_table_is_refused(name: str, change: object, message: str) -> None:
    ids = Ids.of(["b", "a", "c"])
    tensors = pack_ids("item_ids", ids)
    tensors[f"item_ids.table.{name}"] = change(tensors[f"item_ids.table.{name}"])  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        check_ids("item_ids", "str", tensors, values=True)


def test_a_table_of_other_ids_loses_ids_and_nothing_else() -> None:
    ids = Ids.of(["b", "a", "c"])
    other = IdTable(np.array([0, 0, 3], np.int32), np.zeros(3, np.int32))
    rows = Ids("str", ids.values, other).find_many(["a", "b", "c", "d"])
    assert set(rows.tolist()) <= {-1, 0}
