"""The first queries of an index in plain NumPy: the same answers as from planes and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.representations.codes import Codes, MaskedCodes
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import FIRST_QUERIES, Hits
from xorec.search.index import SavedIndex
from xorec.testing.indexes import CodeIndexTests, Costs, Ranks, Words, as_lists, make_codes, same


class OneByOne(HammingIndex):
    """Every query is one of the first; lists for each query are not for these."""

    def search(self, queries: Any, k: int, **filters: Any) -> Hits:
        lists, allow = filters.get("exclude"), filters.get("allow")
        queries = np.atleast_2d(queries)
        fit = lists is None or len(lists[0]) == len(queries) + 1
        if isinstance(allow, tuple) or len(queries) < 2 or not fit:
            return super().search(queries, k, **filters)
        every = []
        for b, query in enumerate(queries):
            if lists is not None:
                one = lists[1][lists[0][b] : lists[0][b + 1]]
                filters["exclude"] = np.array([0, len(one)]), one
            self._first_queries = 1
            every.append(super().search(query[None], k, **filters))
            assert not self._first_queries
        self._first_queries = 1
        parts = [(h.items, h.scores, h.counts, h.distances) for h in every]
        return Hits(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class TestFirstQueries(CodeIndexTests):
    kind = Codes

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return OneByOne.of(self.kind(items[:1], items, bits), tie_rank, threads=1)


class TestFirstQueriesOfMaskedCodes(TestFirstQueries):
    kind = MaskedCodes

    def costs(self, items: Words, query: Words, bits: int) -> Costs:
        lacking: Costs = np.bitwise_count(query & ~items).sum(axis=1).astype(np.int64)
        return lacking


def lazy(codes: Words, kind: type[Codes] = Codes) -> HammingIndex:
    rank = np.random.default_rng(2).permutation(len(codes)).astype(np.int32)
    return HammingIndex.of(kind(codes[:3], codes, 64), rank, threads=1)


def test_it_is_built_after_some_queries_or_by_a_batch() -> None:
    codes = make_codes(np.random.default_rng(0), 300, 64, "duplicates")
    index, other = lazy(codes), lazy(codes)
    first = index.search(codes[:1], 9)
    for _ in range(FIRST_QUERIES - 1):
        index.search(codes[:1], 9)
    assert not index.catalogue.is_built()
    same(index.search(codes[:1], 9), first)
    assert index.catalogue.is_built()
    other.search(codes[:2], 9)
    assert other.catalogue.is_built()
    same(other.search(codes[:1], 9), first)


@pytest.mark.parametrize("kind", [Codes, MaskedCodes])
def test_a_filter_made_before_serves_after(kind: type[Codes]) -> None:
    codes = make_codes(np.random.default_rng(1), 300, 64, "clusters")
    index = lazy(codes, kind)
    chosen, seen = index.item_filter(np.arange(0, 300, 2)), as_lists([[2, 4, 5]])
    before = index.search(codes[:1], 9, allow=chosen, exclude=seen)
    assert not index.catalogue.is_built()
    assert before.distances is not None
    index.search(codes[:2], 9)
    same(index.search(codes[:1], 9, allow=chosen, exclude=seen), before)


def test_another_distance_shares_the_planes() -> None:
    codes = make_codes(np.random.default_rng(1), 300, 64, "clusters")
    index = lazy(codes, MaskedCodes)
    items = index.by("hamming")
    assert index.by("masked") is index
    first = items.search(codes[:1], 9)
    assert not index.catalogue.is_built()
    items.search(codes[:2], 9)
    assert index.catalogue.is_built()
    assert np.shares_memory(
        index.catalogue.segments[0].segment.planes.words,
        items.catalogue.segments[0].segment.planes.words,
    )
    same(items.search(codes[:1], 9), first)


def test_what_a_file_has_kept_is_checked_when_it_is_read() -> None:
    codes = make_codes(np.random.default_rng(1), 300, 64, "clusters")
    rank = np.random.default_rng(3).permutation(300).astype(np.int32)
    kept = HammingIndex(codes, 64, rank, threads=1).tensors()
    learned = Codes(codes[:3], codes, 64)
    same(
        HammingIndex.of(learned, rank, SavedIndex(kept), 1).search(codes[:1], 9),
        HammingIndex(codes, 64, rank, threads=1).search(codes[:1], 9),
    )
    with pytest.raises(DataError, match="not the order"):
        HammingIndex.of(learned, rank, SavedIndex({**kept, "rows": kept["rows"][::-1]}), 1)


@pytest.mark.parametrize(
    "query", [np.zeros((1, 2), np.uint64), np.zeros((1, 1)), np.full((1, 1), 2**63, np.uint64)]
)
def test_a_query_that_is_none_is_refused_by_both(query: Any) -> None:
    codes = make_codes(np.random.default_rng(1), 40, 20, "clusters")
    rank = np.arange(40, dtype=np.int32)
    index = HammingIndex.of(Codes(codes[:3], codes, 20), rank, threads=1)
    for one in (index, HammingIndex(codes, 20, threads=1)):
        with pytest.raises(DataError, match="queries"):
            one.search(query, 3)
    assert not index.catalogue.is_built()
