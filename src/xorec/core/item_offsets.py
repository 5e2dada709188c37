"""Offsets of items: small whole numbers that are added to the agreement of an item's code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, whole_numbers
from xorec.core.errors import DataError

Offsets = npt.NDArray[np.uint8]
MOST_OFFSET = 15
"""Four bits an item."""
NO_OFFSETS: Offsets = np.zeros(0, dtype=np.uint8)


def as_offsets(values: Any, items: int) -> Offsets:
    """Offsets of `items` items (m,), checked; None, and zeros alone, are no offsets: empty.

    >>> as_offsets([0, 3], 2)
    array([0, 3], dtype=uint8)
    """
    if values is None:
        return NO_OFFSETS
    offsets = whole_numbers(values, "the item offsets")
    if len(offsets) != items:
        raise DataError(f"there are {len(offsets)} item offsets for {items} items: give one each.")
    least, most = int(offsets.min(initial=0)), int(offsets.max(initial=0))
    if least < 0 or most > MOST_OFFSET:
        wrong = least if least < 0 else most
        raise DataError(f"an item has the offset {wrong}: give numbers from 0 to {MOST_OFFSET}.")
    return as_contiguous(offsets.astype(np.uint8, copy=False)) if most else NO_OFFSETS


def joined_offsets(*parts: tuple[Any, int]) -> Offsets:
    """The offsets of several parts of items, one behind the other; a part: (offsets, items).

    >>> joined_offsets((None, 2), ([7], 1))
    array([0, 0, 7], dtype=uint8)
    """
    offsets = [
        as_offsets(None if not np.size(values) else values, items) for values, items in parts
    ]
    if not any(map(len, offsets)):
        return NO_OFFSETS
    rows = [
        one if len(one) else np.zeros(n, np.uint8)
        for one, (_, n) in zip(offsets, parts, strict=True)
    ]
    return np.concatenate(rows)
