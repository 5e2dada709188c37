"""A segment: some items of an index in tie order, as planes, checked where a file has kept them.

Every strategy searches a segment. Kernels take arrays that belong together under one name. From
Python to a kernel a named tuple costs a microsecond and a half more than a plain one: calls for a
single query hand over plain tuples, which the kernel names (`scan.scan_one`).

Items may have offsets, small whole numbers that are taken off their distance. Kernels count up, so
they add an item's *lag*, the largest offset less its own: the order is the same, and every distance
in a key is the one less the offset, and the largest offset more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays, as_contiguous
from xorec.core.bits import NO_OFFSETS, Offsets, Words
from xorec.core.errors import DataError, OptionError
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.search.filters import NO_ROWS, Filters, Mask, Rows
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, LAG_PLANES, slice_chunks
from xorec.search.hits import Numbers
from xorec.search.top_k import inverse


class Planes(NamedTuple):
    """Codes in tie order, bit-sliced: chunks of CHUNK_ITEMS items, a plane for each bit.

    words (chunks bits CHUNK_WORDS,): plane f of a chunk holds bit f of its items. masked: True for
    masked codes and None for others: each has a compiled kernel of its own, because a choice at run
    time made the plain scan 4 to 8 % slower. lags: where in a chunk the planes of lags begin, the
    LAG_PLANES behind those of the bits; None where items have none. farthest: the largest distance
    there is, lags and all.
    """

    words: Words
    bits: int
    masked: bool | None
    lags: int | None
    farthest: int


class TieOrder(NamedTuple):
    """rows (n,): the row at each tie position; these are the n rows from `first` on.

    positions (n,): the tie position of row `first` + r.
    """

    rows: Rows
    positions: Rows
    first: int


class ItemCodes(NamedTuple):
    """All items of an index by row: codes (m, W), tie ranks (m,), offsets (m,) if there are any.

    most: the largest offset.
    """

    codes: Words
    tie_rank: TieRank
    masked: bool
    offsets: Offsets
    most: int


class RowFilter(NamedTuple):
    """What one query may not show: rows (n,) is the row at each tie position.

    allow_mask (n,): zero hides; empty allows all. excluded, denied: rows, ascending.
    """

    rows: Rows
    allow_mask: Mask
    excluded: Rows
    denied: Rows


class QueryPlanes(NamedTuple):
    """What is added to the counters for a query: see `planes.spread` and `set_planes`."""

    flips: Words
    masked: bool | None
    lags: int | None


class Counted(NamedTuple):
    """The distances of a chunk.

    counts (levels CHUNK_WORDS,): in planes, lowest bit first. found (CHUNK_WORDS,): a bit for each
    item that is open and nearer than the bound.
    """

    counts: Words
    found: Words


class Selection(NamedTuple):
    """The candidates of each query of a group for its k nearest, in the order of their positions.

    pool (queries, POOL k): keys. tally (queries, farthest + 1): how many are at each distance.
    state (queries, 3): how many are held, how many of these are no farther than the threshold, and
    the threshold, the k-th distance once there are k.
    """

    pool: Words
    tally: Numbers
    state: Numbers


class SelectScratch(NamedTuple):
    """rest (CHUNK_WORDS,), starts (farthest + 1,), best (k,)."""

    rest: Words
    starts: Numbers
    best: Words


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

    def by(self, masked: bool) -> Segment:
        """The same items by another distance, on the same planes."""
        return replace(self, planes=self.planes._replace(masked=masked or None))

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


Distance = Literal["hamming", "masked"]
"""The bits that differ, or those that the query has and the item lacks."""
SEGMENT: Schema = {
    "rows": Tensor("int32", ("items",)),
    "planes": Tensor("uint64", ("plane words",)),
}


def is_masked(distance: str) -> bool:
    """Whether this is the distance of masked codes."""
    if distance not in ("hamming", "masked"):
        raise OptionError(f'the distance is {distance!r}: give "hamming" or "masked".')
    return distance == "masked"


def check_segment(
    tensors: Arrays, bits: int, tie_rank: TieRank, offsets: Offsets, pool: ThreadPool | None
) -> None:
    """What a file has kept of a segment with all items: rows in tie order, and their planes.

    The planes of lags must be those of `offsets`: kernels count up to the farthest distance there
    is. pool: to look at the values with; None leaves these out.
    """
    items, each = len(tie_rank), bits + (LAG_PLANES if len(offsets) else 0)
    sizes = {"items": items, "plane words": -(-items // CHUNK_ITEMS) * each * CHUNK_WORDS}
    check_tensors(tensors, SEGMENT, sizes, values=False)
    if pool is None:
        return
    rows, right = as_contiguous(tensors["rows"]), []
    pool.map_ranges(items, lambda *span: right.append(are_inverse(rows, tie_rank, *span)))
    if not all(right):
        raise DataError("index.rows is not the order of tie_rank")
    if len(offsets):
        kept = tensors["planes"].reshape(-1, each, CHUNK_WORDS)[:, bits:]
        if (kept != planes_of_lags(offsets, rows)).any():
            raise DataError("index.planes does not have the items' offsets")


def are_inverse(
    rows: npt.NDArray[np.int32], ranks: npt.NDArray[np.int32], begin: int, end: int
) -> bool:
    """Whether rows[ranks[i]] is i for begin <= i < end; both (m,), any values.

    Of all i together it says that both are permutations.
    """
    part = ranks[begin:end]
    inside = bool(((part >= 0) & (part < len(rows))).all())
    return inside and bool((rows[part] == np.arange(begin, end)).all())


def has_each_once(values: npt.NDArray[np.int32], of: npt.NDArray[np.int32]) -> bool:
    """Whether values (m,) are those of `of` (m,), ascending from 0 on, in some order."""
    taken = np.zeros(int(of[-1]) + 1 if len(of) else 0, dtype=np.bool_)
    taken[values[(values >= 0) & (values < len(taken))]] = True
    return len(values) == len(of) and bool(taken[of].all())
