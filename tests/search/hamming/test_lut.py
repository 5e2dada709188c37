"""Batches of short codes by sevens: the tables, what is found by them, and the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.bits import Words
from xorec.search.hamming import lut_scan as sevens_scan
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import PLANES
from xorec.search.hamming.lut_kernels import fill_tables, parts_for, place_query, table_words
from xorec.search.hamming.lut_scan_kernels import look_up, lower, scan_by_sevens, skip
from xorec.search.hamming.planes_kernels import ITEMS, slice_runs
from xorec.search.hamming.segment import pack_places
from xorec.testing.indexes import CodeIndexTests, as_lists, best, hamming, make_codes

BITS = [1, 2, 8, 14, 20, 21, 22, 28, 30]
Ranks = npt.NDArray[np.int32]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries were scanned by sevens, call by call."""
    calls: list[int] = []

    def spy(*arguments: Any) -> None:
        calls.append(len(arguments[7]))
        scan_by_sevens(*arguments)

    monkeypatch.setattr(sevens_scan, "scan_by_sevens", spy)
    return calls


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """By sevens even where it does not pay."""

    def pays(items: int, bits: int, k: int, queries: int, hashed: int) -> bool:
        return items > 0 and queries > 0 and bits <= 30

    monkeypatch.setattr(sevens_scan, "pays", pays)


@pytest.mark.usefixtures("always")
class TestSevens(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, method="scan", threads=2)


def as_bools(words: Words) -> npt.NDArray[np.bool_]:
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_)


def two_runs(rng: np.random.Generator, bits: int) -> tuple[Words, Words, Any]:
    """(codes, tables, codes as the tables have them) of two runs."""
    codes = make_codes(rng, 2 * ITEMS, bits, "spread")
    planes = np.empty((2, bits, RUN), dtype=np.uint64)
    slice_runs(codes, np.arange(2 * ITEMS, dtype=np.int32), bits, 0, 2, planes)
    tables = np.full(2 * table_words(bits), 99, dtype=np.uint64)
    own = np.empty(2 * ITEMS, dtype=np.uint32)
    fill_tables(planes.reshape(-1), bits, 0, 2, tables, own)
    return codes, tables, own


@pytest.mark.parametrize("bits", BITS)
def test_a_table_tells_how_many_bits_of_a_part_differ(bits: int) -> None:
    rng = np.random.default_rng(bits)
    codes, tables, own = two_runs(rng, bits)
    assert (own == codes[:, 0]).all()
    parts = parts_for(bits)
    places, total = np.empty(parts, dtype=np.uint64), np.zeros(ITEMS, dtype=np.int64)
    query = make_codes(rng, 1, bits, "spread")[0]
    place_query(query[0], bits, places)
    for part in range(parts):
        first, last = bits * part // parts, bits * (part + 1) // parts
        mask = np.uint64((1 << last) - (1 << first))
        begin = table_words(bits) + int(places[part])
        planes = as_bools(tables[begin : begin + PLANES * RUN]).reshape(PLANES, ITEMS)
        counted = planes.T @ (1 << np.arange(PLANES))
        assert (counted == np.bitwise_count((codes[ITEMS:, 0] ^ query[0]) & mask)).all()
        total += counted
    assert (total == hamming(codes[ITEMS:], query)).all()


@pytest.mark.parametrize("bits", BITS)
def test_what_is_within_reach_is_found(bits: int) -> None:
    rng = np.random.default_rng(bits)
    codes, tables, _ = two_runs(rng, bits)
    opened = rng.random(2 * ITEMS) < 0.7
    open_, found = pack_places(opened), np.empty(RUN, dtype=np.uint64)
    places, query = np.empty(parts_for(bits), dtype=np.uint64), codes[7]
    place_query(query[0], bits, places)
    begin, place = np.uint64(table_words(bits)), np.uint64(RUN)
    for reach in range(bits + 1):
        expected = (hamming(codes[ITEMS:], query) <= reach) & opened[ITEMS:]
        words = int(look_up(tables, begin, places, reach, open_, place, found))
        np.testing.assert_array_equal(as_bools(found), expected)
        assert [bool(words >> word & 1) for word in range(RUN)] == (found != 0).tolist()


def test_a_run_is_taken_up_where_it_was_left() -> None:
    rng = np.random.default_rng(0)
    for done in (1, 63, 64, 65, 1000, ITEMS - 1, ITEMS):
        there = rng.random(ITEMS) < 0.02
        found = pack_places(there)
        words = sum(1 << int(word) for word in np.flatnonzero(found))
        left = int(skip(found, np.uint64(words), np.uint64(done)))
        kept = [word * 64 + bit for word in range(RUN) if left >> word & 1
                for bit in np.flatnonzero(as_bools(found[word : word + 1]))]  # fmt: skip
        assert kept == [place for place in np.flatnonzero(there) if place >= done]


def test_the_reach_falls_below_the_kth_distance() -> None:
    tally = np.array([0, 3, 0, 4, 9])
    assert [lower(tally, 4, k) for k in (1, 3, 4, 7, 8, 16, 17)] == [0, 0, 2, 2, 3, 3, 4]
    assert lower(np.array([5, 9]), 1, 5) == -1


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
            rules: Any = {"deny": deny, "allow": index.only(allow)} if some else {}
            hits = index.search(queries, 10, exclude=unknown, threads=threads, **rules)
            hidden = both if some else set()
            for b in range(len(queries)):
                costs = hamming(codes, queries[b])
                rows, far = best(costs, rank, 10, hidden | set(seen[b]))
                assert hits.counts[b] == len(rows)
                assert hits.items[b, : len(rows)].tolist() == rows
                assert hits.distances is not None
                assert hits.distances[b, : len(rows)].tolist() == far
    assert sum(asked) >= 2 * len(queries)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bits", [20, 30])
def test_each_run_is_nearer_than_all_before(bits: int) -> None:
    """Ties longer than a list, whole runs that are found, and lists that fall out again."""
    items = 9 * ITEMS + 70
    query = make_codes(np.random.default_rng(0), 1, bits, "spread")
    codes = np.repeat(query, items, axis=0)
    for run in range(10):
        codes[run * ITEMS : (run + 1) * ITEMS, 0] ^= np.uint64((1 << (9 - run)) - 1)
    rank = np.arange(items, dtype=np.int32)
    index = HammingIndex(codes, bits, rank, method="scan")
    others = np.concatenate([query, query ^ np.uint64(0b111), ~query & np.uint64(2**bits - 1)])
    for k in (1, 10, 1000):
        hits = index.search(others, k)
        for b in range(len(others)):
            distances = hamming(codes, others[b])
            assert hits.items[b].tolist() == np.argsort(distances, kind="stable")[:k].tolist()


@pytest.mark.usefixtures("always")
def test_added_and_removed_items(asked: list[int]) -> None:
    rng = np.random.default_rng(0)
    codes, queries = make_codes(rng, 2500, 20, "clusters"), make_codes(rng, 40, 20, "spread")
    rank = np.concatenate([2 * np.arange(2300), 2 * np.arange(200) + 1])
    rank = np.argsort(np.argsort(rank, kind="stable")).astype(np.int32)
    first = np.arange(2300, dtype=np.int32)
    index = HammingIndex(codes[:2300], 20, first).add(codes[2300:], rank)
    gone = rng.choice(2500, 300, replace=False)
    index = index.remove(gone)
    assert len(index.segments) == 2
    seen = [np.flatnonzero(rng.random(2500) < 0.5).tolist() for _ in queries]
    hits = index.search(queries, 12, exclude=as_lists(seen))
    assert asked == [40, 40]
    for b, own in enumerate(seen):
        rows, _ = best(hamming(codes, queries[b]), rank, 12, {*own, *gone.tolist()})
        assert hits.items[b].tolist() == rows


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


def test_the_cost_is_counted() -> None:
    pays = sevens_scan.pays
    assert pays(3_706, 20, 10, 6_040, 0)
    assert not pays(3_706, 20, 10, 20, 0)
    assert pays(38_048, 20, 10, 31_668, 1)
    assert not pays(38_048, 20, 1, 31_668, 1)
    assert not pays(0, 20, 10, 1_000, 0)
    assert not pays(3_706, 31, 10, 6_040, 0)
    assert not pays(1_000_000, 20, 10, 1_000_000, 0)
