"""A segment: some items of an index in tie order, as planes. Every strategy searches one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xorec.core.bits import NO_OFFSETS, Offsets, Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import NO_ROWS, Filters, Rows
from xorec.search.hamming.adders import CHUNK_WORDS, LAG_PLANES
from xorec.search.hamming.arrays import Planes, TieOrder
from xorec.search.hamming.planes_kernels import CHUNK_ITEMS, slice_chunks
from xorec.search.top_k import inverse

SCAN = 0.0045
"""Nanoseconds that a scan spends on one bit of one item, about."""


def scan_cost(items: int, bits: int) -> float:
    """Nanoseconds of one scan: counted, not timed, so every machine chooses the same."""
    return SCAN * items * bits


@dataclass(frozen=True, eq=False)
class Segment:
    """Items in tie order; offsets: of all rows of the index, empty where there are none."""

    order: TieOrder
    planes: Planes
    offsets: Offsets = field(default_factory=lambda: NO_OFFSETS)

    @classmethod
    def build(
        cls,
        codes: Words,
        bits: int,
        rows: Rows,
        pool: ThreadPool,
        *,
        positions: Rows | None = None,
        masked: bool = False,
        offsets: Offsets = NO_OFFSETS,
    ) -> Segment:
        """Of the items codes[rows], which are all from the least on, in tie order.

        positions: the inverse of `rows`, where the least is 0. offsets: by row, as codes are.
        """
        first = 0
        if positions is None:
            first = int(rows.min(initial=len(codes)))
            positions = inverse((rows - first).astype(np.int32))
        chunks = -(-len(rows) // CHUNK_ITEMS)
        lag_planes = LAG_PLANES if len(offsets) else 0
        planes = np.empty((chunks, bits + lag_planes, CHUNK_WORDS), dtype=np.uint64)
        pool.map_ranges(
            chunks, lambda begin, end: slice_chunks(codes, rows, bits, begin, end, planes)
        )
        if lag_planes:
            planes[:, bits:] = planes_of_lags(offsets, rows)
        order = TieOrder(rows, positions, first)
        return cls(order, planes_over(planes.reshape(-1), bits, masked, offsets), offsets)

    def __len__(self) -> int:
        return len(self.order.rows)

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return self.planes.bits

    @property
    def most(self) -> int:
        """The largest offset."""
        return self.planes.farthest - self.planes.bits

    @property
    def nbytes(self) -> int:
        """Bytes of planes, rows and open positions."""
        return self.planes.words.nbytes + self.order.rows.nbytes + self._all_open.nbytes

    @cached_property
    def _all_open(self) -> Words:
        return pack_positions(np.ones(len(self), dtype=np.bool_))

    def open_positions(self, filters: Filters, excluded: Rows = NO_ROWS) -> Words:
        """A bit for each tie position that allow mask and denied (and excluded) rows leave open."""
        if not (len(filters.allow_mask) or len(filters.denied) or len(excluded)):
            return self._all_open
        open_ = np.ones(len(self), dtype=np.bool_)
        if len(filters.allow_mask):
            open_ = filters.allow_mask != 0
        rows = np.concatenate([filters.denied, excluded]) - self.order.first
        open_[self.order.positions[rows[(rows >= 0) & (rows < len(self))]]] = False
        return pack_positions(open_)


def planes_over(words: Words, bits: int, masked: bool, offsets: Offsets) -> Planes:
    """The planes of codes that have these offsets, where there are any."""
    lags = bits * CHUNK_WORDS if len(offsets) else None
    return Planes(words, bits, masked or None, lags, bits + int(offsets.max(initial=0)))


def planes_of_lags(offsets: Offsets, rows: Rows) -> Words:
    """The lags of the items at `rows` in planes, lowest bit first: (chunks, LAG_PLANES, words)."""
    lags = offsets.max(initial=0) - offsets[rows]
    planes = [pack_positions((lags >> level & 1).astype(np.bool_)) for level in range(LAG_PLANES)]
    return np.stack([plane.reshape(-1, CHUNK_WORDS) for plane in planes], axis=1)


def pack_positions(open_: npt.NDArray[np.bool_]) -> Words:
    """One bool for each tie position as the bits of words, zero behind, in whole chunks."""
    padded = np.zeros(8 * CHUNK_WORDS * -(-len(open_) // CHUNK_ITEMS), dtype=np.uint8)
    packed = np.packbits(open_, bitorder="little")
    padded[: len(packed)] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)
