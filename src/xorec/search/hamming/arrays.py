"""What the kernels take: arrays that belong together, under one name.

Items may have offsets, small whole numbers that are taken off their distance. Kernels count up, so
they add an item's *lag*, the largest offset less its own: the order is the same, and every distance
in a key is the one less the offset, and the largest offset more.

From Python to a kernel a named tuple costs a microsecond and a half more than a plain one: calls
for a single query hand over plain tuples, which the kernel names (`scan_kernels.scan_one`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Offsets, Words
from xorec.data.tie_rank import TieRank
from xorec.search.filters import Mask, Rows

Numbers = npt.NDArray[np.int64]


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
    """What is added to the counters for a query: see `planes_kernels.spread` and `set_planes`."""

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
