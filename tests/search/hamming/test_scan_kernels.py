"""The scan's kernels one by one, each against brute force."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
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
from xorec.search.hamming.scan import POOL, TOGETHER, narrow, sort_nearest, take
from xorec.search.hamming.segment import (
    Counted,
    QueryPlanes,
    Selection,
    SelectScratch,
    pack_positions,
    planes_of_lags,
    planes_over,
)
from xorec.testing.indexes import as_lists, hamming, make_codes


def planes_of(numbers: npt.NDArray[np.int64], levels: int) -> Words:
    """CHUNK_ITEMS numbers as planes."""
    return np.concatenate([pack_positions((numbers >> level & 1) == 1) for level in range(levels)])


def a_chunk(rng: np.random.Generator, bits: int) -> tuple[Words, Words, Words]:
    """(codes, their planes, a query) of one chunk."""
    codes, query = (
        make_codes(rng, CHUNK_ITEMS, bits, "spread"),
        make_codes(rng, 1, bits, "spread")[0],
    )
    planes = np.empty((1, bits, CHUNK_WORDS), dtype=np.uint64)
    slice_chunks(codes, np.arange(CHUNK_ITEMS, dtype=np.int32), bits, 0, 1, planes)
    return codes, planes.reshape(-1), query


def scratch_of(bits: int, k: int) -> SelectScratch:
    return SelectScratch(
        np.empty(CHUNK_WORDS, np.uint64), np.empty(bits + 1, np.int64), np.empty(k, np.uint64)
    )


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


@pytest.mark.parametrize("levels", [5, 8, 11])
@pytest.mark.parametrize("spread_over", [1, 2, 7, 31])
def test_narrow_keeps_the_nearest_and_the_first_of_the_last_tie(
    levels: int, spread_over: int
) -> None:
    rng = np.random.default_rng(levels * spread_over)
    for k, share in ((1, 1.0), (10, 1.0), (10, 0.02), (500, 0.5), (1024, 1.0)):
        distances = rng.integers(spread_over, size=CHUNK_ITEMS)
        there = rng.random(CHUNK_ITEMS) < share
        found = pack_positions(there)
        scratch = scratch_of(1, k)
        assert there.sum() > k
        narrow(Counted(planes_of(distances, levels), found), levels, k, scratch)
        order = np.argsort(np.where(there, distances, 99), kind="stable")[:k]
        assert np.flatnonzero(as_bools(found)).tolist() == sorted(order.tolist())


@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_pool_forgets_nothing_that_counts(k: int) -> None:
    """Chunks that are taken one after the other, more than the pool has room for."""
    rng = np.random.default_rng(k)
    bits, chunks = 20, 4 * POOL
    pool, tally = np.empty(POOL * k, dtype=np.uint64), np.zeros(bits + 1, dtype=np.int64)
    state = np.array([0, 0, bits])
    selection, scratch = Selection(pool[None], tally[None], state[None]), scratch_of(bits, k)
    bound, everything = bits + 1, []
    for number in range(chunks):
        distances = np.minimum(bits, rng.integers(3, size=CHUNK_ITEMS) + bits - number)
        everything.append(distances)
        found = pack_positions(distances < bound)
        if not found.any():
            continue
        total = planes_of(distances, levels_for(bits))
        chunk = Counted(total, found)
        bound = take(chunk, levels_for(bits), number * CHUNK_ITEMS, selection, 0, scratch)
        so_far = np.concatenate(everything)
        assert bound == np.sort(so_far)[k - 1]
    count = sort_nearest(selection, 0, scratch)
    so_far = np.concatenate(everything)
    places = np.argsort(so_far, kind="stable")[:k]
    expected = (so_far[places].astype(np.uint64) << np.uint64(32)) | places.astype(np.uint64)
    assert scratch.best[:count].tolist() == expected.tolist()


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


@pytest.mark.parametrize("items", [1, 63, 2049, 5000])
def test_groups_of_queries_with_lists_of_all_lengths(items: int) -> None:
    """More queries than go together; none, some, nearly all and all items seen, and strangers."""
    rng = np.random.default_rng(items)
    codes, rank = make_codes(rng, items, 20, "duplicates"), rng.permutation(items).astype(np.int32)
    queries = make_codes(rng, 2 * TOGETHER + 5, 20, "spread")
    shares = rng.choice([0.0, 0.1, 0.999, 1.0], size=len(queries))
    seen = [np.flatnonzero(rng.random(items) < share).tolist() for share in shares]
    unknown = [[*own, items, items + 70] for own in seen]
    hits = HammingIndex(codes, 20, rank).search(queries, 10, exclude=as_lists(unknown))
    check_nearest(hits, codes, queries, rank, 10, seen)


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
