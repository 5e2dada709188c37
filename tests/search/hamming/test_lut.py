"""Batches of short codes by seven-bit look-up tables: the tables, what they find, and the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.nearest import always_look_up, as_bools
from xorec.core.bits import NO_OFFSETS, Words
from xorec.search.hamming import lut
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import look_up, scan_lut
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, slice_chunks
from xorec.search.hamming.segment import pack_positions, planes_of_lags
from xorec.search.hamming.seven_bit_tables import (
    fill_tables,
    find_offsets,
    parts_for,
    table_words,
)
from xorec.testing.indexes import CodeIndexTests, hamming, make_codes

BITS = [1, 2, 8, 14, 20, 21, 22, 28, 30]
Ranks = npt.NDArray[np.int32]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries were scanned by look-up tables, call by call."""
    calls: list[int] = []

    def spy(*arguments: Any) -> None:
        calls.append(len(arguments[4]))
        scan_lut(*arguments)

    monkeypatch.setattr(lut, "scan_lut", spy)
    return calls


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """By look-up tables even where they do not pay."""
    always_look_up(monkeypatch)


@pytest.mark.usefixtures("always")
class TestSevenBitTables(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, method="scan", threads=2)


def two_chunks(
    rng: np.random.Generator, bits: int, offsets: Any = NO_OFFSETS
) -> tuple[Words, Words, Any]:
    """(codes, tables, codes as the tables have them) of two chunks."""
    codes, lag_planes = make_codes(rng, 2 * CHUNK_ITEMS, bits, "spread"), 4 * (len(offsets) > 0)
    rows = np.arange(2 * CHUNK_ITEMS, dtype=np.int32)
    planes = np.empty((2, bits + lag_planes, CHUNK_WORDS), dtype=np.uint64)
    slice_chunks(codes, rows, bits, 0, 2, planes)
    if lag_planes:
        planes[:, bits:] = planes_of_lags(offsets, rows)
    tables = np.full(2 * table_words(bits, lag_planes), 99, dtype=np.uint64)
    own = np.empty(2 * CHUNK_ITEMS, dtype=np.uint32)
    fill_tables(planes.reshape(-1), bits, lag_planes, 0, 2, tables, own)
    return codes, tables, own


@pytest.mark.parametrize("most", [0, 3])
@pytest.mark.parametrize("bits", BITS)
def test_what_is_within_the_threshold_is_found(bits: int, most: int) -> None:
    """With the lags of items' offsets, where there are any."""
    if bits + most > 30:
        pytest.skip("too far for these tables")
    rng = np.random.default_rng(bits)
    offsets = rng.integers(most + 1, size=2 * CHUNK_ITEMS).astype(np.uint8)
    codes, tables, own = two_chunks(rng, bits, offsets if most else NO_OFFSETS)
    lags = most - offsets[CHUNK_ITEMS:].astype(np.int64)
    assert (own[CHUNK_ITEMS:] == codes[CHUNK_ITEMS:, 0] | (lags.astype(np.uint64) << bits)).all()
    opened = rng.random(2 * CHUNK_ITEMS) < 0.7
    open_, found = pack_positions(opened), np.empty(CHUNK_WORDS, dtype=np.uint64)
    places, query = np.empty(parts_for(bits) + (most > 0), dtype=np.uint64), codes[7]
    find_offsets(query[0], bits, places)
    begin, place = np.uint64(table_words(bits, 4 * (most > 0))), np.uint64(CHUNK_WORDS)
    far = hamming(codes[CHUNK_ITEMS:], query) + lags
    for threshold in range(bits + most + 1):
        expected = (far <= threshold) & opened[CHUNK_ITEMS:]
        words = int(look_up(tables, begin, places, threshold, open_, place, found))
        np.testing.assert_array_equal(as_bools(found), expected)
        assert [bool(words >> word & 1) for word in range(CHUNK_WORDS)] == (found != 0).tolist()


def test_it_is_taken_where_it_pays(asked: list[int]) -> None:
    rng = np.random.default_rng(1)
    codes, queries = make_codes(rng, 3000, 20, "spread"), make_codes(rng, 1200, 20, "spread")
    index = HammingIndex(codes, 20)
    hits = index.search(queries, 10, threads=2)
    assert sum(asked) == len(queries)
    assert max(asked) <= 512
    asked.clear()
    few = index.search(queries[:20], 10)
    masked = index.by("masked").search(queries, 10)
    by_tables = HammingIndex(codes, 20, method="mih").search(queries, 10)
    long = HammingIndex(make_codes(rng, 3000, 31, "spread"), 31)
    long.search(make_codes(rng, 1200, 31, "spread"), 10)
    assert not asked
    assert (few.items == hits.items[:20]).all()
    assert (by_tables.items == hits.items).all()
    assert (masked.items != hits.items).any()
