"""The short way for one query: a call through all checks costs as much as the search."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import Words
from xorec.search.filters import Filters, Shown, check_lists
from xorec.search.hamming.plan import scan_cost
from xorec.search.hamming.segment import LONG_LIST, Segment
from xorec.search.hamming.single_kernels import find_one, scan_one
from xorec.search.hits import Exclude, Hits

_WORD, _NO_ROWS = np.dtype(np.uint64), np.zeros(0, dtype=np.int32)
_NO_QUERY = np.zeros(2, dtype=np.int64)


class Single:
    """One segment, its arrays laid out for its kernel."""

    def __init__(self, segment: Segment, shown: Shown) -> None:
        items = len(segment.rows)
        budget = scan_cost(items, segment.bits)
        self._kernel: Any = scan_one
        self._first: tuple[Any, ...] = (
            segment.planes,
            segment.rows,
            segment.place_of,
            segment.bits,
            segment.masked or None,
        )
        everybody = Filters(_NO_QUERY, _NO_ROWS, _NO_ROWS, shown)
        self._open: Any = segment.open_places(everybody)
        if segment.tables is not None:
            self._kernel = find_one
            own = (segment.rows, segment.place_of, segment.bits, budget)
            self._first, self._open = (segment.tables.arrays(), *own), shown
        self._shape = (1, -(-segment.bits // 64))
        self._most = min(LONG_LIST, items)
        self._behind = segment.bits % 64

    def find(self, query: Any, k: Any, exclude: Exclude | None) -> Hits | None:
        """The hits of one well-formed query (1, W); None: take the long way."""
        if not self._is_plain(query) or type(k) is not int or not 0 < k <= self._most:
            return None
        seen = _NO_ROWS
        if exclude is not None:
            indptr, rows = check_lists(exclude, 1, "exclude")
            seen = rows[indptr[0] : indptr[1]]
        items, distances = np.empty((1, k), np.int32), np.empty((1, k), np.int32)
        scores, counts = np.empty((1, k), np.float32), np.zeros(1, np.int64)
        into = (items, scores, distances, counts)
        if self._kernel(*self._first, query, self._open, seen, *into):
            return Hits(items, scores, counts, distances)
        return None

    def _is_plain(self, query: Words) -> bool:
        if not isinstance(query, np.ndarray) or query.dtype != _WORD or query.shape != self._shape:
            return False
        return bool(query.flags.carray) and not (self._behind and int(query[0, -1]) >> self._behind)
