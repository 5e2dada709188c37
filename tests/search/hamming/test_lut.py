"""Batches of short codes by seven-bit look-up tables: the tables, what they find, and the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.nearest import always_look_up, as_bools, check_nearest
from xorec.core.bits import NO_OFFSETS, Words
from xorec.search.hamming import lut
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import Gathered, SevenBitTables, look_up, lower, scan_lut, skip
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.mih_tables import HashTables
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, slice_chunks
from xorec.search.hamming.scan import LinearScan
from xorec.search.hamming.segment import Planes, Segment, TieOrder, pack_positions, planes_of_lags
from xorec.search.hamming.seven_bit_tables import (
    PLANES,
    fill_tables,
    find_offsets,
    parts_for,
    table_words,
)
from xorec.search.hamming.strategy import SearchStrategy
from xorec.testing.indexes import CodeIndexTests, as_lists, hamming, make_codes

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


@pytest.mark.parametrize("bits", BITS)
def test_a_table_tells_how_many_bits_of_a_part_differ(bits: int) -> None:
    rng = np.random.default_rng(bits)
    codes, tables, own = two_chunks(rng, bits)
    assert (own == codes[:, 0]).all()
    parts = parts_for(bits)
    places, total = np.empty(parts, dtype=np.uint64), np.zeros(CHUNK_ITEMS, dtype=np.int64)
    query = make_codes(rng, 1, bits, "spread")[0]
    find_offsets(query[0], bits, places)
    for part in range(parts):
        first, last = bits * part // parts, bits * (part + 1) // parts
        mask = np.uint64((1 << last) - (1 << first))
        begin = table_words(bits, 0) + int(places[part])
        planes = as_bools(tables[begin : begin + PLANES * CHUNK_WORDS]).reshape(PLANES, CHUNK_ITEMS)
        counted = planes.T @ (1 << np.arange(PLANES))
        assert (counted == np.bitwise_count((codes[CHUNK_ITEMS:, 0] ^ query[0]) & mask)).all()
        total += counted
    assert (total == hamming(codes[CHUNK_ITEMS:], query)).all()


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


def test_a_chunk_is_taken_up_where_it_was_left() -> None:
    rng = np.random.default_rng(0)
    for done in (1, 63, 64, 65, 1000, CHUNK_ITEMS - 1, CHUNK_ITEMS):
        there = rng.random(CHUNK_ITEMS) < 0.02
        found = pack_positions(there)
        words = sum(1 << int(word) for word in np.flatnonzero(found))
        left = int(skip(found, np.uint64(words), np.uint64(done)))
        kept = [word * 64 + bit for word in range(CHUNK_WORDS) if left >> word & 1
                for bit in np.flatnonzero(as_bools(found[word : word + 1]))]  # fmt: skip
        assert kept == [place for place in np.flatnonzero(there) if place >= done]


def test_the_threshold_falls_below_the_kth_distance() -> None:
    room = np.empty(0, dtype=np.uint32)
    gathered = Gathered(room, np.array([0, 3, 0, 4, 9]))
    assert [lower(gathered, 4, k) for k in (1, 3, 4, 7, 8, 16, 17)] == [0, 0, 2, 2, 3, 3, 4]
    assert lower(Gathered(room, np.array([5, 9])), 1, 5) == -1


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bits", [8, 14, 20, 21, 28, 30])
@pytest.mark.parametrize("items", [1, 63, 2049, 5000])
def test_all_filters_and_any_threads(bits: int, items: int, asked: list[int]) -> None:
    """None, some, nearly all and all items seen, strangers too, and more queries than a piece."""
    rng = np.random.default_rng(items + bits)
    codes, rank = make_codes(rng, items, bits, "clusters"), rng.permutation(items).astype(np.int32)
    queries = make_codes(rng, 24, bits, "duplicates")
    shares = rng.choice([0.0, 0.1, 0.999, 1.0], size=len(queries))
    seen = [np.flatnonzero(rng.random(items) < share).tolist() for share in shares]
    unknown = as_lists([[*own, items, items + 70] for own in seen])
    deny = np.flatnonzero(rng.random(items) < 0.1)
    allow = rng.random(items) < 0.8
    index = HammingIndex(codes, bits, rank, method="scan")
    both = set(deny.tolist()) | set(np.flatnonzero(~allow).tolist())
    for threads in (1, 3):
        for some in (False, True):
            rules: Any = {"deny": deny, "allow": index.item_filter(allow)} if some else {}
            hits = index.search(queries, 10, exclude=unknown, threads=threads, **rules)
            hidden = [{*own, *both} if some else own for own in seen]
            check_nearest(hits, codes, queries, rank, 10, hidden)
    assert sum(asked) >= 2 * len(queries)


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


def is_cheaper(items: int, bits: int, k: int, queries: int, tables: int = 0) -> bool:
    """Whether a batch goes by look-up tables rather than by the scan, or by so many hash tables."""
    rows, words = np.arange(items, dtype=np.int32), -(-items // CHUNK_ITEMS) * bits * CHUNK_WORDS
    planes = Planes(np.zeros(words, dtype=np.uint64), bits, None, None, bits)
    segment = Segment(TieOrder(rows, rows, 0), planes)
    otherwise: SearchStrategy = LinearScan(segment)
    if tables:
        none: Any = [np.zeros(tables, dtype=np.int64)] * len(HashTables._fields)
        levels = np.array([[0, tables, 0]])
        otherwise = MultiIndexHashing(segment, HashTables(*none)._replace(levels=levels))
    if SevenBitTables.refusal(segment):
        return False
    return SevenBitTables(segment).cost(queries, k) < otherwise.cost(queries, k)


def test_the_cost_is_counted() -> None:
    assert is_cheaper(3_706, 20, 10, 6_040)
    assert not is_cheaper(3_706, 20, 10, 20)
    assert is_cheaper(38_048, 20, 10, 31_668, 1)
    assert not is_cheaper(38_048, 20, 1, 31_668, 1)
    assert not is_cheaper(0, 20, 10, 1_000)
    assert not is_cheaper(3_706, 31, 10, 6_040)
    assert not is_cheaper(1_000_000, 20, 10, 1_000_000)
