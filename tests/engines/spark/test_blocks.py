"""Blocks as bytes and as rows: every type, shape and size comes back, in any order of rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from xorec.engines.spark import blocks
from xorec.engines.spark.blocks import (
    block_rows,
    blocks_table,
    in_order,
    map_packed,
    pack,
    unpack,
    whole_blocks,
    write_packed,
)

TYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64]


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.sampled_from(TYPES).flatmap(lambda kind: arrays(kind, array_shapes(min_side=0))),
        max_size=4,
    )
)
def test_what_goes_in_comes_out(given_arrays: dict[str, np.ndarray]) -> None:
    found = unpack(pack(given_arrays))
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_arrays_are_aligned_views_that_kernels_take_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "packed"
    with path.open("wb") as file:
        write_packed({"a": np.arange(3, dtype=np.int8), "b": np.arange(5.0)}, file)
    for found in (map_packed(path), unpack(path.read_bytes())):
        assert found["b"].flags.writeable  # a read-only type would be compiled once more
        assert not found["b"].flags.owndata
        assert found["b"].flags.aligned
        np.testing.assert_array_equal(found["b"], np.arange(5.0))


def test_a_slice_is_packed_whole() -> None:
    rows = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(unpack(pack({"x": rows[:, 1:3]}))["x"], rows[:, 1:3])


@pytest.mark.parametrize("scalar", [np.float32(2.5), 7])
def test_a_scalar_keeps_its_shape(scalar: float) -> None:
    assert unpack(pack({"x": np.asarray(scalar)}))["x"].shape == ()


pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_ROW_BYTES", 1000)


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
    monkeypatch.setattr(blocks, "pack", lambda arrays: packed)
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
