"""Index, the exact search of a representation, and ScoreIndex, that of any by all its scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.filters import (
    Filters,
    ItemChoice,
    Rows,
    check_choice,
    check_lists,
    check_range,
    make_filters,
)
from xorec.search.hits import FIRST_QUERIES, Exclude, Hits, no_hits
from xorec.search.top_k import top_k, top_k_row


class SavedIndex(NamedTuple):
    """The tensors that a file has kept of an index; checked: their values were looked at before."""

    tensors: Mapping[str, npt.NDArray[Any]]
    checked: bool = False


class Index(ABC):
    """Finds the best items of queries under the tie rule. Never changes, so threads may share it.

    Derive, and say how queries are checked (`_ready`) and how the best items are found (`_best`).
    """

    tie_rank: TieRank
    _prepared: type = ItemChoice
    _first_queries = FIRST_QUERIES

    @classmethod
    def of(
        cls,
        representation: Any,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> Self:
        """The index of a representation: see `index_of`. This one is made at once, never saved."""
        make: Any = cls
        index: Self = make(representation, tie_rank)
        return index

    def search(
        self,
        queries: Any,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: Any = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """The `k` best items of each query: score (or distance), then tie rank.

        exclude: rows that a query may not show, ascending, as (indptr, indices). deny: rows for no
        query. allow: only these rows (or a bool for each) for all queries, or as (indptr, indices)
        for each its own, or what `item_filter` made ready. The answer is the same for any number
        of threads and any batch; scores are those of the representation.

        >>> from xorec.search.hamming.index import HammingIndex
        >>> index = HammingIndex(np.array([[0b00], [0b01], [0b11]], dtype=np.uint64), bits=2)
        >>> index.search(np.array([[0b00]], dtype=np.uint64), k=2, deny=np.array([0])).items
        array([[1, 2]], dtype=int32)
        """
        if allow is None and not (deny is not None and len(deny)):
            found = self._search_alone(queries, k, exclude)
            if found is not None:
                return found
        queries = self._ready(queries)
        count, items = queries.shape[0], len(self.tie_rank)
        k, filters = min(positive_int(k), items), make_filters(count, exclude, deny, items)
        with ThreadPool(min(threads, max(1, count))) as pool:
            if isinstance(allow, tuple):
                self._first_queries = 0
                return self._among_lists(queries, k, filters, allow, pool)
            if allow is not None and not isinstance(allow, self._prepared):
                allow = self.item_filter(allow)
            search = self._first if self._is_first(count) else self._best
            return search(queries, k, filters, allow, pool)

    def _ready(self, queries: Any) -> Any:
        """Queries, checked: a row for each."""
        return queries

    @abstractmethod
    def _best(self, queries: Any, k: int, filters: Filters, choice: Any, pool: ThreadPool) -> Hits:
        """`search` with checked filters; choice: what `item_filter` made ready; None: all."""

    def _first(self, query: Any, k: int, filters: Filters, choice: Any, pool: ThreadPool) -> Hits:
        """`_best` for one of the first queries: sooner in plain NumPy than with kernels."""
        return self._best(query, k, filters, choice, pool)

    def _search_alone(self, query: Any, k: Any, exclude: Exclude | None) -> Hits | None:
        """A short way for one query that has no other filters; None: take the long way."""
        return None

    def _is_first(self, queries: int) -> bool:
        """Whether this is one of the first single queries; a batch ends these."""
        first = queries == 1 and self._first_queries > 0
        self._first_queries = self._first_queries - 1 if first else 0
        return first

    def _among_lists(
        self, queries: Any, k: int, filters: Filters, allow: Exclude, pool: ThreadPool
    ) -> Hits:
        """Each query among its own items."""
        count = queries.shape[0]
        indptr, rows = check_lists(allow, count, "allow")
        hits = no_hits(count, k)

        def work(b: int) -> None:
            choice, own = self.item_filter(rows[indptr[b] : indptr[b + 1]]), filters.one(b)
            with ThreadPool(1) as alone:
                hits.put(b, *self._best(queries[b : b + 1], k, own, choice, alone).row(0))

        pool.map(count, work)
        return hits

    def item_filter(self, items: npt.NDArray[Any]) -> Any:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        mask = np.zeros(len(self.tie_rank), dtype=np.uint8)
        rows = np.unique(check_choice(items, len(mask))).astype(np.int32)
        mask[self.tie_rank[rows]] = 1
        return ItemChoice(mask, rows)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps of it beside the representation; nothing where it is made at once."""
        return {}

    @abstractmethod
    def explain(self) -> str:
        """What is searched by, and why."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of everything that the search keeps for items: nothing of users."""


BLOCK_BYTES = 24 << 20
"""Scores of one block, about: see `evaluation.rankings`."""


class ScoreIndex(Index):
    """One product (BLAS, where the representation is of vectors) and one selection for a block.

    A single query is ranked in plain NumPy, so that a fresh process need not load numba.
    """

    def __init__(self, representation: Representation, tie_rank: TieRank) -> None:
        self.representation, self.tie_rank = representation, tie_rank

    @property
    def nbytes(self) -> int:
        return self.representation.item_nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        return f"all scores: {self.representation.score_description}"

    def _ready(self, queries: Any) -> Any:
        return queries if hasattr(queries, "shape") else np.asarray(queries)

    def _best(self, queries: Any, k: int, filters: Filters, choice: Any, pool: ThreadPool) -> Hits:
        check_range(filters.indices, len(self.tie_rank), "exclude")
        count, denied = queries.shape[0], filters.denied
        if choice is not None:
            hidden = choice.allow_mask[self.tie_rank] == 0
            hidden[denied] = True
            denied = np.flatnonzero(hidden).astype(np.int32)
        hits = no_hits(count, k)
        size = int(np.clip(BLOCK_BYTES // (4 * max(1, len(self.tie_rank))), 8, 1024))

        def work(piece: int) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            lists = _lists(filters, part, denied)
            found = top_k(self.representation.score(queries[part]), k, self.tie_rank, lists)
            hits.items[part], hits.scores[part] = found.items, found.scores
            hits.counts[part] = found.counts

        with one_blas_thread():
            if count == 1:
                scores, own = self.representation.score(queries)[0], filters.of(0)
                excluded = np.union1d(denied, own) if len(denied) else own
                hits.put(0, *top_k_row(scores, max(1, k), self.tie_rank, excluded))
            else:
                pool.map(-(-count // size), work)
        return hits


def _lists(filters: Filters, part: slice, denied: Rows) -> Exclude:
    """The lists of the queries of a block, with what no query may show."""
    indptr = filters.indptr[part.start : part.stop + 1]
    if not len(denied):
        return indptr - indptr[0], filters.indices[indptr[0] : indptr[-1]]
    lists = [np.union1d(denied, filters.of(b)) for b in range(part.start, part.stop)]
    return np.cumsum([0, *map(len, lists)]), np.concatenate([denied[:0], *lists])


INDEXES = {
    "codes": ("xorec.search.hamming.index", "HammingIndex"),
    "masked-codes": ("xorec.search.hamming.index", "HammingIndex"),
    "two-stage": ("xorec.search.two_stage", "TwoStageIndex"),
    "codes of float users": ("xorec.search.code_scores", "LookUpIndex"),
    "codebooks": ("xorec.search.code_scores", "LookUpIndex"),
    "composed-codes": ("xorec.search.code_scores", "ComposedIndex"),
    "neighbours": ("xorec.search.postings", "PostingIndex"),
}
"""Kind of representation: (module, class); all other kinds have a `ScoreIndex`."""


def index_of(
    representation: Representation,
    tie_rank: TieRank,
    saved: SavedIndex | None = None,
    threads: int | None = None,
) -> Index:
    """The best index for a representation: by its codes where it has them, else over all scores.

    saved: an index that a file has kept; then it is not built again. threads: to build it, or to
    check it; None for all cores.

    >>> import numpy as np
    >>> from xorec.representations.vectors import Vectors
    >>> vectors = Vectors(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32))
    >>> index = index_of(vectors, tie_rank=np.arange(2, dtype=np.int32))
    >>> index.search(vectors.queries(np.array([1])), k=1).items
    array([[1]], dtype=int32)
    """
    kind: str = representation.kind
    if kind == "codes" and getattr(representation, "user_vectors", None) is not None:
        kind = "codes of float users"
    module, name = INDEXES.get(kind, (__name__, "ScoreIndex"))
    index: Index = getattr(import_module(module), name).of(representation, tie_rank, saved, threads)
    return index
