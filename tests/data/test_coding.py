"""Codes of ids against a dictionary; two ids with one hash are noticed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.data import encode
from xorec.data.coding import Coder, HashCollision
from xorec.data.growing import GrowingArray
from xorec.data.read import read


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=15), min_size=1, max_size=40), max_size=5))
def test_codes_lead_back_to_the_ids(batches: list[list[str]]) -> None:
    coder = Coder()
    codes = []
    for batch in batches:
        series = pl.Series(batch, dtype=pl.String)
        codes.append(coder.add(series, series.hash(1).to_numpy()))
    ids, rows = coder.finish(whole_numbers=False)
    told = [ids[int(rows[code])] for piece in codes for code in piece]
    assert told == [value for batch in batches for value in batch]
    assert list(ids) == sorted({value for batch in batches for value in batch})


def test_the_table_grows() -> None:
    coder = Coder()
    for start in range(0, 100_000, 10_000):
        series = pl.Series(range(start, start + 20_000))
        codes = coder.add(series, series.hash(0).to_numpy())
        assert codes.tolist() == list(range(start, start + 20_000))


def test_a_collision_is_noticed() -> None:
    coder = Coder()
    same = np.array([7, 7], dtype=np.uint64)
    with pytest.raises(HashCollision):
        coder.add(pl.Series(["a", "b"]), same)


def test_after_a_collision_the_file_is_read_with_another_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_text("user,item\na,1\nb,2\n")
    seeds = []
    batches = encode._batches

    def colliding(source: object, columns: object, seed: int) -> object:
        seeds.append(seed)
        for batch in batches(source, columns, seed):  # type: ignore[arg-type]
            same = pl.lit(7, dtype=pl.UInt64).alias("user hash")
            yield batch.with_columns(same) if seed == 0 else batch

    monkeypatch.setattr(encode, "_batches", colliding)
    assert list(read(tmp_path / "x.csv").users) == ["a", "b"]
    assert seeds == [0, 1]


def test_a_growing_array_holds_what_was_added() -> None:
    array = GrowingArray(np.int64)
    pieces = [np.arange(start, start + 700_000) for start in range(0, 2_100_000, 700_000)]
    for piece in pieces:
        array.extend(piece)
    assert len(array) == 2_100_000
    assert np.array_equal(array.finish(), np.arange(2_100_000))
