"""LinearScan: every chunk of planes is counted for every query. It can answer everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.batches import Nearest, Numbers, empty_nearest, map_parts, numbers_of
from xorec.search.filters import Filters, Mask, no_filters
from xorec.search.hamming.scan_kernels import scan, scan_one, scan_within
from xorec.search.hamming.segment import Segment, scan_cost
from xorec.search.hamming.strategy import FindOne, Option, Sample, SearchStrategy

START = 500.0
"""Nanoseconds of a query beside its items, about."""
_PIECE = 512
"""Queries of one call, at most: a call costs as much as a few of them."""
_FIRST_GUESS = 1_024


class LinearScan(SearchStrategy):
    """Bit-sliced: 256 items in one machine instruction, see `planes_kernels`."""

    name = "scan"

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        return [cls.option(segment)]

    @classmethod
    def option(cls, segment: Segment) -> Option:
        """The only one."""
        return Option(cls.name, cls.name, scan_cost(len(segment), segment.bits))

    def cost(self, queries: int, k: int) -> float:
        return queries * (START + scan_cost(len(self.segment), self.segment.bits))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest = empty_nearest(len(queries), k)
        self.fill(nearest, numbers_of(len(queries)), queries, filters, pool)
        return nearest

    def fill(
        self, nearest: Nearest, which: Numbers, queries: Words, filters: Filters, pool: ThreadPool
    ) -> None:
        """`nearest` for queries[which]."""
        if not len(which):
            return
        planes, order = self.segment.planes, self.segment.order
        open_, exclude = self.segment.open_positions(filters), filters.exclude

        def work(part: Numbers) -> None:
            scan(planes, order, open_, queries, part, exclude, nearest)

        map_parts(pool, which, _PIECE, work)

    def find_one(self, allow_mask: Mask) -> FindOne:
        open_ = self.segment.open_positions(no_filters(1, allow_mask))
        return partial(scan_one, (*self.segment.planes, *self.segment.order, open_))

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        planes, open_ = self.segment.planes, self.segment.open_positions(filters, filters.of(b))
        return collect(lambda keys: scan_within(planes, open_, query, radius, keys))


def collect(search: Callable[[Words], int]) -> Words:
    """All keys of a search that fills as much room as it gets and says how many there are."""
    room = _FIRST_GUESS
    while True:
        keys = np.empty(room, dtype=np.uint64)
        count = search(keys)
        if count <= room:
            return keys[:count]
        room = count
