"""The short way for one query: a call through all checks costs as much as the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import Words, words_for
from xorec.search.batches import LONG_LIST
from xorec.search.checks import check_lists
from xorec.search.filters import NO_ROWS, Mask, Rows
from xorec.search.hamming.strategy import SearchStrategy
from xorec.search.hits import Exclude, Hits

_WORD = np.dtype(np.uint64)


class SingleQuery:
    """The strategy of an index of one segment, made ready for queries that come one by one."""

    def __init__(self, strategy: SearchStrategy, allow_mask: Mask) -> None:
        segment = strategy.segment
        self._find = strategy.find_one(allow_mask)
        self._shape = (1, words_for(segment.bits))
        self._most = min(LONG_LIST, len(segment))
        self._behind = segment.bits % 64

    def search(self, query: Any, k: Any, exclude: Exclude | None) -> Hits | None:
        """The hits of one well-formed query (1, W); None: take the long way."""
        if not self.takes(query, k):
            return None
        excluded = NO_ROWS
        if exclude is not None:
            indptr, rows = check_lists(exclude, 1, "exclude")
            excluded = rows[indptr[0] : indptr[1]]
        return self.nearest(query, k, excluded)

    def takes(self, query: Any, k: Any) -> bool:
        """Whether a query is well formed, and k not too large for the short way."""
        return not (
            not isinstance(query, np.ndarray)
            or query.dtype != _WORD
            or query.shape != self._shape
            or not query.flags.carray
            or (self._behind and int(query[0, -1]) >> self._behind)
            or type(k) is not int
            or not 0 < k <= self._most
        )

    def nearest(self, query: Words, k: int, excluded: Rows) -> Hits:
        """The hits of a query that it takes; excluded: rows, checked and ascending."""
        shape = (1, k)
        items, distances = np.empty(shape, np.int32), np.empty(shape, np.int32)
        scores, counts = np.empty(shape, np.float32), np.zeros(1, np.int64)
        self._find(query, excluded, counts, (items, scores, distances))
        return Hits(items, scores, counts, distances)
