"""Ids of every type come back and are found; strings in two arrays against lists of strings."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xorec.core.errors import DataError
from xorec.data import ids as ids_module
from xorec.data.ids import NEIGHBOURS, Ids, near_id
from xorec.data.text import Text, gather_spans

KINDS: dict[str, list[Hashable]] = {
    "int64": [3, -1, 2**62],
    "str": ["b", "", "ä", "a b"],
    "bool": [True, False],
    "int": [2**70, 5],
    "float": [0.1, -2.5, 1e300],
    "bytes": [b"\xff\x00", b"a"],
    "date": [datetime.date(2020, 1, 2), datetime.date(1999, 1, 1)],
    "datetime": [datetime.datetime(2020, 1, 2, 3, 4, 5, 6)],
    "uuid": [uuid.UUID(int=7), uuid.UUID(int=2**100)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_and_is_found(kind: str) -> None:
    raw = KINDS[kind]
    ids = Ids.of(raw)
    assert ids.kind == kind
    assert list(ids) == raw
    assert [type(value) for value in ids] == [type(value) for value in raw]
    assert [ids.find(value) for value in raw] == list(range(len(raw)))
    assert list(ids.select(np.arange(len(raw))[::-1])) == raw[::-1]
    assert ids == Ids.of(raw)


@given(st.sets(st.text(max_size=12), max_size=200) | st.sets(st.integers(-500, 500), max_size=200))
def test_find_many_and_find_agree_with_a_dictionary(values: set[Hashable]) -> None:
    ids = Ids.of(values)
    rows = {value: row for row, value in enumerate(ids)}
    asked = [*values, "missing one", 10**6, None, 1.5]
    wanted = [rows.get(value, -1) for value in asked]
    assert ids.find_many(asked).tolist() == wanted
    assert [ids.find(value) for value in asked] == wanted


def test_another_type_is_not_found() -> None:
    assert Ids.of([1, 0]).find(True) == -1
    assert Ids.of([1]).find("1") == -1
    assert Ids.of(["1"]).find(1) == -1
    assert Ids.of([1.0]).find(1) == 0
    assert Ids.of([5]).find(np.int32(5)) == 0


def test_sorted_takes_each_once() -> None:
    assert list(Ids.sorted([3, 1, 3, 2])) == [1, 2, 3]
    with pytest.raises(DataError, match="int, str cannot be kept"):
        Ids.sorted([1, "a"])
    with pytest.raises(DataError, match="is empty"):
        Ids.sorted(["a", None])


def test_doubles_are_refused() -> None:
    with pytest.raises(DataError, match="not distinct"):
        Ids.of(["a", "a"])


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([3, 1], dtype=pl.Int8),
        pl.Series([3, 2**63], dtype=pl.UInt64),
        pl.Series(["ä", "", "long enough to leave the view"]),
        pl.Series([datetime.date(2020, 1, 1)]),
        pl.Series([], dtype=pl.String),
    ],
)
def test_from_series_keeps_the_values(series: pl.Series) -> None:
    assert list(Ids.from_series(series)) == series.to_list()


def test_hashes_hang_on_the_id_alone() -> None:
    for raw in ([5, 1, 9], ["x", "y", "z"]):
        ids, turned = Ids.of(raw), Ids.of(raw[::-1])
        assert ids.hashes(3).tolist() == turned.hashes(3)[::-1].tolist()
        assert len(set(ids.hashes(3).tolist()) | set(ids.hashes(4).tolist())) == 6


def test_parse_gives_the_type_of_the_ids() -> None:
    assert Ids.of([1]).parse("12") == 12
    assert Ids.of(["1"]).parse("12") == "12"
    assert Ids.of([1]).parse("twelve") == "twelve"


@pytest.mark.parametrize("kind", ["date", "datetime", "uuid", "float", "int"])
def test_text_that_is_not_of_the_kind_that_a_file_says(kind: str) -> None:
    ids = Ids(kind, Text.pack(["eleven", "12"]))
    with pytest.raises(DataError, match=f"said to be {kind} and are not"):
        ids[0]
    with pytest.raises(DataError, match=f"said to be {kind} and are not"):
        ids.take([1, 0])


@pytest.mark.parametrize("raw", [["tea", "jam", "milk"], [7, 9, 8]])
def test_a_slice_is_a_list_of_raw_ids(raw: list[Hashable]) -> None:
    ids = Ids.of(raw)
    assert ids[:2] == raw[:2]
    assert ids[::-1] == raw[::-1]


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("FLEX", "flex"),
        (" flex\n", "flex"),
        ("flexx", "flex"),
        ("bisn", "bison"),
        ("groff-bsae", "groff-base"),
        ("SKU 40", "SKU 40, large"),
        ("SKU 41", None),  # another number is another thing
        ("zzz", None),
        ("", None),
        ("\ud800", None),
        ("x" * 100_000, None),
        (7, None),
        (None, None),
        (("a", "b"), None),
    ],
)
def test_what_is_meant(raw: Any, meant: str | None) -> None:
    ids = Ids.sorted(["SKU 40, large", "bison", "flex", "groff-base", "n" * 5000])
    assert near_id(ids, raw) == meant


def test_numbers_are_meant_by_type_alone() -> None:
    assert near_id(Ids.of([4711, 4713]), "4711") == 4711
    assert near_id(Ids.of([4711, 4713]), 4712) is None
    assert near_id(Ids.of(["4711", "4713"]), "4712") is None


def test_no_ids_and_ids_without_order() -> None:
    assert near_id(Ids.of([]), "flex") is None
    assert near_id(Ids.of(["zoe", "amy", "bob"]), "BOB") == "bob"


@pytest.mark.parametrize("make", [lambda n: f"item-{n:07}x", lambda n: "a" * 50 + _letters(n)])
def test_the_work_is_bounded(make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    ids = Ids("str", Text.pack(make(number) for number in range(1_000_000)))
    assert ids.find(make(500_000)) == 500_000  # makes the table
    compared: list[str] = []
    looked_at: list[int] = []
    taken: list[int] = []

    def counting(one: str, other: str) -> bool:
        compared.append(one)
        return is_slip(one, other)

    def watched_raw(self: Text, row: int) -> bytes:
        looked_at.append(row)
        return raw(self, row)

    def watched_strings(self: Text, rows: Sequence[int]) -> list[str]:
        taken.extend(rows)
        return strings(self, rows)

    is_slip, raw, strings = ids_module._is_slip, Text.raw, Text.strings
    monkeypatch.setattr(ids_module, "_is_slip", counting)
    monkeypatch.setattr(Text, "raw", watched_raw)
    monkeypatch.setattr(Text, "strings", watched_strings)
    assert near_id(ids, f"{make(500_000)}y") == make(500_000)
    assert 0 < len(compared) <= 2 * NEIGHBOURS
    assert len(taken) <= 2 * NEIGHBOURS
    assert 0 < len(looked_at) <= 60  # halving finds a place among a million in 20


def _letters(number: int) -> str:
    return f"{number:07}".translate(str.maketrans("0123456789", "abcdefghij"))


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
