"""LazyHammingIndex: the first few queries in plain NumPy; planes and tables when they pay.

To build an index takes kernels, to have kernels takes numba, and after an install the compiler. A
process that asks once is answered sooner without; one that asks on gets the index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.bits import CodeRows, Words, as_offsets
from xorec.core.progress import logged
from xorec.core.threads import lazy_property
from xorec.data.tie_rank import TieRank
from xorec.representations.codes import distances, hamming_scores
from xorec.search.filters import check_tie_rank, make_filters
from xorec.search.hamming.catalogue import Catalogue, ItemFilter
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.segment import Distance, is_masked
from xorec.search.hits import FIRST_QUERIES, Exclude, Hits
from xorec.search.index import SavedIndex
from xorec.search.top_k import inverse

if TYPE_CHECKING:
    from xorec.representations.codes import Codes


class LazyHammingIndex(HammingIndex):
    """A HammingIndex that is built by the first batch, or after FIRST_QUERIES single queries.

    The answers are the same before and after.

    >>> codes = np.array([[0b00], [0b01], [0b11]], dtype=np.uint64)
    >>> order = np.arange(3, dtype=np.int32)
    >>> index = LazyHammingIndex(codes, 2, order, build=lambda: HammingIndex(codes, 2, order))
    >>> index.search(codes[2:], k=2).items, index.is_built()
    (array([[2, 1]], dtype=int32), False)
    >>> index.search(codes, k=1).items.ravel(), index.is_built()
    (array([0, 1, 2], dtype=int32), True)
    """

    def __init__(
        self,
        codes: CodeRows | Words,
        bits: int,
        tie_rank: TieRank,
        distance: Distance = "hamming",
        *,
        offsets: npt.ArrayLike | None = None,
        build: Callable[[], HammingIndex],
    ) -> None:
        rows = CodeRows.of(codes, bits)
        tie_rank, removed = check_tie_rank(tie_rank, len(rows)), np.zeros(len(rows), dtype=np.bool_)
        added = as_offsets(offsets, len(rows))
        self._bare = Catalogue(rows, tie_rank, inverse(tie_rank), (), removed, added)
        self._bits, self._masked, self._build = bits, is_masked(distance), build
        self._first_queries = FIRST_QUERIES

    @classmethod
    def of(
        cls,
        codes: Codes,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> LazyHammingIndex:
        """The index of a representation: see `search.index.index_of`.

        What a file has kept is checked now, whether it is ever searched or not.
        """
        distance: Distance = "masked" if codes.kind == "masked-codes" else "hamming"

        def build() -> HammingIndex:
            return HammingIndex.of(codes, tie_rank, saved, threads)

        kept = build() if saved is not None else None
        how: dict[str, Any] = {"offsets": codes.item_offsets, "build": build}
        made = cls(codes.item_rows, codes.bits, tie_rank, distance, **how)
        if kept is not None:
            vars(made)["catalogue"] = kept.catalogue
        return made

    @classmethod
    def _over(cls, catalogue: Catalogue) -> HammingIndex:
        return HammingIndex._over(catalogue)

    @lazy_property
    def catalogue(self) -> Catalogue:
        """What is searched once it is built."""
        with logged("build", items=len(self._bare)):
            return self._build().catalogue

    def is_built(self) -> bool:
        """Whether planes and tables are there."""
        return "catalogue" in vars(self)

    def __len__(self) -> int:
        return len(self._bare)

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def tie_rank(self) -> TieRank:
        return self._bare.tie_rank

    @property
    def most(self) -> int:
        return self._bare.most

    @property
    def distance(self) -> Distance:
        return "masked" if self._masked else "hamming"

    def by(self, distance: Distance) -> HammingIndex:
        """The same items by another distance; it shares the planes, when there are any."""
        if is_masked(distance) == self._masked:
            return self
        codes, rank = self._bare.rows, self.tie_rank
        other = super().by
        return LazyHammingIndex(codes, self.bits, rank, distance, build=lambda: other(distance))

    def item_filter(self, items: npt.NDArray[Any]) -> ItemFilter:
        """See `HammingIndex.item_filter`; needs nothing built."""
        return self._bare.item_filter(items)

    def search(
        self,
        queries: Words,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: npt.NDArray[Any] | Exclude | ItemFilter | None = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """See `HammingIndex.search`."""
        if self._first_queries > 0:
            if len(np.atleast_2d(queries)) == 1 and not isinstance(allow, tuple):
                self._first_queries -= 1
                return self._search_one(queries, k, exclude, allow, deny)
            self._first_queries = 0
        return super().search(queries, k, exclude=exclude, allow=allow, deny=deny, threads=threads)

    def _search_one(
        self,
        query: Words,
        k: int,
        exclude: Exclude | None,
        allow: npt.NDArray[Any] | ItemFilter | None,
        deny: npt.NDArray[np.integer] | None,
    ) -> Hits:
        """One query, by the distances of all items in plain NumPy."""
        (words,) = CodeRows(np.atleast_2d(query), self.bits, "queries").words
        items, rank = len(self), self.tie_rank
        k = min(positive_int(k), items)
        filters = make_filters(1, exclude, deny, items)
        found = distances(words, self._bare.rows.words, masked=self._masked)
        hidden = np.concatenate([filters.of(0), filters.denied])
        most = self._bare.most
        if most:  # whole numbers from 0 on again
            found += most - self._bare.offsets
        farthest = self.bits + most
        found[hidden[(hidden >= 0) & (hidden < items)]] = farthest + 1
        if allow is not None:
            chosen = allow if isinstance(allow, ItemFilter) else self.item_filter(allow)
            found[chosen.allow_mask[rank] == 0] = farthest + 1
        ends = np.cumsum(np.bincount(found, minlength=farthest + 2)[: farthest + 1])
        count = min(k, int(ends[-1]))
        near = np.flatnonzero(found <= np.searchsorted(ends, count))
        best = near[np.lexsort((rank[near], found[near]))[:count]]
        hits = np.zeros((1, k), np.int32), np.zeros((1, k), np.int32)
        hits[0][0, :count], hits[1][0, :count] = best, found[best] - most
        scores = hamming_scores(hits[1], self.bits)
        scores[0, count:] = 0
        return Hits(hits[0], scores, np.array([count]), hits[1])
