"""ShortlistIndex: the nearest items by code, ranked by what is finer than codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, positive_int
from xorec.core.lazy_kernel import is_loaded
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation, Rows, Scores
from xorec.representations.shortlist import Shortlist
from xorec.search.hamming.catalogue import ItemFilter
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lazy_index import LazyHammingIndex
from xorec.search.hits import Exclude, Hits, no_hits
from xorec.search.index import SavedIndex
from xorec.search.top_k import top_k


class ShortlistIndex:
    """Two stages: `size` items by Hamming distance, all filters inside; then exact scores of these.

    Hamming distances go through an exact index, and where the shortlist is as long as the
    catalogue the ranking is that of the scores alone.
    """

    def __init__(self, hamming: HammingIndex, shortlist: Shortlist) -> None:
        self.hamming, self.shortlist = hamming, shortlist

    @classmethod
    def of(
        cls,
        shortlist: Shortlist,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> ShortlistIndex:
        """The index of a representation: see `search.index.index_of`."""
        return cls(LazyHammingIndex.of(shortlist.codes, tie_rank, saved, threads), shortlist)

    @property
    def nbytes(self) -> int:
        """Bytes of the Hamming index, and of what the second stage reads."""
        return self.hamming.nbytes + self.shortlist.second_stage_nbytes

    def explain(self) -> str:
        """What is searched by, and why."""
        by = self.shortlist.score_description
        return f"the {self.shortlist.size} nearest codes ({self.hamming.explain()}), then {by}"

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
        """See `Index.search`. The shortlist is never shorter than `k`."""
        queries = np.atleast_1d(queries)
        near = self.hamming.search(
            queries["code"],
            max(self.shortlist.size, positive_int(k)),
            exclude=exclude,
            allow=allow,
            deny=deny,
            threads=threads,
        )
        width = min(k, near.items.shape[1])
        with ThreadPool(min(threads, max(1, len(queries)))) as pool:
            scores = self.shortlist.rescore(queries["vector"], near.items, near.counts, pool)
            return self._best(scores, near, width, pool)

    def item_filter(self, items: npt.NDArray[Any]) -> ItemFilter:
        """Make ready a choice of items for many searches: `HammingIndex.item_filter`."""
        return self.hamming.item_filter(items)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps: the tensors of the Hamming index."""
        return self.hamming.tensors()

    def _best(
        self, scores: npt.NDArray[np.float32], near: Hits, width: int, pool: ThreadPool
    ) -> Hits:
        from xorec.search.rerank_kernels import best_of

        if len(near) == 1 and not is_loaded(best_of):
            return self._best_one(scores[0, : near.counts[0]], near.row(0)[0], width)
        items = np.empty((len(near), width), dtype=np.int32)
        best = np.empty((len(near), width), dtype=np.float32)
        rank = as_contiguous(self.hamming.tie_rank)
        pool.map_ranges(
            len(near),
            lambda begin, end: best_of(
                scores, near.items, near.counts, rank, begin, end, items, best
            ),
        )
        return Hits(items, best, np.minimum(near.counts, width))

    def _best_one(self, scores: Scores, items: npt.NDArray[np.int32], width: int) -> Hits:
        """The `width` best of the items (s,) of one query, in plain NumPy."""
        falling = -np.where(np.isnan(scores), np.float32(-np.inf), scores)
        order = np.lexsort((self.hamming.tie_rank[items], falling))[:width]
        hits = no_hits(1, width)
        hits.items[0, : len(order)], hits.scores[0, : len(order)] = items[order], scores[order]
        hits.counts[0] = len(order)
        return hits


def ranking_scores(
    representation: Representation, users: Rows, seen: Exclude, tie_rank: TieRank
) -> Scores:
    """Scores (B, m) whose order, without what each user has seen, is that of the lists they get.

    seen: (indptr, items) of all users, by row. Of a shortlist: its unseen items by the scores of
    the second stage, below them the rest, by distance.
    """
    if not isinstance(representation, Shortlist):
        return representation.scores(users)
    indptr, items = seen
    user_items = [items[indptr[user] : indptr[user + 1]] for user in users]
    exclude = np.cumsum([0, *map(len, user_items)]), np.concatenate([items[:0], *user_items])
    scores = representation.codes.scores(users)
    near = top_k(scores, representation.size, tie_rank, exclude)
    vectors = representation.users.floats(users)
    with ThreadPool(1) as pool:
        exact = representation.rescore(vectors, near.items, near.counts, pool)
    there = np.arange(exact.shape[1]) < near.counts[:, None]
    lowest = np.min(exact, axis=1, initial=0, where=there)
    scores += lowest[:, None] - np.float32(2)
    scores[np.nonzero(there)[0], near.items[there]] = exact[there]
    return scores
