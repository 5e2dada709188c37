"""SevenBitTables: large batches of short codes, by look-up tables that are made for the batch."""

from __future__ import annotations

import numpy as np

from xorec.core.arrays import empty_aligned
from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.batches import Nearest, Numbers, empty_nearest
from xorec.search.filters import Filters
from xorec.search.hamming.adders import LAG_PLANES
from xorec.search.hamming.planes_kernels import CHUNK_ITEMS, TOO_LONG_FOR_FEW
from xorec.search.hamming.scan import LinearScan
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.seven_bits.scan_kernels import LookUp, scan_lut
from xorec.search.hamming.seven_bits.tables_kernels import fill_tables, table_words
from xorec.search.hamming.strategy import SearchStrategy

MEMORY = 1 << 24
"""Bytes that the tables of a batch may take."""
_START, _ITEM, _WORD = 250.0, 0.047, 0.7
"""Nanoseconds of a query, of an item of it, and of a word of the tables, about."""
_PIECE = 512
"""Queries of one call, at most: the first of them has no neighbour to guess by."""


class SevenBitTables(SearchStrategy):
    """Codes of up to 30 bits: see `seven_bits.adders`. One query, or a radius: the scan does it."""

    name = "lut"
    per_batch = True

    @classmethod
    def refusal(cls, segment: Segment) -> str:
        if segment.planes.masked:
            return "masks hide bits that look-up tables go by"
        return "" if segment.planes.farthest < TOO_LONG_FOR_FEW else "the codes are too long"

    def cost(self, queries: int, k: int) -> float:
        words = chunks_of(len(self.segment)) * table_words(self.segment.bits, self._lag_planes)
        if not words or 8 * words > MEMORY:
            return float("inf")
        return float(queries * (_START + _ITEM * len(self.segment)) + _WORD * words)

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest, order = empty_nearest(len(queries), k), self.segment.order
        luts, open_ = self._make(pool), self.segment.open_positions(filters)
        exclude, sorted_ = filters.exclude, by_code(queries)
        count = max(-(-len(sorted_) // _PIECE), min(len(sorted_), pool.threads))
        parts = np.array_split(sorted_, count)

        def work(at: int) -> None:
            scan_lut(luts, order, open_, queries, parts[at], exclude, nearest)

        pool.map(len(parts), work)
        return nearest

    @property
    def _lag_planes(self) -> int:
        return LAG_PLANES if self.segment.planes.lags else 0

    def _make(self, pool: ThreadPool) -> LookUp:
        """The tables of all chunks, by all threads."""
        planes, bits, lag_planes = self.segment.planes.words, self.segment.bits, self._lag_planes
        chunks = chunks_of(len(self.segment))
        tables = empty_aligned((chunks * table_words(bits, lag_planes),), np.uint64)
        codes = np.empty(chunks * CHUNK_ITEMS, dtype=np.uint32)

        def fill(begin: int, end: int) -> None:
            fill_tables(planes, bits, lag_planes, begin, end, tables, codes)

        pool.map_ranges(chunks, fill)
        return LookUp(tables, codes, bits, self.segment.planes.farthest)

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        return LinearScan(self.segment).within(query, radius, filters, b)


def chunks_of(items: int) -> int:
    """Chunks of so many items."""
    return -(-items // CHUNK_ITEMS)


def by_code(queries: Words) -> Numbers:
    """The queries (B, 1) in the order of their codes, which are shorter than 32 bits."""
    numbers = np.arange(len(queries), dtype=np.uint64)
    order = np.sort((queries[:, 0] << np.uint64(32)) | numbers)
    return (order & np.uint64(0xFFFFFFFF)).astype(np.int64)
