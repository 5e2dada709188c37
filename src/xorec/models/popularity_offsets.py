"""Popularity as an offset of codes: what the bits need not say.

Codes of one length cannot say that an item is popular. An offset can, for four bits an item: the
number of bits in which it agrees with everybody besides, o_i = round(c log2(1 + count_i)).
Whether that helps differs from data to data, so validation chooses c.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from xorec.core.code_rows import MOST_OFFSET, Offsets
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.data.interactions import Interactions
from xorec.representations.codes import Codes
from xorec.training.epochs import validation_sample

GRID = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5)
"""What `auto` tries: bits for each time that an item's count doubles."""
WORTH = 1.01
"""What NDCG@20 must be multiplied by: an offset takes half a byte an item and some search time."""
_METRIC = "ndcg@20"


def _check(offset: Any) -> Any:
    """One message for a union of types."""
    if offset == "auto":
        return offset
    if type(offset) in (int, float) and 0 <= offset <= MOST_OFFSET:
        return float(offset)
    raise PydanticCustomError("offset", "give a number from 0 (no offset) to 15, or auto")


Offset = Annotated[float | Literal["auto"], BeforeValidator(_check)]


def popularity_offsets(c: float, counts: npt.NDArray[np.integer]) -> Offsets:
    """round(c log2(1 + count)) of each item, at most 15.

    >>> popularity_offsets(0.5, np.array([0, 1, 30, 1000]))
    array([0, 0, 2, 5], dtype=uint8)
    """
    offsets = np.rint(c * np.log2(1.0 + counts))
    return np.asarray(np.minimum(offsets, MOST_OFFSET), dtype=np.uint8)


def with_popularity(codes: Codes, c: float, train: Interactions) -> Codes:
    """The codes with offsets by the counts of the training part."""
    offsets = popularity_offsets(c, train.item_counts)
    return Codes(codes.user_rows, codes.item_rows, codes.bits, item_offsets=offsets)


def choose_offset(
    codes: Codes, train: Interactions, validation: Interactions | None, options: RunOptions
) -> float:
    """The c of GRID with the best NDCG@20 on validation, the least of equals; says which.

    0 where that is less than one per cent better than none, and without a validation part.
    """
    from xorec.evaluation.protocol import evaluate

    if validation is None:
        return 0.0
    part, quiet = validation_sample(validation, options.seed), replace(options, progress=SILENT)
    values = {}
    for c in GRID:
        ranks = with_popularity(codes, c, train)
        values[c] = evaluate(ranks, train, part, ks=(20,), options=quiet)[_METRIC]
    best = max(GRID, key=lambda c: values[c])
    best = best if values[best] > WORTH * values[0.0] else 0.0
    shown = ", ".join(f"{c:g} {values[c]:.4f}" for c in GRID)
    options.progress.note(f"dsiml: offset {best:g} (validation NDCG@20: {shown}).")
    return best


def late_offsets(offsets: Offsets | None, counts: npt.NDArray[np.integer]) -> Offsets | None:
    """Offsets of all items (counts) from those of the first: new ones as items of like count.

    >>> late_offsets(np.array([0, 2, 4], dtype=np.uint8), np.array([1, 10, 100, 10, 50]))
    array([0, 2, 4, 2, 3], dtype=uint8)
    """
    if offsets is None or len(offsets) == len(counts):
        return offsets
    known = np.log2(1.0 + counts[: len(offsets)])
    order = np.argsort(known, kind="stable")
    new = np.interp(np.log2(1.0 + counts[len(offsets) :]), known[order], offsets[order])
    return np.concatenate([offsets, np.rint(new).astype(np.uint8)])
