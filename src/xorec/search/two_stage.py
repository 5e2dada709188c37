"""TwoStageIndex: candidates of several sources, each once, ranked by what is finer than codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, positive_int
from xorec.core.kernels import is_first_query
from xorec.core.schema import Tensor, check_tensors
from xorec.core.threads import ThreadPool, available_threads
from xorec.data.tie_rank import TieRank
from xorec.representations.base import NO_SCALES, Representation, Rows, Scores
from xorec.representations.histories import NO_VALUES
from xorec.representations.neighbours import Postings
from xorec.representations.neighbours_kernels import Scratches
from xorec.representations.two_stage import TwoStage, TwoStageQueries
from xorec.search.filters import Choice, Filters, ItemChoice, check_range, make_filters
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Exclude, Hits, empty_nearest, no_hits
from xorec.search.index import Index, SavedIndex
from xorec.search.top_k import TieRanks, inverse, score_hits, top_k_row
from xorec.search.two_stage_kernels import Found, ItemSources, best_of, collect, search_both

Near = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]


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
    hits.put(0, items[order], values[order])
    return hits


def item_table(hamming: HammingIndex, width: int, threads: int) -> npt.NDArray[np.int32]:
    """The `width` nearest items of each item by code, without itself: int32 (m, width)."""
    if width == 0:
        return np.zeros((len(hamming), 0), dtype=np.int32)
    codes = hamming.catalogue.rows.words
    itself = np.arange(len(codes) + 1), np.arange(len(codes), dtype=np.int32)
    found = hamming.search(codes, width, exclude=itself, threads=threads)
    return np.ascontiguousarray(found.items)


_TABLE = "item_neighbours"
_ALONE = ThreadPool(1)
_NO_POSTINGS = Postings(np.zeros(1, np.int64), np.zeros(0, np.int32), NO_VALUES, NO_SCALES)
"""Of a representation without item weights."""


class TwoStageIndex(Index):
    """Finds by code and by item weights, all filters inside; then ranks these by exact scores.

    Hamming distances and sums of weights go through exact searches, and where a source brings the
    whole catalogue the ranking is that of the scores alone.
    """

    def __init__(
        self, hamming: HammingIndex, learned: TwoStage, table: npt.NDArray[np.int32]
    ) -> None:
        self.hamming, self.learned = hamming, learned
        self.tie_rank = as_contiguous(hamming.tie_rank)
        self._ties = TieRanks(self.tie_rank, inverse(hamming.tie_rank))
        weights, vectors, sources = learned.weights, learned.vectors, learned.sources
        postings = _NO_POSTINGS if weights is None else weights.kernel_postings
        neighbours = sources.neighbours if table.size else 0
        self._sources = ItemSources(postings, (), sources.best, table, neighbours)
        self._plain_sources = (tuple(postings), *self._sources[2:])
        self._second: tuple[Any, ...] | None = None
        """`SecondStage` without the queries; None where items have no vectors."""
        if vectors is not None and vectors.items is not None:
            bias = NO_SCALES if vectors.bias is None else as_contiguous(vectors.bias)
            self._second = (*vectors.kernel_rows, bias, learned.blend, weights is not None)
        self._scratches = Scratches(0 if weights is None else learned.n_items)

    @classmethod
    def of(
        cls,
        learned: TwoStage,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> TwoStageIndex:
        width = min(learned.sources.per_item, max(0, learned.n_items - 1))
        if saved is None:
            hamming = HammingIndex.of(learned.codes, tie_rank, None, threads)
            table = item_table(hamming, width, threads or available_threads())
            return cls(hamming, learned, table)
        rest = dict(saved.tensors)
        table = rest.pop(_TABLE, np.zeros((learned.n_items, 0), dtype=np.int32))
        hamming = HammingIndex.of(learned.codes, tie_rank, SavedIndex(rest, saved.checked), threads)
        if width:
            schema = {_TABLE: Tensor("int32", ("items", width), rows_of="items")}
            sizes = {"items": learned.n_items}
            check_tensors({_TABLE: table}, schema, sizes, values=not saved.checked)
        return cls(hamming, learned, as_contiguous(table))

    @property
    def nbytes(self) -> int:
        table = self._sources.table.nbytes
        return self.hamming.nbytes + self.learned.second_stage_nbytes + table

    def explain(self) -> str:
        near, best, per_item, neighbours = self.learned.sources
        ways = [f"the {near} nearest codes ({self.hamming.explain()})"]
        ways += [f"the {best} best by item weights"] if best else []
        each = f"the {per_item} nearest codes of each of the user's items, {neighbours} in all"
        ways += [each] if neighbours else []
        return f"{', '.join(ways)}; then {self.learned.score_description}"

    def _search_alone(self, query: TwoStageQueries, k: Any, exclude: Exclude | None) -> Hits | None:
        """For one query and what it has seen. With cold caches, each question costs a while."""
        if self._first_queries or len(query) != 1:
            return None
        single, size = self.hamming.single, max(self.learned.sources.near, positive_int(k))
        if single is None or not single.takes(query.codes, size):
            return None
        filters = make_filters(1, exclude, None, len(self.tie_rank))
        check_range(filters.indices, len(self.tie_rank), "exclude")
        near = single.nearest(query.codes, size, filters.of(0))
        return self._search_both(query, (near.items, near.counts), filters, k, _ALONE)

    def _first(
        self, query: TwoStageQueries, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        if not self._first_queries:  # the last of them: a batch loads the kernels
            self.search(query[np.zeros(2, dtype=np.int64)], max(1, k))
        return self._best(query, k, filters, choice, pool)

    def _best(
        self, queries: TwoStageQueries, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        """There are never fewer candidates than `k`."""
        near, filters = self._near(queries, k, filters, choice, pool)
        hits = self._search_both(queries, near, filters, k, pool)
        if hits is not None:
            return hits
        found = self._collect(queries, near, filters, pool)
        scores = self.score(queries, found, pool)
        if is_first_query(best_of, len(scores)):
            return best_of_one(scores, found, self.tie_rank, k)
        nearest = empty_nearest(len(scores), k)
        pool.map_ranges(
            len(scores),
            lambda begin, end: best_of(scores, found, self.tie_rank, begin, end, nearest),
        )
        return score_hits(nearest, self._ties.item_at)

    def find(self, queries: TwoStageQueries, k: int, filters: Filters, pool: ThreadPool) -> Found:
        """The candidates among which the best `k` are looked for."""
        near, filters = self._near(queries, k, filters, None, pool)
        return self._collect(queries, near, filters, pool)

    def _near(
        self, queries: TwoStageQueries, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> tuple[Near, Filters]:
        """The nearest by code, and the filters for what comes next."""
        check_range(filters.indices, len(self.tie_rank), "exclude")
        near = self.hamming.search(
            queries.codes,
            max(self.learned.sources.near, k),
            exclude=filters.exclude,
            allow=choice,
            deny=filters.denied,
            threads=pool.threads,
        )
        if choice is not None:
            filters = filters._replace(allow_mask=choice.allow_mask)
        return (near.items, near.counts), filters

    def _collect(
        self, queries: TwoStageQueries, near: Near, filters: Filters, pool: ThreadPool
    ) -> Found:
        """The candidates of each query: those that are near, and what their histories bring."""
        if is_first_query(collect, len(queries)):
            return self._collect_one(queries, near[0][0, : near[1][0]], filters)
        count, sources = len(queries), self._sources
        shape = (count, near[0].shape[1] + sources.best + sources.neighbours)
        items, sums = np.empty(shape, np.int32), np.empty(shape, np.float32)
        found = Found(items, np.empty(count, np.int64), sums)
        sources = sources._replace(histories=_histories_of(queries))

        def work(begin: int, end: int) -> None:
            with self._scratches.one() as scratch:
                collect(near, sources, filters, self._ties, scratch, (begin, end), found)

        pool.map_ranges(count, work)
        return found

    def _search_both(
        self, queries: TwoStageQueries, near: Near, filters: Filters, k: int, pool: ThreadPool
    ) -> Hits | None:
        """The best `k` of the candidates by both stages at once; None: take the steps one by one.

        For vectors of items, and for one query where the kernel is there.
        """
        count = len(queries)
        if self._second is None or queries.vectors is None or is_first_query(search_both, count):
            return None
        hits, (postings, *rest) = no_hits(count, k), self._plain_sources
        known = (near, (postings, _histories_of(queries), *rest), tuple(filters), tuple(self._ties))
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
        tie_rank, mask = self.tie_rank, filters.allow_mask
        free = np.ones(self.learned.n_items, dtype=np.bool_)
        if len(mask):
            free &= mask[tie_rank] != 0
        free[filters.of(0)] = free[filters.denied] = free[near] = False
        rows, sums = query.histories, np.zeros(self.learned.n_items, dtype=np.float32)
        brought, weights = [near], self.learned.weights
        if rows is not None and weights is not None:
            last = self._sources.table[rows.indices[::-1]].ravel()
            first = np.sort(np.unique(last, return_index=True)[1])
            brought.append(last[first][free[last[first]]][: self._sources.neighbours])
            free[brought[-1]] = False
            sums = weights.score_one(rows)
            found = np.flatnonzero(free & (sums > 0))
            order = np.lexsort((tie_rank[found], -sums[found]))
            brought.append(found[order][: self._sources.best].astype(np.int32))
        items = np.concatenate(brought).astype(np.int32)
        return Found(items[None], np.array([len(items)]), sums[items][None])

    def score(self, queries: TwoStageQueries, found: Any, pool: ThreadPool) -> Any:
        """The scores (B, s) of candidates."""
        products = self.learned.vector_scores(queries, (found.items, found.counts), pool)
        return self.learned.combine(None if self.learned.weights is None else found.sums, products)

    def found_by(self, query: TwoStageQueries, item: int, exclude: Exclude) -> tuple[str, ...]:
        """The sources that bring an item to one query, in words; none: it is no candidate."""
        near, best, _, _ = self.learned.sources
        names = []
        if item in self.hamming.search(query.codes, near, exclude=exclude).row(0)[0]:
            names.append("the user's code")
        if query.histories is not None and self.learned.weights is not None:
            if item in self._sources.table[query.histories.indices]:
                names.append("the codes of the user's items")
            sums = self.learned.weights.score(query.histories)[0]
            rows, _ = top_k_row(sums, max(1, best), self.tie_rank, exclude[1])
            if best and item in rows and sums[item] > 0:
                names.append("item weights")
        return tuple(names)

    def item_filter(self, items: npt.NDArray[Any]) -> ItemChoice:
        return self.hamming.item_filter(items)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps: the tensors of the Hamming index, and the nearest of each item."""
        table = self._sources.table
        return {**self.hamming.tensors(), **({_TABLE: table} if table.size else {})}


ServedScores = Callable[[Rows, Exclude], Scores]
"""(rows of users, (indptr, items) that these have seen) -> scores (B, m)."""


def served_scores(
    representation: Representation, tie_rank: TieRank, threads: int = 1
) -> ServedScores:
    """A function that gives scores whose order, without what each has seen, is that of the lists.

    Of two stages: the candidates by the scores of the second, below them the rest, by distance.
    """
    if not isinstance(representation, TwoStage):
        return lambda users, seen: representation.scores(users)

    index = TwoStageIndex.of(representation, tie_rank, threads=threads)

    def scores_of(users: Rows, seen: Exclude) -> Scores:
        queries = representation.queries(users)
        filters = make_filters(len(queries), seen, None, len(tie_rank))
        with ThreadPool(1) as pool:
            found = index.find(queries, 1, filters, pool)
            exact = index.score(queries, found, pool)
        there = np.arange(exact.shape[1]) < found.counts[:, None]
        lowest = np.min(exact, axis=1, initial=0, where=there)
        scores = representation.codes.scores(users)
        scores += lowest[:, None] - np.float32(2)
        scores[np.nonzero(there)[0], found.items[there]] = exact[there]
        return scores

    return scores_of
