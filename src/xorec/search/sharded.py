"""ShardedIndex: several indexes, each of a range of item rows, that answer as one.

A shard ranks its own items under the order that the global tie rank gives them. The best of all is
among the best of each, so the merge by (score, global tie rank) equals one index, for any cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int, whole_numbers
from xorec.core.errors import DataError, OptionError
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.checks import check_choice, check_lists, check_rows, check_tie_rank
from xorec.search.hits import Exclude, Hits
from xorec.search.index import Index, index_of

Lists = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
Rows = npt.NDArray[np.int64]
MakeShard = Callable[[int, int, TieRank], Index]
"""(first row, row after the last, order of these items among themselves) -> their index."""


class RowChoice(NamedTuple):
    """A choice of items, made ready in a shard (`ready`) or in each of several."""

    ready: Any


@dataclass(frozen=True, eq=False)
class Shard:
    """The index of the rows from `start` up to `stop` of `items`; it speaks in rows of all."""

    start: int
    stop: int
    items: int
    index: Index

    @classmethod
    def of(
        cls,
        representation: Representation,
        tie_rank: TieRank,
        rows: tuple[int, int],
        threads: int | None = None,
    ) -> Shard:
        """Of the items at these rows (start, stop): what it keeps grows with these alone.

        tie_rank: of all items. Refused where shards would not answer as one index.
        """
        (start, stop), order = rows, own_order(tie_rank[slice(*rows)])
        index = index_of(representation.item_range(start, stop), order, threads=threads)
        return cls(start, stop, len(tie_rank), index)

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
        """The `k` best of the shard's items: see `search.index.Index`."""
        k, (start, stop) = positive_int(k), (self.start, self.stop)
        own = None if exclude is None else _checked(exclude, queries, "exclude", self.items)
        if allow is not None and not isinstance(allow, RowChoice):
            if isinstance(allow, tuple):
                lists = _checked(allow, queries, "allow", self.items)
                allow = RowChoice(within_range(lists, start, stop))
            else:
                allow = RowChoice(_rows_within(np.unique(check_choice(allow, self.items)), self))
        denied = None
        if deny is not None:
            denied = _rows_within(np.unique(check_rows(deny, self.items, "deny")), self)
        found = self.index.search(
            queries,
            min(k, stop - start),
            exclude=None if own is None else within_range(own, start, stop),
            allow=None if allow is None else allow.ready,
            deny=denied,
            threads=threads,
        )
        return Hits(found.items + np.int32(start), found.scores, found.counts, found.distances)

    def item_filter(self, items: npt.NDArray[Any]) -> RowChoice:
        """A choice of items (rows, or one bool for each row of all), for many searches."""
        rows = np.unique(check_choice(items, self.items))
        return RowChoice(self.index.item_filter(_rows_within(rows, self)))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing: a file keeps the index of all its items."""
        return {}

    def explain(self) -> str:
        """What is searched by, and why."""
        return f"rows {self.start} to {self.stop - 1} of {self.items}: {self.index.explain()}"

    @property
    def nbytes(self) -> int:
        """Bytes of the index of the range."""
        return self.index.nbytes


class ShardedIndex:
    """Exact top-k over shards, the same hits as of one index over all rows.

    cuts: the first row of every shard but the first, ascending; a shard may be empty.

    >>> import numpy as np
    >>> from xorec.search.hamming.index import HammingIndex
    >>> codes = np.array([[0], [7], [1], [3]], dtype=np.uint64)
    >>> def make(start, stop, tie_rank):
    ...     return HammingIndex(codes[start:stop], bits=8, tie_rank=tie_rank, threads=1)
    >>> index = ShardedIndex(make, np.arange(4, dtype=np.int32), cuts=[2])
    >>> index.search(codes[:1], k=3).items
    array([[0, 2, 3]], dtype=int32)
    """

    def __init__(self, make: MakeShard, tie_rank: TieRank, cuts: Sequence[int]) -> None:
        items = len(tie_rank)
        self.tie_rank = check_tie_rank(tie_rank, items)
        self.shards = tuple(
            Shard(start, stop, items, make(start, stop, own_order(self.tie_rank[start:stop])))
            for start, stop in ranges(cuts, items)
        )

    @classmethod
    def of(
        cls,
        representation: Representation,
        tie_rank: TieRank,
        cuts: Sequence[int],
        threads: int | None = None,
    ) -> ShardedIndex:
        """Of a representation; refused where shards would not answer as one index."""

        def make(start: int, stop: int, order: TieRank) -> Index:
            return index_of(representation.item_range(start, stop), order, threads=threads)

        return cls(make, tie_rank, cuts)

    def __len__(self) -> int:
        return len(self.tie_rank)

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
        """The `k` best items of each query: see `search.index.Index`."""
        k = min(positive_int(k), len(self))
        ready = allow.ready if isinstance(allow, RowChoice) else [allow] * len(self.shards)
        found = [
            shard.search(queries, k, exclude=exclude, allow=choice, deny=deny, threads=threads)
            for shard, choice in zip(self.shards, ready, strict=True)
        ]
        return merged(found, self.tie_rank, k)

    def item_filter(self, items: npt.NDArray[Any]) -> RowChoice:
        """A choice of items (rows, or one bool for each row), for many searches."""
        return RowChoice([shard.item_filter(items) for shard in self.shards])

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing: a file keeps the index of all its items."""
        return {}

    def explain(self) -> str:
        """What is searched by, and why."""
        how = " | ".join(sorted({shard.index.explain() for shard in self.shards}))
        return f"{len(self.shards)} shards: {how}"

    @property
    def nbytes(self) -> int:
        """Bytes of all shards and of the tie rank."""
        return self.tie_rank.nbytes + sum(shard.nbytes for shard in self.shards)


def even_cuts(items: int, shards: int) -> list[int]:
    """Where to cut for so many shards of nearly the same size.

    >>> even_cuts(10, 3)
    [3, 6]
    """
    count = positive_int(shards, "shards")
    return [items * number // count for number in range(1, count)]


def ranges(cuts: Sequence[int], items: int) -> list[tuple[int, int]]:
    """(start, stop) of every shard that has items.

    >>> ranges([2, 2], 5)
    [(0, 2), (2, 5)]
    """
    places = [0, *whole_numbers(np.asarray(cuts, dtype=np.int64), "cuts").tolist(), items]
    if sorted(places) != places:
        raise OptionError(f"cuts {list(cuts)} do not ascend between 0 and {items} items.")
    return [(start, stop) for start, stop in pairwise(places) if stop > start]


def own_order(tie_rank: TieRank) -> TieRank:
    """The order of some items among themselves, from their places among all.

    >>> import numpy as np
    >>> own_order(np.array([7, 2, 9], dtype=np.int32))
    array([1, 0, 2], dtype=int32)
    """
    order = np.empty(len(tie_rank), dtype=np.int32)
    order[np.argsort(tie_rank)] = np.arange(len(tie_rank), dtype=np.int32)
    return order


def within_range(lists: Lists, start: int, stop: int) -> Lists:
    """Of each list the rows from `start` up to `stop`, counted from `start`.

    >>> import numpy as np
    >>> within_range((np.array([0, 3, 4]), np.array([1, 5, 8, 6], dtype=np.int32)), 5, 8)
    (array([0, 1, 2]), array([0, 1], dtype=int32))
    """
    indptr, indices = lists
    inside = (indices >= start) & (indices < stop)
    before = np.concatenate([[0], np.cumsum(inside)])
    begin, end = indptr[0], indptr[-1]
    rows = indices[begin:end][inside[begin:end]] - np.int32(start)
    return before[indptr] - before[begin], rows


def merged(parts: Sequence[Hits], tie_rank: TieRank, k: int) -> Hits:
    """The best k of what shards have found, in rows of all: by (score, tie rank).

    Distances, where all have them, rank instead of scores.
    """
    if not parts:
        raise DataError("there are no shards: an index has at least one item.")
    items, scores = (np.concatenate(both, axis=1) for both in zip(*map(_both, parts), strict=True))
    there = np.concatenate(
        [np.arange(hits.items.shape[1]) < hits.counts[:, None] for hits in parts], axis=1
    )
    near = [hits.distances for hits in parts if hits.distances is not None]
    distances = np.concatenate(near, axis=1) if len(near) == len(parts) else None
    costs = np.where(np.isnan(scores), np.inf, -scores) if distances is None else distances
    ranks = tie_rank[np.where(there, items, 0)]
    order = np.lexsort((ranks, costs, ~there), axis=1)[:, :k]
    counts, missing = np.minimum(there.sum(axis=1), k), k - order.shape[1]
    behind = np.arange(order.shape[1]) >= counts[:, None]

    def best(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        chosen = np.take_along_axis(values, order, axis=1)
        chosen[behind] = 0
        return chosen if missing == 0 else np.pad(chosen, ((0, 0), (0, missing)))

    return Hits(best(items), best(scores), counts, None if distances is None else best(distances))


def _both(hits: Hits) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    return hits.items, hits.scores


def _checked(lists: Any, queries: Any, what: str, items: int) -> Lists:
    if isinstance(queries, np.ndarray) and queries.ndim == 1 and queries.dtype.kind in "uf":
        count = 1  # one code, or one vector
    else:
        count = queries.shape[0] if hasattr(queries, "shape") else len(queries)
    indptr, indices = check_lists(lists, count, what)
    check_rows(indices[indptr[0] : indptr[-1]], items, what)
    return indptr, indices


def _rows_within(rows: Rows, shard: Shard) -> Rows:
    return rows[slice(*np.searchsorted(rows, [shard.start, shard.stop]))] - shard.start
