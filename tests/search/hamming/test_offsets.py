"""Items with offsets: the kit, by every strategy; what files keep; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.nearest import always_look_up, low_rank
from xorec.core.errors import DataError, OptionError
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.scan import LinearScan
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.strategy import Option, Sample
from xorec.testing.indexes import OffsetIndexTests, hamming, make_codes, popcount_offsets, same


class TestScan(OffsetIndexTests):
    method, most = "scan", 15


class TestAuto(OffsetIndexTests):
    variant = True
    most = 1


class TestSevenBitTables(OffsetIndexTests):
    """Of 20 bits the largest offset is 10: distances of up to 30."""

    variant = True
    method = "scan"

    @pytest.fixture(autouse=True)
    def _always(self, monkeypatch: pytest.MonkeyPatch) -> None:
        always_look_up(monkeypatch)


class TestTables(OffsetIndexTests):
    """Not given up for a scan; each level by tables of its own, or scanned before them."""

    method = "mih"

    @pytest.fixture(autouse=True)
    def _never(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("xorec.search.hamming.mih.scan_cost", lambda items, bits: 1e12)


def force(monkeypatch: pytest.MonkeyPatch, tables: tuple[int, ...]) -> None:
    """So many tables for each lag, 0: scanned; never given up for a scan of all."""

    def options(strategy: str, segment: Segment, sample: Sample) -> list[Option]:
        return [Option(strategy, "as the test says", 1.0, tables)]

    monkeypatch.setattr("xorec.search.hamming.mih.mih_options", options)
    monkeypatch.setattr("xorec.search.hamming.mih.scan_cost", lambda items, bits: 1e12)


def check(index: HammingIndex, codes: Any, offsets: Any, queries: Any, k: int, **how: Any) -> None:
    """Against all distances, by tables alone: a batch, and one query at a time."""
    hidden = np.zeros(len(codes), dtype=np.bool_)
    hidden[how.get("deny", [])] = True
    if "allow" in how:
        hidden |= ~how["allow"]
    hits = index.search(queries, k, **how)
    for b, query in enumerate(queries):
        far = hamming(codes, query) - offsets.astype(np.int64)
        far[hidden] = 10**6
        rows = np.lexsort((index.tie_rank, far))[: min(k, int((~hidden).sum()))]
        assert hits.items[b, : hits.counts[b]].tolist() == rows.tolist()
        assert hits.distances is not None
        assert hits.distances[b, : hits.counts[b]].tolist() == far[rows].tolist()
        alone = index.search(queries[b : b + 1], k, **how)
        assert alone.items[0, : alone.counts[0]].tolist() == rows.tolist()


PLANS = {
    "each in tables": (2, 2, 1, 1),
    "the popular are scanned": (0, 0, 2, 1),
    "some between are scanned": (2, 0, 1, 0),
}


@pytest.mark.parametrize("bits", [20, 64, 70])
@pytest.mark.parametrize("name", PLANS)
def test_levels_by_any_number_of_tables(
    bits: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, filters that hide whole levels, and what a file keeps, for levels of any kind."""
    rng, items = np.random.default_rng(bits), 6_000
    tables = tuple(t * -(-bits // 10) for t in PLANS[name])
    codes, queries = low_rank(rng, items, bits), low_rank(rng, 12, bits)
    codes[:200] = codes[200:400]  # ties across levels
    offsets = rng.choice([9, 8, 4, 0], items, p=[0.01, 0.04, 0.25, 0.7]).astype(np.uint8)
    lags = (0, 1, 5, 9)
    force(monkeypatch, tuple(tables[lags.index(lag)] if lag in lags else 0 for lag in range(10)))
    rank = rng.permutation(items).astype(np.int32)
    index = HammingIndex(codes, bits, rank, offsets=offsets, method="mih", threads=1)
    given_up, fill = [], LinearScan.fill

    def count(self: LinearScan, nearest: Any, which: Any, *rest: Any) -> None:
        given_up.append(len(which))
        fill(self, nearest, which, *rest)

    monkeypatch.setattr(LinearScan, "fill", count)
    for k in (1, 10, 100):
        check(index, codes, offsets, queries, k)
    assert given_up[0] == given_up[1] == 0  # the batches of k = 1 and 10: by tables alone
    for lag in lags:
        of_level = offsets == 9 - lag
        check(index, codes, offsets, queries[:3], 10, deny=np.flatnonzero(of_level)[:300])
        check(index, codes, offsets, queries[:3], 10, allow=~of_level)
    assert "+".join(str(t) for t in tables if t) + " tables" in index.explain()
    opened = HammingIndex.from_tensors(index.tensors(), codes, bits, rank, offsets=offsets)
    same(opened.search(queries, 10), index.search(queries, 10))


@pytest.mark.parametrize("tables", [(1, 1), (0, 1), (1, 0)])
def test_an_item_far_away_comes_in_by_its_offset(
    tables: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The k-th place is held by a tie at the very distance that the last step proves."""
    force(monkeypatch, (tables[0], *[0] * 14, tables[1]))
    codes = np.array([[0]] * 5 + [[0b111]] * 5 + [[2**15 - 1]] + [[2**16 - 1]], dtype=np.uint64)
    offsets = np.array([0] * 10 + [15, 15], dtype=np.uint8)
    query = np.zeros((1, 1), dtype=np.uint64)
    for order in (np.arange(12), np.arange(12)[::-1]):
        rank = np.ascontiguousarray(order, dtype=np.int32)
        index = HammingIndex(codes, 20, rank, offsets=offsets, method="mih")
        for k in (1, 5, 6, 7, 11, 12):
            check(index, codes, offsets, query, k)


def test_a_tie_among_scanned_items_goes_by_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them at one distance than a list has: heads stand by level, not by tie rank."""
    force(monkeypatch, (0, 0, 1))
    rng = np.random.default_rng(3)
    codes = np.repeat(np.array([[0b1], [0]], dtype=np.uint64), 3_000, axis=0)
    offsets = np.repeat(np.array([2, 1], dtype=np.uint8), 3_000)
    offsets[-1] = 0
    rank = rng.permutation(6_000).astype(np.int32)
    index = HammingIndex(codes, 20, rank, offsets=offsets, method="mih", threads=1)
    for k in (1, 10, 100):
        check(index, codes, offsets, np.zeros((1, 1), dtype=np.uint64), k)


def test_one_level_is_searched_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """All items have the same offset, the largest: one level of lag 0."""
    rng = np.random.default_rng(0)
    codes, queries = low_rank(rng, 5_000, 20), low_rank(rng, 9, 20)
    offsets = np.full(5_000, 3, dtype=np.uint8)
    force(monkeypatch, (1, 0, 0, 0))
    index = HammingIndex(codes, 20, offsets=offsets, method="mih")
    check(index, codes, offsets, queries, 10)
    plain = HammingIndex(codes, 20, method="scan").search(queries, 10)
    np.testing.assert_array_equal(index.search(queries, 10).items, plain.items)


def test_popular_items_are_scanned_and_others_have_tables() -> None:
    """What the chooser does where few items have large offsets; its memory is bounded by level."""
    rng = np.random.default_rng(5)
    codes, queries = low_rank(rng, 60_000, 64), low_rank(rng, 60, 64)
    offsets = np.where(rng.random(60_000) < 0.01, rng.integers(4, 8, 60_000), 0).astype(np.uint8)
    how: Any = {"offsets": offsets, "method": "mih", "sample": queries, "threads": 1}
    index = HammingIndex(codes, 64, **how)
    strategy = index.catalogue.segments[0].strategies[0]
    assert isinstance(strategy, MultiIndexHashing)
    apart = np.flatnonzero(offsets > 0)
    np.testing.assert_array_equal(np.sort(strategy.tables.heads), apart)
    assert strategy.tables.levels[:, 2].tolist() == [7]
    assert f"tables and {len(apart)} items" in index.explain()
    check(index, codes, offsets, queries[:10], 10)
    assert "no table fits" in HammingIndex(codes, 64, memory=1.0, **how).explain()


def with_levels(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, HammingIndex]:
    """(codes, offsets, an index with scanned levels and levels in tables)."""
    force(monkeypatch, (0, 0, 2, 1))
    rng = np.random.default_rng(6)
    codes = low_rank(rng, 900, 20)
    offsets = rng.choice([3, 2, 1, 0], 900, p=[0.05, 0.05, 0.3, 0.6]).astype(np.uint8)
    index = HammingIndex(codes, 20, offsets=offsets, method="mih")
    return codes, offsets, index


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("levels", lambda array: array[::-1]),
        ("levels", lambda array: array * 2),
        ("levels", lambda array: array * 0),
        ("levels", lambda array: array[:-1]),
        ("heads", lambda array: array[::-1]),
        ("heads", lambda array: array[:-1]),
        ("head_planes", lambda array: ~array),
        ("head_planes", lambda array: array[:-1]),
        ("places", lambda array: array[::-1]),
        ("places", lambda array: array[:-1]),
        ("starts", lambda array: array[::-1]),
        ("before", lambda array: array + 1),
        ("full", lambda array: ~array),
        ("copies", lambda array: ~array),
        ("planes", lambda array: ~array),
    ],
)
def test_levels_of_a_file_are_checked(
    name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes, offsets, index = with_levels(monkeypatch)
    kept = index.tensors()
    HammingIndex.from_tensors(kept, codes, 20, index.tie_rank, offsets=offsets)
    changed = {**kept, name: np.ascontiguousarray(wrong(kept[name]))}
    with pytest.raises(DataError):
        HammingIndex.from_tensors(changed, codes, 20, index.tie_rank, offsets=offsets)


def test_a_level_of_a_file_has_as_many_items_as_have_its_offset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all arrays are made longer with it, too."""
    codes, offsets, index = with_levels(monkeypatch)
    kept = index.tensors()
    changed = {**kept, "levels": kept["levels"].copy()}
    changed["levels"][-1, 1] += 1
    for name in ("places", "copies"):
        changed[name] = np.append(kept[name], kept[name][-1:])
    with pytest.raises(DataError, match="levels are not those of the items' offsets"):
        HammingIndex.from_tensors(changed, codes, 20, index.tie_rank, offsets=offsets)


def test_an_index_without_offsets_keeps_nothing_of_them() -> None:
    codes = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    plain = HammingIndex(codes, 20, method="mih")
    zeros = HammingIndex(codes, 20, method="mih", offsets=np.zeros(3000, dtype=np.uint8))
    assert zeros.nbytes == plain.nbytes
    assert zeros.tensors().keys() == plain.tensors().keys()
    some = HammingIndex(codes, 20, method="scan", offsets=popcount_offsets(codes, 20, 3))
    alone = HammingIndex(codes, 20, method="scan")
    assert some.nbytes - alone.nbytes == 3000 + 2 * 2048 * 4 // 8  # by row, and in planes


def test_larger_offsets_of_added_items() -> None:
    """Lags are those of the largest offset, so the planes of before are of no use."""
    rng = np.random.default_rng(2)
    codes, queries = make_codes(rng, 900, 64, "clusters"), make_codes(rng, 4, 64, "spread")
    offsets = np.concatenate([rng.integers(0, 3, 800), rng.integers(0, 9, 100)])
    first = HammingIndex(codes[:800], 64, offsets=offsets[:800])
    index = first.add(codes[800:], np.arange(900, dtype=np.int32), offsets=offsets[800:])
    same(index.search(queries, 30), HammingIndex(codes, 64, offsets=offsets).search(queries, 30))
    fewer = first.add(codes[800:], np.arange(900, dtype=np.int32))
    offsets[800:] = 0
    same(fewer.search(queries, 30), HammingIndex(codes, 64, offsets=offsets).search(queries, 30))
    assert len(fewer.catalogue.segments) == 2


def test_within_takes_offsets_off() -> None:
    codes = np.array([[0b1111], [0b0001], [0b0111]], dtype=np.uint64)
    index = HammingIndex(codes, 4, offsets=[4, 0, 2])
    query = np.zeros((1, 1), dtype=np.uint64)
    assert index.within(query, 1).distances.tolist() == [0, 1, 1]
    assert index.within(codes[:1], -4).items.tolist() == [0]
    with pytest.raises(DataError, match="the distance is -5: give a number from -4 to 4"):
        index.within(query, -5)
    assert index.search(query, 3).scores.tolist() == [[1.0, 0.75, 0.75]]
    with pytest.raises(OptionError, match="masked codes have no offsets"):
        HammingIndex(codes, 4, distance="masked", offsets=[1, 1, 1])
