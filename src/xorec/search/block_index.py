"""BlockIndex: exact top-k of scores that are added up column by column, a block of items at a time.

No score is kept: what a block does not add to the lists is filtered with it. A candidate is one
64-bit key, its score turned round above its tie position, as in `top_k`. Items come in tie order,
so an equal score that comes later never makes the list.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.search.filters import Filters, Rows, check_choice, check_tie_rank
from xorec.search.hits import (
    LONG_LIST,
    Hits,
    Nearest,
    Numbers,
    empty_nearest,
    map_parts,
    no_hits,
    numbers_of,
)
from xorec.search.index import Index
from xorec.search.top_k import (
    contains,
    insert_sorted,
    inverse,
    score_hits,
    score_key,
    score_of,
    top_k_row,
)

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


_TOGETHER = 32


@dataclass(frozen=True, eq=False)
class Part:
    """Some items in tie order: their rows (n,), and arrays (c, n) with a column for each."""

    rows: Rows
    columns: tuple[Any, ...]

    def at(self, positions: npt.NDArray[np.integer]) -> Part:
        columns = tuple(np.ascontiguousarray(array[:, positions]) for array in self.columns)
        return Part(self.rows[positions], columns)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + sum(int(array.nbytes) for array in self.columns)


class BlockIndex(Index):
    """Derive, and say what the columns are, how a query is made ready, and how they are scored.

    A choice of items is an index of its own over the columns of these.
    """

    _prepared = Part

    def __init__(self, codes: Any, columns: tuple[Any, ...], tie_rank: TieRank) -> None:
        """codes: the representation; columns: arrays (c, m), its items by row."""
        self.codes = codes
        self.tie_rank = check_tie_rank(tie_rank, columns[0].shape[1])
        self.all = Part(np.arange(len(self.tie_rank), dtype=np.int32), columns).at(
            inverse(self.tie_rank)
        )

    @abstractmethod
    def _scan(
        self, part: Part, queries: Any, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        """A function that fills `nearest` for some of the queries."""

    @abstractmethod
    def _score(self, part: Part, queries: Any) -> Scores:
        """The scores (B, n) of the items of a part."""

    @property
    def nbytes(self) -> int:
        return self.all.nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        each = self.nbytes / max(1, len(self.tie_rank))
        return f"scan of all scores: {self.codes.score_description}; {each:.1f} bytes an item"

    def item_filter(self, items: npt.NDArray[Any]) -> Part:
        positions = np.unique(self.tie_rank[check_choice(items, len(self.tie_rank))])
        return self.all.at(positions)

    def _best(
        self, queries: Any, k: int, filters: Filters, choice: Part | None, pool: ThreadPool
    ) -> Hits:
        if k > LONG_LIST:
            return self._first(queries, k, filters, choice, pool)
        count, part = queries.shape[0], self.all if choice is None else choice
        nearest = empty_nearest(count, k)
        map_parts(pool, numbers_of(count), _TOGETHER, self._scan(part, queries, filters, nearest))
        return score_hits(nearest, part.rows)

    def _first(
        self, queries: Any, k: int, filters: Filters, choice: Part | None, pool: ThreadPool
    ) -> Hits:
        """By all scores, without kernels; also for a k too large for a sorted list."""
        part = self.all if choice is None else choice
        hits, order = no_hits(queries.shape[0], k), np.arange(len(part.rows), dtype=np.int32)

        def work(b: int) -> None:
            (scores,) = self._score(part, queries[b : b + 1])
            hidden = np.isin(part.rows, np.concatenate([filters.of(b), filters.denied]))
            best, values = top_k_row(scores, max(1, k), order, np.flatnonzero(hidden))
            hits.put(b, part.rows[best], values)

        pool.map(len(hits), work)
        return hits
