"""The ways around a segment: lists of items to choose from, very long answers, several segments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.search.filters import Filters, Rows
from xorec.search.hamming.plan import scan_cost
from xorec.search.hamming.segment import Segment, share

Found = tuple[Words, npt.NDArray[np.int64]]
"""(keys (B, k), counts): distance above tie rank."""
_LISTED = 4.0
"""Nanoseconds for an item of a list, about."""


@dataclass(frozen=True, eq=False)
class Items:
    """All items of an index: codes by row, and their order. item_at: the row at each tie rank.

    masked: only the set bits of a query count.
    """

    codes: Words
    bits: int
    tie_rank: TieRank
    item_at: Rows
    masked: bool = False


def is_short(choice: int, items: int, bits: int) -> bool:
    """Whether going through a choice of so many costs less than a scan."""
    return choice * _LISTED < scan_cost(items, bits)


def nearest_of_lists(
    items: Items,
    queries: Words,
    k: int,
    filters: Filters,
    spans: npt.NDArray[np.int64],
    rows: Rows,
    pool: ThreadPool,
) -> Found:
    """Query b chooses among rows[spans[b, 0]:spans[b, 1]]."""
    from xorec.search.nearest_kernels import nearest_of_lists

    keys = np.empty((len(queries), k), dtype=np.uint64)
    counts = np.zeros(len(queries), dtype=np.int64)
    share(
        pool,
        np.arange(len(queries)),
        64,
        lambda which: nearest_of_lists(
            items.codes,
            items.masked,
            queries,
            which,
            spans,
            rows,
            items.tie_rank,
            filters.indptr,
            filters.indices,
            filters.denied,
            keys,
            counts,
        ),
    )
    return keys, counts


def rank_all(items: Items, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Found:
    """As `Segment.nearest` over all items, for any k: filters.shown is by tie rank."""
    from xorec.search.nearest_kernels import rank_all

    keys = np.empty((len(queries), k), dtype=np.uint64)
    counts = np.zeros(len(queries), dtype=np.int64)

    def work(b: int) -> None:
        distances = np.empty(len(items.codes), dtype=np.uint16)
        counts[b] = rank_all(
            items.codes,
            items.masked,
            queries[b],
            items.bits,
            items.item_at,
            filters.shown,
            filters.of(b),
            filters.denied,
            distances,
            keys[b],
        )

    pool.map(len(queries), work)
    return keys, counts


def nearest_of_segments(
    items: Items,
    segments: tuple[Segment, ...],
    queries: Words,
    k: int,
    filters: Filters,
    pool: ThreadPool,
) -> Found:
    """The answers of all segments, put together: filters.shown is by tie rank."""
    parts, total = [], np.zeros(len(queries), dtype=np.int64)
    for segment in segments:
        rank = items.tie_rank[segment.rows]
        own = replace(filters, shown=filters.shown[rank]) if len(filters.shown) else filters
        keys, counts = segment.nearest(queries, min(k, len(segment.rows)), own, pool)
        behind = np.arange(keys.shape[1]) >= counts[:, None]
        keys[behind] = 0
        place = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
        keys = (keys >> np.uint64(32) << np.uint64(32)) | rank[place].astype(np.uint64)
        keys[behind] = np.uint64(0xFFFFFFFFFFFFFFFF)
        parts.append(keys)
        total += counts
    merged = np.sort(np.concatenate(parts, axis=1), axis=1)[:, :k]
    return merged, np.minimum(total, merged.shape[1])
