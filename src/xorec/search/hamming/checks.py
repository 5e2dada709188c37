"""The codes and the distance of an index, and what a file has kept of it, checked."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays, as_contiguous
from xorec.core.bits import Offsets
from xorec.core.errors import DataError, OptionError
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.search.hamming.adders import CHUNK_WORDS, LAG_PLANES
from xorec.search.hamming.planes_kernels import CHUNK_ITEMS
from xorec.search.hamming.segment import planes_of_lags

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
