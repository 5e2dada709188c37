"""ShortlistIndex: the nearest items by code, ranked by what is finer than codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.search.filters import for_kernels
from xorec.search.hamming import HammingIndex, Only
from xorec.search.hits import Exclude, Hits, check_k
from xorec.threads import Team

if TYPE_CHECKING:
    from xorec.representations.shortlist import Shortlist


class ShortlistIndex:
    """Two stages: `size` items by Hamming distance, all filters inside; then exact scores of these.

    Hamming distances go through an exact index, and where the shortlist is as long as the
    catalogue the ranking is that of the scores alone.
    """

    def __init__(self, hamming: HammingIndex, shortlist: Shortlist) -> None:
        self.hamming, self.shortlist = hamming, shortlist

    @property
    def nbytes(self) -> int:
        """Bytes of the Hamming index, and of what the second stage reads."""
        return self.hamming.nbytes + self.shortlist.second_stage_nbytes

    def explain(self) -> str:
        """What is searched by, and why."""
        by = self.shortlist.score_is
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
            max(self.shortlist.size, check_k(k)),
            exclude=exclude,
            allow=allow,
            deny=deny,
            threads=threads,
        )
        width = min(k, near.items.shape[1])
        with Team(min(threads, max(1, len(queries)))) as team:
            scores = self.shortlist.rescore(queries["vector"], near.items, near.counts, team)
            return self._best(scores, near, width, team)

    def only(self, items: npt.NDArray[Any]) -> Only:
        """Make ready a choice of items for many searches: `HammingIndex.only`."""
        return self.hamming.only(items)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps: the tensors of the Hamming index."""
        return self.hamming.tensors()

    def _best(self, scores: npt.NDArray[np.float32], near: Hits, width: int, team: Team) -> Hits:
        from xorec.search.shortlist_kernels import best_of

        items = np.empty((len(near), width), dtype=np.int32)
        best = np.empty((len(near), width), dtype=np.float32)
        rank = for_kernels(self.hamming.items.tie_rank)
        team.over(
            len(near),
            lambda begin, end: best_of(
                scores, near.items, near.counts, rank, begin, end, items, best
            ),
        )
        return Hits(items, best, np.minimum(near.counts, width))
