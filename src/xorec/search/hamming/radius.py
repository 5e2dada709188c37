"""Radius search: every item within a distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Rows
from xorec.search.hamming.lists import Items
from xorec.search.hamming.plan import scan_cost
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.tables import Tables
from xorec.search.hamming.tables_kernels import PROBE

_FIRST_GUESS = 1_024


@dataclass(frozen=True, eq=False)
class Within:
    """All items within a distance of each query, nearest first, then by tie rank.

    Those of query b are items[indptr[b]:indptr[b + 1]], with their distances.
    """

    indptr: npt.NDArray[np.int64]
    items: Rows
    distances: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, b: int) -> tuple[Rows, npt.NDArray[np.int32]]:
        """Items and distances of query b."""
        own = slice(self.indptr[b], self.indptr[b + 1])
        return self.items[own], self.distances[own]

    def __iter__(self) -> Iterator[tuple[Rows, npt.NDArray[np.int32]]]:
        return (self.row(b) for b in range(len(self)))


def within(
    items: Items,
    segments: tuple[Segment, ...],
    queries: Words,
    distance: int,
    filters: Filters,
    pool: ThreadPool,
) -> Within:
    """filters.shown is by tie rank."""
    found: list[Words] = [np.zeros(0, dtype=np.uint64)] * len(queries)
    ranks = [items.tie_rank[segment.rows] for segment in segments]

    def work(b: int) -> None:
        parts = []
        for segment, rank in zip(segments, ranks, strict=True):
            shown = filters.shown[rank] if len(filters.shown) else filters.shown
            keys = _keys(segment, queries[b], distance, replace(filters, shown=shown), b)
            place = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            parts.append((keys >> np.uint64(32) << np.uint64(32)) | rank[place].astype(np.uint64))
        found[b] = np.unique(np.concatenate(parts))  # the tables find an item more than once

    pool.map(len(queries), work)
    keys = np.concatenate([np.zeros(0, dtype=np.uint64), *found])
    place = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum([len(keys) for keys in found], dtype=np.int64)])
    distances = (keys >> np.uint64(32)).astype(np.int32)
    return Within(indptr.astype(np.int64), items.item_at[place], distances)


def _keys(segment: Segment, query: Words, distance: int, filters: Filters, b: int) -> Words:
    """Distance above place, in any order, perhaps more than once."""
    from xorec.search.hamming.scan_kernels import scan_within
    from xorec.search.hamming.within_kernels import probe_within

    room = _FIRST_GUESS
    tables = segment.tables if _pays(segment, distance) else None
    hidden = (segment.rows, filters.shown, filters.of(b), filters.denied)
    valid = segment.valid if tables is not None else segment.open_places(filters, filters.of(b))
    while True:
        keys = np.empty(room, dtype=np.uint64)
        if tables is None:
            runs = (segment.planes, segment.bits, segment.masked or None, valid)
            count = scan_within(*runs, query, distance, keys)
        else:
            count = probe_within(tables.arrays(), query, distance, *hidden, keys)
        if count <= room:
            return keys[:count]
        room = count


def _pays(segment: Segment, distance: int) -> bool:
    """Whether probing all rings that `distance` needs costs much less than a scan."""
    if segment.tables is None:
        return False
    cost = PROBE * probes_within(segment.tables, distance)
    return 4 * cost < scan_cost(len(segment.rows), segment.bits)


def probes_within(tables: Tables, distance: int) -> float:
    """Buckets to look up for everything within `distance`; infinite beyond the masks kept."""
    total = 0
    for t, width in enumerate(tables.widths):
        ring = (distance - t) // len(tables)
        if ring >= len(tables.rings) and ring > width:
            ring = int(width)
        if ring >= len(tables.rings):
            return float("inf")
        total += sum(comb(int(width), s) for s in range(ring + 1))
    return float(total)
