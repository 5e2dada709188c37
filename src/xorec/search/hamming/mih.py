"""MultiIndexHashing: tables by substrings of the code; what costs too much there is scanned."""

from __future__ import annotations

from math import comb
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.batches import Nearest, Numbers, empty_nearest, map_parts, numbers_of
from xorec.search.filters import Filters, Mask, Rows
from xorec.search.hamming.arrays import RowFilter
from xorec.search.hamming.multi_index.checks import check_tables
from xorec.search.hamming.multi_index.cost import mih_options
from xorec.search.hamming.multi_index.levels import levels_of
from xorec.search.hamming.multi_index.probe_kernels import PROBE, probe, probe_one, probe_within
from xorec.search.hamming.multi_index.tables import HashTables
from xorec.search.hamming.scan import LinearScan, collect
from xorec.search.hamming.segment import Segment, scan_cost
from xorec.search.hamming.strategy import (
    Arrays,
    FindOne,
    Hits,
    Option,
    Sample,
    SearchStrategy,
)

_TABLE, _LISTED = 1_000.0, 150.0
"""Nanoseconds of a query by a table, and of an item of its list, about."""
_PIECE = 64
"""Queries of one call, at most."""
_CAUTION = 4
"""Probes of a radius are taken to cost so many times what they should: a scan is never far off."""


class MultiIndexHashing(SearchStrategy):
    """A query whose rings cost more than a scan goes on to the scan: no table is probed twice."""

    name = "mih"

    def __init__(self, segment: Segment, tables: HashTables) -> None:
        super().__init__(segment)
        self.tables, self.scan = tables, LinearScan(segment)
        self.budget = scan_cost(len(segment), segment.bits)

    @classmethod
    def refusal(cls, segment: Segment) -> str:
        return "masks hide bits that tables go by" if segment.planes.masked else ""

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        return mih_options(cls.name, segment, sample)

    @classmethod
    def build(cls, segment: Segment, option: Option, codes: Words, pool: ThreadPool) -> Self:
        rows, bits = segment.order.rows, segment.bits
        levels = levels_of(segment.offsets, rows, option.sizes)
        return cls(segment, HashTables.build(codes, rows, bits, levels, pool, segment.offsets))

    @classmethod
    def from_tensors(
        cls, segment: Segment, tensors: Arrays, pool: ThreadPool | None
    ) -> Self | None:
        if "starts" not in tensors:
            return None
        check_tables(tensors, segment, pool)
        return cls(segment, HashTables.from_tensors(tensors, segment.bits, segment.most))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return self.tables.tensors()

    @property
    def label(self) -> str:
        heads = f" and {len(self.tables.heads)} items" if len(self.tables.heads) else ""
        return "+".join(map(str, self.tables.levels[:, 1])) + " tables" + heads

    def cost(self, queries: int, k: int) -> float:
        """Never more than the scan, to which it gives up."""
        tables = queries * (int(self.tables.levels[:, 1].max()) * (_TABLE + _LISTED * k))
        return min(tables, self.scan.cost(queries, k))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest, which = empty_nearest(len(queries), k), numbers_of(len(queries))
        finished = np.zeros(len(queries), dtype=np.bool_)
        tables, order, budget = self.tables, self.segment.order, self.budget

        def work(part: Numbers) -> None:
            probe(tables, order, queries, part, filters, budget, nearest, finished)

        map_parts(pool, which, _PIECE, work)
        self.scan.fill(nearest, which[~finished], queries, filters, pool)
        return nearest

    def find_one(self, allow_mask: Mask) -> FindOne:
        arrays = (tuple(self.tables), tuple(self.segment.order), allow_mask)
        bits, budget, scan_instead = self.segment.bits, self.budget, self.scan.find_one(allow_mask)

        def find(query: Words, excluded: Rows, counts: Numbers, hits: Hits) -> None:
            if not probe_one(arrays, bits, budget, query, excluded, counts, hits):
                scan_instead(query, excluded, counts, hits)

        return find

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        if (
            len(self.segment.offsets)
            or not _CAUTION * PROBE * probes_within(self.tables, radius) < self.budget
        ):
            return self.scan.within(query, radius, filters, b)
        rows, mask = self.segment.order.rows, filters.allow_mask
        checks = RowFilter(rows, mask, filters.of(b), filters.denied)
        return collect(lambda keys: probe_within(self.tables, query, radius, checks, keys))


def probes_within(tables: HashTables, radius: int) -> float:
    """Buckets to look up for everything within `radius`; infinite beyond the masks kept."""
    total = 0
    for t, width in enumerate(tables.widths):
        ring = (radius - t) // len(tables.widths)
        if ring >= len(tables.rings) and ring > width:
            ring = int(width)
        if ring >= len(tables.rings):
            return float("inf")
        total += sum(comb(int(width), s) for s in range(ring + 1))
    return float(total)
