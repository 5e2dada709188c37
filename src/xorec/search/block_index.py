"""BlockIndex: exact top-k of scores that are added up column by column, a block of items at a time.

No score is kept: what a block does not add to the lists is filtered with it.

What searches by float scores share: which scores of a block of items make the list.

A candidate is one 64-bit key, its score turned round above its tie position, as in
`top_k`. Items come in tie order, so an equal score that comes later never makes the list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.kernels import kernel
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.search.filters import (
    Filters,
    Rows,
    check_choice,
    check_lists,
    check_tie_rank,
    make_filters,
)
from xorec.search.hits import (
    FIRST_QUERIES,
    LONG_LIST,
    Exclude,
    Hits,
    Nearest,
    Numbers,
    empty_nearest,
    map_parts,
    no_hits,
    numbers_of,
)
from xorec.search.index import SavedIndex
from xorec.search.top_k import POSITION, contains, insert_sorted, inverse, score_key, top_k_row

CHUNK = 32
"""Items that are looked at one by one where any of them makes the list."""


@kernel
def any_above(scores: Any, begin: Any, end: Any, bound: Any) -> Any:
    """Whether any of scores[begin:end] is more than `bound`."""
    above = np.int32(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        above |= np.int32(scores[i] > bound)
    return above != 0


@kernel
def bound_of(best: Any, count: int) -> Any:
    """What a score must be above to make the list: the last one of a full list."""
    return score_of(best[count - 1]) if count == len(best) else np.float32(-np.inf)


@kernel
def keep_one(score: Any, position: int, checks: Any, best: Any, count: int) -> int:
    """Insert a score above the bound into the list best[:count]; returns the new count.

    checks: (rows, excluded, denied): the row at each tie position, and rows that may not be shown,
    ascending.
    """
    rows, excluded, denied = checks
    row = rows[position]
    if contains(excluded, row) or contains(denied, row):
        return count
    return insert_sorted(best, count, score_key(score) | np.uint64(position))


@kernel
def keep_block(scores: Any, first: int, checks: Any, best: Any, count: int) -> int:
    """`keep_one` for those scores, from the tie position `first` on, that are above the bound."""
    n, bound = len(scores), bound_of(best, count)
    if not any_above(scores, 0, n, bound):
        return count
    for begin in range(0, n, CHUNK):
        end = min(n, begin + CHUNK)
        if any_above(scores, begin, end, bound):
            for i in range(begin, end):
                if scores[i] > bound:
                    count = keep_one(scores[i], first + i, checks, best, count)
                    bound = bound_of(best, count)
    return count


@kernel
def score_of(key: Any) -> Any:
    """The inverse of `score_key`."""
    rising = 0x7FFFFFFF - np.int64(key >> np.uint64(32))
    bits = rising if rising >= 0 else -0x80000000 - rising
    return np.int32(bits).view(np.float32)


@kernel
def unpack_scores(nearest: Any, rows: Any, items: Any, scores: Any) -> None:
    """Keys (B, k) as rows of items and scores; zero behind."""
    keys, counts = nearest
    for b in range(len(counts)):
        for at in range(keys.shape[1]):
            if at < counts[b]:
                items[b, at] = rows[np.int64(keys[b, at] & POSITION)]
                scores[b, at] = score_of(keys[b, at])
            else:
                items[b, at], scores[b, at] = 0, 0


Arrays = tuple[Any, ...]
"""NumPy arrays."""
_TOGETHER = 32


@dataclass(frozen=True, eq=False)
class Part:
    """Some items in tie order: their rows (n,), and arrays (c, n) with a column for each."""

    rows: Rows
    columns: Arrays

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return self.rows.nbytes + sum(int(array.nbytes) for array in self.columns)


class BlockIndex(ABC):
    """Derive, and say what the columns are, how a query is made ready, and how they are scored.

    Never changes. A choice of items is an index of its own over the columns of these.
    """

    def __init__(self, columns: Arrays, tie_rank: TieRank) -> None:
        """columns: arrays (c, m), the items by row."""
        self.tie_rank = check_tie_rank(tie_rank, columns[0].shape[1])
        self.all = _part(columns, inverse(self.tie_rank))
        self._first_queries = FIRST_QUERIES

    @classmethod
    def of(
        cls,
        representation: Any,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> Self:
        """The index of a representation; it is made at once, so nothing of it is ever saved."""
        make: Any = cls
        index: Self = make(representation, tie_rank)
        return index

    @abstractmethod
    def _ready(self, queries: Any) -> Arrays:
        """Queries, checked, as the arrays that kernels take, each with one row for each query."""

    @abstractmethod
    def _scan(
        self, part: Part, ready: Arrays, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        """A function that fills `nearest` for some of the queries."""

    @abstractmethod
    def _score(self, part: Part, ready: Arrays) -> Scores:
        """The scores (B, n) of the items of a part."""

    @property
    @abstractmethod
    def score_description(self) -> str:
        """What a score is."""

    def __len__(self) -> int:
        return len(self.tie_rank)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, the rows and the tie ranks."""
        return self.all.nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        """What is searched by."""
        each = self.nbytes / max(1, len(self))
        return f"scan of all scores: {self.score_description}; {each:.1f} bytes an item"

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing is made that takes longer than reading it."""
        return {}

    def item_filter(self, items: npt.NDArray[Any]) -> Part:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        positions = np.unique(self.tie_rank[check_choice(items, len(self))])
        return Part(
            self.all.rows[positions],
            tuple(np.ascontiguousarray(array[:, positions]) for array in self.all.columns),
        )

    def search(
        self,
        queries: Any,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: npt.NDArray[Any] | Exclude | Part | None = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """The `k` best items of each query: score, then tie rank. Filters: `HammingIndex.search`.

        Scores are those of the representation, to the bit, whatever the batch and the threads.
        """
        ready = self._ready(queries)
        count, k = len(ready[0]), min(positive_int(k), len(self))
        filters = make_filters(count, exclude, deny, len(self))
        with ThreadPool(min(threads, max(1, count))) as pool:
            if isinstance(allow, tuple):
                return self._among_lists(ready, k, filters, allow, pool)
            part = self.all
            if allow is not None:
                part = allow if isinstance(allow, Part) else self.item_filter(allow)
            return self._best(part, ready, k, filters, pool)

    def _best(self, part: Part, ready: Arrays, k: int, filters: Filters, pool: ThreadPool) -> Hits:
        count = len(ready[0])
        if k > LONG_LIST or self._takes_plain(count):
            return self._rank_all(part, ready, k, filters, pool)
        nearest = empty_nearest(count, k)
        scan = self._scan(part, ready, filters, nearest)
        map_parts(pool, numbers_of(count), _TOGETHER, scan)
        items, scores = np.empty((count, k), np.int32), np.empty((count, k), np.float32)
        unpack_scores(nearest, part.rows, items, scores)
        return Hits(items, scores, nearest.counts)

    def _takes_plain(self, queries: int) -> bool:
        """Whether this is one of the first single queries: a few are answered without kernels."""
        self._first_queries = self._first_queries - 1 if queries == 1 else 0
        return self._first_queries >= 0 and queries == 1 and len(self) > 0

    def _among_lists(
        self, ready: Arrays, k: int, filters: Filters, allow: Exclude, pool: ThreadPool
    ) -> Hits:
        """Each query among its own items."""
        indptr, rows = check_lists(allow, len(ready[0]), "allow")
        hits = no_hits(len(ready[0]), k)

        def work(b: int) -> None:
            part, excluded = self.item_filter(rows[indptr[b] : indptr[b + 1]]), filters.of(b)
            one = filters._replace(indptr=np.array([0, len(excluded)]), indices=excluded)
            query = tuple(array[b : b + 1] for array in ready)
            with ThreadPool(1) as alone:
                found = self._best(part, query, k, one, alone)
            hits.items[b], hits.scores[b] = found.items[0], found.scores[0]
            hits.counts[b] = found.counts[0]

        pool.map(len(ready[0]), work)
        return hits

    def _rank_all(
        self, part: Part, ready: Arrays, k: int, filters: Filters, pool: ThreadPool
    ) -> Hits:
        """For a k too large for a sorted list, and for the first queries; needs no kernel."""
        hits, order = no_hits(len(ready[0]), k), np.arange(len(part.rows), dtype=np.int32)

        def work(b: int) -> None:
            (scores,) = self._score(part, tuple(array[b : b + 1] for array in ready))
            filtered = np.isin(part.rows, np.concatenate([filters.of(b), filters.denied]))
            positions = np.flatnonzero(filtered).astype(np.int32)
            best, values = top_k_row(scores, k, order, positions)
            hits.items[b, : len(best)], hits.scores[b, : len(best)] = part.rows[best], values
            hits.counts[b] = len(best)

        pool.map(len(ready[0]), work)
        return hits


def _part(columns: Arrays, rows: Rows) -> Part:
    return Part(rows, tuple(np.ascontiguousarray(array[:, rows]) for array in columns))
