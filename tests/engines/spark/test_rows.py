"""Blocks as rows: of any size, put together in whatever order their rows come."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from xorec.engines.spark import rows
from xorec.engines.spark.packing import unpack
from xorec.engines.spark.rows import block_rows, blocks_table, in_order, whole_blocks


@pytest.fixture(autouse=True)
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_ROW_BYTES", 1000)


def test_a_large_block_is_many_rows_and_comes_back_whole() -> None:
    given: dict[str, Any] = {"x": np.arange(2000, dtype=np.int32), "y": np.zeros((0, 3))}
    made = list(block_rows(7, given))
    assert len(made) == 9
    assert max(len(row.column("data")[0].as_buffer()) for row in made) == 1000
    shuffled = np.random.default_rng(3).permutation(9)
    [(block, data)] = whole_blocks(made[at] for at in shuffled)
    assert block == 7
    found = unpack(data)
    assert (found["x"] == given["x"]).all()
    assert found["y"].shape == (0, 3)


def test_rows_let_go_of_what_they_were_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker makes thousands of them: with `pa.array` it kept every byte that it had sent."""
    packed = bytes(range(250)) * 10
    monkeypatch.setattr(rows, "pack", lambda arrays: packed)
    before = sys.getrefcount(packed)
    made = list(block_rows(0, {}))
    assert b"".join(row.column("data")[0].as_py() for row in made) == packed
    assert [len(row.column("data")[0].as_py()) for row in made] == [1000, 1000, 500]
    del made
    assert sys.getrefcount(packed) == before


def test_rows_of_several_blocks_and_sources_may_be_mixed() -> None:
    parts = [list(block_rows(2, {"x": np.full(400, source)}, source=source)) for source in range(3)]
    mixed = [row for group in zip(*parts, strict=True) for row in group]
    found = [int(unpack(data)["x"].sum()) for _, data in whole_blocks(iter(mixed))]
    assert found == [0, 400, 800]


def test_a_table_is_read_in_the_order_of_its_blocks() -> None:
    table, count = blocks_table({"x": np.full(n, n)} for n in (300, 1, 200))
    assert count == 3
    backwards = table.take(list(reversed(range(len(table)))))
    found = [int(unpack(data)["x"][0]) for _, data in whole_blocks(in_order(backwards))]
    assert found == [300, 1, 200]
    assert blocks_table([])[0].num_rows == 0


def test_many_small_blocks_are_few_batches() -> None:
    table, count = blocks_table({"x": np.array([n])} for n in range(40))
    assert count == 40
    assert [batch.num_rows for batch in table.to_batches()] == [16, 16, 8]
    found = [int(unpack(data)["x"][0]) for _, data in whole_blocks(iter(table.to_batches()))]
    assert found == [*range(40)]
