"""Sorted lists, as all searches keep them: the best keys so far, and rows that are filtered out."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel

WORST = np.uint64(0xFFFFFFFFFFFFFFFF)
"""After every key: the last of a list that is not full."""
POSITION = np.uint64(0xFFFFFFFF)
"""The lower half of a key: the tie position."""


@kernel
def insert_sorted(best: Any, count: int, key: Any) -> int:
    """Put `key` into the ascending `best[:count]` unless it is there; the last falls off when full.

    Returns the new count.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if best[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < count and best[low] == key:
        return count
    full = len(best)
    if low == full:
        return count
    for at in range(min(count, full - 1), low, -1):
        best[at] = best[at - 1]
    best[low] = key
    return min(count + 1, full)


@kernel
def contains(rows: Any, row: Any) -> bool:
    """Whether the ascending `rows` hold `row`."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low < len(rows) and rows[low] == row
