"""Candidates: what the user's code and the user's own items bring, each item once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.kernels import is_first_query
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import NO_SCALES, Scores
from xorec.representations.histories import NO_VALUES
from xorec.representations.neighbours import Postings
from xorec.representations.neighbours_kernels import Scratches
from xorec.representations.two_stage import TwoStage, TwoStageQueries
from xorec.search.filters import Filters
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Hits, no_hits
from xorec.search.top_k_kernels import TieRanks
from xorec.search.two_stage_kernels import (
    Found,
    ItemSources,
    collect,
    search_both,
)

Near = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]


class Collector:
    """Puts together what the sources of a representation bring for a batch of queries."""

    def __init__(
        self,
        learned: TwoStage,
        table: npt.NDArray[np.int32],
        tie_rank: TieRank,
        item_at: npt.NDArray[np.int32],
    ) -> None:
        self._ties = TieRanks(tie_rank, item_at)
        self._n_items, self._weights = learned.n_items, learned.weights
        weights, sources = learned.weights, learned.sources
        postings = _no_postings(learned.n_items) if weights is None else weights.kernel_postings
        self.sources = ItemSources(
            postings, (), sources.best, table, sources.neighbours if table.size else 0
        )
        self._plain_sources = (tuple(postings), *self.sources[2:])
        self._plain_ties = (tie_rank, item_at)
        self._second = _second_stage(learned)
        self._scratches = Scratches(0 if weights is None else learned.n_items)

    def collect(
        self, queries: TwoStageQueries, near: Near, filters: Filters, pool: ThreadPool
    ) -> Found:
        """The candidates of each query: those that are near, and what their histories bring."""
        if is_first_query(collect, len(queries)):
            return self._collect_one(queries, near[0][0, : near[1][0]], filters)
        count, sources = len(queries), self.sources
        shape = (count, near[0].shape[1] + sources.best + sources.neighbours)
        found = Found(
            np.empty(shape, dtype=np.int32),
            np.empty(count, dtype=np.int64),
            np.empty(shape, dtype=np.float32),
        )
        sources = sources._replace(histories=_histories_of(queries))

        def work(begin: int, end: int) -> None:
            with self._scratches.one() as scratch:
                collect(near, sources, filters, self._ties, scratch, (begin, end), found)

        pool.map_ranges(count, work)
        return found

    def search(
        self, queries: TwoStageQueries, near: Near, filters: Filters, k: int, pool: ThreadPool
    ) -> Hits | None:
        """The best `k` of the candidates by both stages at once; None: take the steps one by one.

        For vectors of items, and for one query where the kernel is there.
        """
        count = len(queries)
        if self._second is None or queries.vectors is None:
            return None
        if is_first_query(search_both, count):
            return None
        hits, (postings, *rest) = no_hits(count, k), self._plain_sources
        known = (near, (postings, _histories_of(queries), *rest), tuple(filters), self._plain_ties)
        second, into = (queries.vectors, *self._second), (hits.items, hits.scores, hits.counts)

        def work(begin: int, end: int) -> None:
            scratch = self._scratches.take()
            search_both(*known, tuple(scratch), second, (begin, end), into)
            self._scratches.give_back(scratch)

        if count == 1:
            work(0, 1)
        else:
            pool.map_ranges(count, work)
        return hits

    def _collect_one(
        self, query: TwoStageQueries, near: npt.NDArray[np.int32], filters: Filters
    ) -> Found:
        """The same for one query in plain NumPy: for a process that has no kernels yet."""
        tie_rank, mask = self._ties.tie_rank, filters.allow_mask
        free = np.ones(self._n_items, dtype=np.bool_)
        if len(mask):
            free &= mask[tie_rank] != 0
        free[filters.of(0)] = free[filters.denied] = free[near] = False
        rows, sums = query.histories, np.zeros(self._n_items, dtype=np.float32)
        brought = [near]
        if rows is not None and self._weights is not None:
            last = self.sources.table[rows.indices[::-1]].ravel()
            first = np.sort(np.unique(last, return_index=True)[1])
            brought.append(last[first][free[last[first]]][: self.sources.neighbours])
            free[brought[-1]] = False
            sums = self._weights.score_one(rows)
            found = np.flatnonzero(free & (sums > 0))
            order = np.lexsort((tie_rank[found], -sums[found]))
            brought.append(found[order][: self.sources.best].astype(np.int32))
        items = np.concatenate(brought).astype(np.int32)
        return Found(items[None], np.array([len(items)]), sums[items][None])


def _histories_of(queries: TwoStageQueries) -> tuple[Any, Any, Any]:
    """The histories of queries as kernels take them; none has items where there are none."""
    rows = queries.histories
    if rows is None:
        return np.zeros(len(queries) + 1, np.int64), np.zeros(0, np.int32), NO_VALUES
    return rows.indptr, rows.indices, rows.data


def best_of_one(scores: Scores, found: Found, tie_rank: TieRank, width: int) -> Hits:
    """The best of the candidates of one query, in plain NumPy."""
    count = found.counts[0]
    items, values = found.items[0, :count], scores[0, :count]
    falling = -np.where(np.isnan(values), np.float32(-np.inf), values)
    order = np.lexsort((tie_rank[items], falling))[:width]
    hits = no_hits(1, width)
    hits.items[0, : len(order)], hits.scores[0, : len(order)] = items[order], values[order]
    hits.counts[0] = len(order)
    return hits


def item_table(hamming: HammingIndex, width: int, threads: int) -> npt.NDArray[np.int32]:
    """The `width` nearest items of each item by code, without itself: int32 (m, width)."""
    if width == 0:
        return np.zeros((len(hamming), 0), dtype=np.int32)
    codes = hamming.catalogue.rows.words
    itself = np.arange(len(codes) + 1), np.arange(len(codes), dtype=np.int32)
    found = hamming.search(codes, width, exclude=itself, threads=threads)
    return np.ascontiguousarray(found.items)


def _second_stage(learned: TwoStage) -> tuple[Any, ...] | None:
    """`SecondStage` of a representation, without the queries; None where items have no vectors."""
    vectors = learned.vectors
    if vectors is None or vectors.items is None:
        return None
    bias = NO_SCALES if vectors.bias is None else as_contiguous(vectors.bias)
    return (*vectors.kernel_rows, bias, learned.blend, learned.weights is not None)


def _no_postings(n_items: int) -> Postings:
    """Of a representation without item weights: nothing is said for anybody."""
    nothing = np.zeros(0, dtype=np.float32)
    return Postings(np.zeros(1, np.int64), np.zeros(0, np.int32), nothing, NO_SCALES)
