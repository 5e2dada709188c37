"""The tables of multi-index hashing: building them, and their tensors."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, words_for
from xorec.core.item_offsets import NO_OFFSETS, Offsets
from xorec.core.threads import ThreadPool
from xorec.search.filters import Mask, Rows
from xorec.search.hamming.multi_index.tables_kernels import count_buckets, fill_table

Copies = npt.NDArray[np.uint32 | np.uint64]
_MASKS = 1 << 17
"""Masks that are kept: queries that need more are scanned."""
WIDEST = 26
"""Bits of the longest substring: its table has 2**26 buckets."""


class HashTables(NamedTuple):
    """T tables over the same items, each by its own substring of the code.

    begins, widths (T,): the substrings. Ring s of table t has rings[s, t] masks, which begin at
    masks[rings[s, T]]. full (T, buckets / 64): a bit for each bucket that is not empty; before (T,
    buckets / 64): how many of those come before each word. starts: where each full bucket starts,
    table after table, those of table t from firsts[t] on. places (T, n) and copies (T, n W): the
    items' tie positions and their codes in the order of the buckets; words of 32 bits where these
    are enough.

    Where items have offsets (see `arrays`), lags (T, n) are theirs in the order of the buckets, and
    most is the largest offset. heads (h,), head_copies (h W,) and head_lags (h,): the items whose
    lag is less than least_lag, few that are looked at for every query: they are near from afar.
    """

    begins: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    rings: npt.NDArray[np.int64]
    masks: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.int64]
    starts: Rows
    full: Words
    before: Rows
    places: Rows
    copies: Copies
    lags: Offsets
    heads: Rows
    head_copies: Copies
    head_lags: Offsets
    least_lag: int
    most: int

    @classmethod
    def build(
        cls,
        codes: Words,
        rows: Rows,
        bits: int,
        tables: int,
        pool: ThreadPool,
        *,
        offsets: Offsets = NO_OFFSETS,
        least_lag: int = 0,
    ) -> HashTables:
        """`tables` tables of the items codes[rows] (m, W)."""
        begins, widths = substrings(bits, tables)
        words = -(-(1 << int(widths.max())) // 64)
        full = np.zeros((tables, words), dtype=np.uint64)
        before = np.zeros((tables, words), dtype=np.int32)
        places = np.empty((tables, len(rows)), dtype=np.int32)
        copies = np.empty((tables, len(rows) * codes.shape[1]), dtype=copy_type(bits))
        starts = [np.zeros(0, dtype=np.int32)] * tables

        def fill(t: int) -> None:
            ends = np.zeros((1 << int(widths[t])) + 1, dtype=np.int32)
            cut = (codes, rows, begins[t], widths[t], ends)
            there = count_buckets(*cut, full[t], before[t])
            starts[t] = np.empty(there + 1, dtype=np.int32)
            fill_table(*cut, starts[t], places[t], copies[t])

        pool.map(tables, fill)
        firsts = np.cumsum([0, *map(len, starts)])
        rings, masks = rings_of(widths)
        flat = np.concatenate(starts)
        kept = (firsts, flat, full, before, places, copies)
        lags = lags_of(offsets, rows)
        heads = heads_of(lags, least_lag)
        head_copies = codes[rows[heads]].reshape(-1).astype(copy_type(bits))
        entries = lags[places] if len(lags) else np.zeros((tables, 0), dtype=np.uint8)
        head_lags, most = lags[heads], int(offsets.max(initial=0))
        apart = (entries, heads, head_copies, head_lags, least_lag, most)
        return cls(begins, widths, rings, masks, *kept, *apart)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps."""
        kept = {name: getattr(self, name) for name in _KEPT}
        if not self.lags.size:
            return kept
        heads = {name: getattr(self, name) for name in _HEADS}
        return {**kept, **heads, "least_lag": np.array([self.least_lag])}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, npt.NDArray[Any]], bits: int, most: int
    ) -> HashTables:
        """The inverse of `tensors`; most: the largest offset."""
        kept = [tensors[name] for name in _KEPT]
        begins, widths = substrings(bits, len(tensors["places"]))
        none = np.zeros((len(tensors["places"]), 0), dtype=np.uint8)
        apart: tuple[Any, ...] = (none, NO_HEADS, tensors["copies"][0, :0], none[0], 0)
        if most:
            apart = (*(tensors[name] for name in _HEADS), int(tensors["least_lag"][0]))
        fields: tuple[Any, ...] = (begins, widths, *rings_of(widths), *kept, *apart, most)
        return cls(*fields)


class Table(NamedTuple):
    """One of them, as kernels scan its buckets; least_lag: of the items that are looked for."""

    starts: Rows
    places: Rows
    copies: Copies
    lags: Offsets
    least_lag: int


class EntryFilter(NamedTuple):
    """What one query may not show: `arrays.RowFilter`, and the exclusion bitmap.

    positions: the excluded tie positions whose bits are set there.
    """

    rows: Rows
    allow_mask: Mask
    excluded: Rows
    denied: Rows
    bitmap: Words
    positions: Rows


NO_HEADS: Rows = np.zeros(0, dtype=np.int32)
_HEADS = ("lags", "heads", "head_copies", "head_lags")
_KEPT = ("firsts", "starts", "full", "before", "places", "copies")


def lags_of(offsets: Offsets, rows: Rows) -> Offsets:
    """The lag at each tie position; empty where there are no offsets."""
    return offsets.max() - offsets[rows] if len(offsets) else offsets


def heads_of(lags: Offsets, least_lag: int) -> Rows:
    """The tie positions of the items whose lag is less than `least_lag`: the least lags first."""
    heads = np.flatnonzero(lags < least_lag)
    return heads[np.argsort(lags[heads], kind="stable")].astype(np.int32)


def bytes_for(bits: int, tables: int, items: int) -> int:
    """Bytes of that many tables, at most: every bucket full, or every item alone in one."""
    _, widths = substrings(bits, tables)
    buckets, copy = 1 << int(widths.max()), words_for(bits) * copy_type(bits).itemsize
    starts = 4 * (min(buckets, items) + 1)
    return tables * ((4 + copy) * items + starts + 12 * -(-buckets // 64))


def copy_type(bits: int) -> np.dtype[np.uint32 | np.uint64]:
    """The words that tables copy codes into: candidates are compared there, so no smaller ones.

    >>> copy_type(20).name, copy_type(33).name
    ('uint32', 'uint64')
    """
    return np.dtype(np.uint32 if bits <= 32 else np.uint64)


def substrings(bits: int, tables: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(where each substring begins, its width): consecutive, as equal as can be."""
    edges = np.array([bits * t // tables for t in range(tables + 1)], dtype=np.int64)
    return edges[:-1].copy(), np.diff(edges)


def rings_of(
    widths: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """(rings, masks): see `HashTables`.

    The masks of a ring ascend, so a narrower table's are the first ones of a wider table's.
    """
    widest = int(widths.max())
    ring = np.zeros(1, dtype=np.uint32)
    masks, sizes, total = [ring], [[*(1 for _ in widths), 0]], 1
    for radius in range(1, widest + 1):
        if total + comb(widest, radius) > _MASKS:
            break
        ring = np.concatenate(
            [
                ring[: comb(high, radius - 1)] | np.uint32(1 << high)
                for high in range(radius - 1, widest)
            ]
        )
        sizes.append([*(comb(int(width), radius) for width in widths), total])
        masks.append(ring)
        total += len(ring)
    return np.array(sizes, dtype=np.int64), np.concatenate(masks)
