"""BlockIndex: exact top-k of scores that are added up column by column, a block of items at a time.

No score is kept: what a block does not add to the lists is gone with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.search import filters
from xorec.search.filters import SHOW_ALL, Filters, Rows
from xorec.search.hamming import checks
from xorec.search.hamming.segment import LONG_LIST, share
from xorec.search.hits import Exclude, Hits
from xorec.search.scores.blocks_kernels import unpack_scores
from xorec.search.top_k import inverse, top_k

Arrays = tuple[Any, ...]
"""NumPy arrays."""
_TOGETHER = 32
_FIRST = np.zeros(1, dtype=np.int64)


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
        self.tie_rank = checks.check_tie_rank(tie_rank, columns[0].shape[1])
        self.all = _part(columns, inverse(self.tie_rank))

    @abstractmethod
    def _ready(self, queries: Any) -> Arrays:
        """Queries, checked, as the arrays that kernels take, each with one row for each query."""

    @abstractmethod
    def _scan(
        self,
        part: Part,
        ready: Arrays,
        hidden: Filters,
        keys: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.int64],
    ) -> Callable[[npt.NDArray[np.int64]], object]:
        """A function that fills keys and counts for some of the queries."""

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

    def only(self, items: npt.NDArray[Any]) -> Part:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        items = np.asarray(items)
        if items.dtype == np.bool_:
            if items.shape != (len(self),):
                raise DataError(
                    f"the mask has shape {items.shape} but there are {len(self)} items."
                )
            items = np.flatnonzero(items)
        places = np.unique(self.tie_rank[filters.check_rows(items, len(self), "allow")])
        return Part(
            self.all.rows[places],
            tuple(np.ascontiguousarray(array[:, places]) for array in self.all.columns),
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
        hidden = filters.make_filters(count, exclude, deny, len(self), SHOW_ALL)
        with ThreadPool(min(threads, max(1, count))) as pool:
            if isinstance(allow, tuple):
                return self._of_lists(ready, k, hidden, allow, pool)
            part = self.all
            if allow is not None:
                part = allow if isinstance(allow, Part) else self.only(allow)
            return self._best(part, ready, k, hidden, pool)

    def _best(self, part: Part, ready: Arrays, k: int, hidden: Filters, pool: ThreadPool) -> Hits:
        count = len(ready[0])
        if k > LONG_LIST:
            return self._rank_all(part, ready, k, hidden, pool)
        keys = np.empty((count, k), dtype=np.uint64)
        counts = np.zeros(count, dtype=np.int64)
        which = _FIRST if count == 1 else np.arange(count)
        share(pool, which, _TOGETHER, self._scan(part, ready, hidden, keys, counts))
        items, scores = np.empty((count, k), np.int32), np.empty((count, k), np.float32)
        unpack_scores(keys, counts, part.rows, items, scores)
        return Hits(items, scores, counts)

    def _of_lists(
        self, ready: Arrays, k: int, hidden: Filters, allow: Exclude, pool: ThreadPool
    ) -> Hits:
        """Each query among its own items."""
        indptr, rows = filters.check_lists(allow, len(ready[0]), "allow")
        hits = _no_hits(len(ready[0]), k)

        def work(b: int) -> None:
            part, seen = self.only(rows[indptr[b] : indptr[b + 1]]), hidden.of(b)
            own = replace(hidden, indptr=np.array([0, len(seen)]), indices=seen)
            query = tuple(array[b : b + 1] for array in ready)
            with ThreadPool(1) as alone:
                found = self._best(part, query, k, own, alone)
            hits.items[b], hits.scores[b] = found.items[0], found.scores[0]
            hits.counts[b] = found.counts[0]

        pool.map(len(ready[0]), work)
        return hits

    def _rank_all(
        self, part: Part, ready: Arrays, k: int, hidden: Filters, pool: ThreadPool
    ) -> Hits:
        """For a k too large for a sorted list."""
        hits, order = _no_hits(len(ready[0]), k), np.arange(len(part.rows), dtype=np.int32)

        def work(b: int) -> None:
            scores = self._score(part, tuple(array[b : b + 1] for array in ready))
            gone = np.isin(part.rows, np.concatenate([hidden.of(b), hidden.denied]))
            places = np.flatnonzero(gone).astype(np.int32)
            found = top_k(scores, k, order, (np.array([0, len(places)]), places))
            own, values = found.row(0)
            hits.items[b, : len(own)], hits.scores[b, : len(own)] = part.rows[own], values
            hits.counts[b] = len(own)

        pool.map(len(ready[0]), work)
        return hits


def _part(columns: Arrays, rows: Rows) -> Part:
    return Part(rows, tuple(np.ascontiguousarray(array[:, rows]) for array in columns))


def _no_hits(count: int, k: int) -> Hits:
    return Hits(
        np.zeros((count, k), dtype=np.int32),
        np.zeros((count, k), dtype=np.float32),
        np.zeros(count, dtype=np.int64),
    )
