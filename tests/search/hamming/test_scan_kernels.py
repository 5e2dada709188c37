"""The scan's kernels one by one, each against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nearest import always_look_up, as_bools, check_nearest, low_rank
from xorec.core.bits import NO_OFFSETS, Words, pack_signs, unpack_signs
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.planes import (
    CHUNK_ITEMS,
    CHUNK_WORDS,
    count_at,
    count_chunk,
    levels_for,
    set_planes,
    slice_chunks,
    spread,
)
from xorec.search.hamming.scan import TOGETHER
from xorec.search.hamming.segment import (
    Counted,
    QueryPlanes,
    pack_positions,
    planes_of_lags,
    planes_over,
)
from xorec.testing.indexes import as_lists, hamming, make_codes


def a_chunk(rng: np.random.Generator, bits: int) -> tuple[Words, Words, Words]:
    """(codes, their planes, a query) of one chunk."""
    codes, query = (
        make_codes(rng, CHUNK_ITEMS, bits, "spread"),
        make_codes(rng, 1, bits, "spread")[0],
    )
    planes = np.empty((1, bits, CHUNK_WORDS), dtype=np.uint64)
    slice_chunks(codes, np.arange(CHUNK_ITEMS, dtype=np.int32), bits, 0, 1, planes)
    return codes, planes.reshape(-1), query


ANY_BITS = [1, 2, 3, 7, 8, 15, 16, 17, 20, 30, 31, 32, 63, 64, 65, 100, 128, 129, 254, 255, 1024]


@pytest.mark.parametrize(("masked", "most"), [(None, 0), (True, 0), (None, 3), (None, 15)])
@pytest.mark.parametrize("bits", ANY_BITS)
def test_distances_are_counted_and_compared(bits: int, masked: bool | None, most: int) -> None:
    """With the lags of items' offsets, where there are any."""
    rng = np.random.default_rng(bits)
    codes, planes, query = a_chunk(rng, bits)
    flips, levels = np.empty(bits, dtype=np.uint64), levels_for(bits + most)
    if masked:
        flips = flips[: set_planes(query, bits, flips)]
        distances = np.bitwise_count(query & ~codes).sum(axis=1).astype(np.int64)
    else:
        spread(query, bits, flips)
        distances = hamming(codes, query)
    offsets = rng.integers(most + 1, size=CHUNK_ITEMS).astype(np.uint8) if most else NO_OFFSETS
    if most:
        behind = planes_of_lags(offsets, np.arange(CHUNK_ITEMS, dtype=np.int32))
        planes, distances = np.concatenate([planes, behind.reshape(-1)]), distances + most - offsets
    opened = rng.random(CHUNK_ITEMS) < 0.7
    open_ = np.concatenate([np.zeros(CHUNK_WORDS, dtype=np.uint64), pack_positions(opened)])
    total, found = np.empty(levels * CHUNK_WORDS, np.uint64), np.empty(CHUNK_WORDS, np.uint64)
    chunk, counted_into = planes_over(planes, bits, bool(masked), offsets), Counted(total, found)
    added, begin = QueryPlanes(flips, masked, chunk.lags), np.uint64(0)
    place = np.uint64(CHUNK_WORDS)
    middle = int(np.median(distances))
    for bound in (0, 1, middle, middle + 1, bits + most, bits + most + 1):
        some = count_chunk(chunk, (begin, place, 0), added, bound, open_, counted_into)
        counted = as_bools(total).reshape(levels, CHUNK_ITEMS)
        assert (counted.T @ (1 << np.arange(levels)) == distances).all()
        np.testing.assert_array_equal(as_bools(found), (distances < bound) & opened)
        assert bool(some) == as_bools(found).any()
    for item in (0, 63, 64, 777, CHUNK_ITEMS - 1):
        counted_one = count_at(total, levels, np.uint64(item // 64), np.uint64(item % 64))
        assert counted_one == distances[item]


@pytest.mark.parametrize(("way", "bits"), [("scan", 20), ("scan", 64), ("lut", 20), ("lut", 30)])
def test_each_chunk_is_nearer_than_all_before(
    way: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything falls out of the lists again and again, and ties are longer than a list."""
    if way == "lut":
        always_look_up(monkeypatch)
    items = 9 * CHUNK_ITEMS + 70
    query = make_codes(np.random.default_rng(0), 1, bits, "spread")
    codes = np.repeat(query, items, axis=0)
    for run in range(10):
        codes[run * CHUNK_ITEMS : (run + 1) * CHUNK_ITEMS, 0] ^= np.uint64((1 << (9 - run)) - 1)
    rank = np.arange(items, dtype=np.int32)
    index = HammingIndex(codes, bits, rank, method="scan")
    opposite = pack_signs(-unpack_signs(query, bits))
    queries = np.concatenate([query, query ^ np.uint64(0b111), opposite])
    for k in (1, 10, 100, 1000):
        for last in (0, 60):
            hidden = [[*range(items - last, items)]] * 3
            hits = index.search(queries, k, exclude=as_lists(hidden))
            check_nearest(hits, codes, queries, rank, k, hidden)


@pytest.mark.parametrize(("way", "bits"), [("scan", 20), *(("lut", n) for n in (8, 21, 28, 30))])
@pytest.mark.parametrize("items", [1, 63, 2049, 5000])
def test_all_filters_and_any_threads(
    way: str, bits: int, items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None, some, nearly all and all items seen, strangers too; more queries than go together."""
    if way == "lut":
        always_look_up(monkeypatch)
    rng = np.random.default_rng(items + bits)
    codes, rank = make_codes(rng, items, bits, "clusters"), rng.permutation(items).astype(np.int32)
    queries = make_codes(rng, 2 * TOGETHER + 5, bits, "duplicates")
    shares = rng.choice([0.0, 0.1, 0.999, 1.0], size=len(queries))
    seen = [np.flatnonzero(rng.random(items) < share).tolist() for share in shares]
    unknown = as_lists([[*own, items, items + 70] for own in seen])
    deny, allow = np.flatnonzero(rng.random(items) < 0.1), rng.random(items) < 0.8
    index = HammingIndex(codes, bits, rank, method="scan")
    both = set(deny.tolist()) | set(np.flatnonzero(~allow).tolist())
    for threads in (1, 3):
        for rules, more in (({}, set()), ({"deny": deny, "allow": allow}, both)):
            hits = index.search(queries, 10, exclude=unknown, threads=threads, **rules)  # type: ignore[arg-type]
            check_nearest(hits, codes, queries, rank, 10, [{*own, *more} for own in seen])


@pytest.mark.parametrize("queries", [1, 3])
def test_an_empty_catalogue_has_nothing_to_show(queries: int) -> None:
    index = HammingIndex(np.zeros((0, 1), dtype=np.uint64), 20)
    codes = np.zeros((queries, 1), dtype=np.uint64)
    for exclude in (None, as_lists([[4]] * queries)):
        hits = index.search(codes, 5, exclude=exclude)
        assert hits.items.shape == (queries, 0)
        assert hits.counts.tolist() == [0] * queries


def test_short_codes_of_many_items_go_by_a_table() -> None:
    rng = np.random.default_rng(0)
    users, many, few = (low_rank(rng, items, 20, 16) for items in (500, 38_000, 11_000))
    assert HammingIndex(many, 20, sample=users).explain().startswith("1 tables: least")
    assert HammingIndex(few, 20, sample=users).explain().startswith("scan: there are")
