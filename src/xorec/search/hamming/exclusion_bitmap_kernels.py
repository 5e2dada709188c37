"""An exclusion bitmap: most items are told from a few excluded ones by one bit, in the cache.

Looking an item up in a list of rows needs its row first, which lies anywhere in memory. So the
excluded rows of a query, where they are few, are turned into tie positions once, and the bits of
these (modulo the size of the bitmap) are set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel

BITMAP_WORDS = 32
MOST_EXCLUDED = 256
"""Excluded positions, at most: more would let too little through."""
_AHEAD = 16


@kernel
def fill_bitmap(excluded: Any, denied: Any, positions: Any, bitmap: Any, out: Any) -> int:
    """Write the tie positions of excluded and denied rows into `out`; returns how many there are.

    positions: by row; rows that it does not know are in another segment.
    """
    for word in range(BITMAP_WORDS):
        bitmap[word] = np.uint64(0)
    count = 0
    for at in range(min(_AHEAD, len(excluded))):
        if excluded[at] < len(positions):
            prefetch(positions, excluded[at])
    for at in range(len(excluded)):
        if at + _AHEAD < len(excluded) and excluded[at + _AHEAD] < len(positions):
            prefetch(positions, excluded[at + _AHEAD])
        if 0 <= excluded[at] < len(positions):
            out[count] = positions[excluded[at]]
            count += 1
    for at in range(len(denied)):
        if denied[at] < len(positions):
            out[count] = positions[denied[at]]
            count += 1
    for at in range(count):
        position = np.uint64(out[at])
        at_word = (position >> np.uint64(6)) % np.uint64(BITMAP_WORDS)
        bitmap[at_word] |= np.uint64(1) << (position & np.uint64(63))
    return count


@kernel
def is_excluded(position: Any, bitmap: Any, excluded: Any) -> Any:
    """Whether the position is one of the excluded positions, whose bits are set."""
    number = np.uint64(position)
    word = bitmap[(number >> np.uint64(6)) % np.uint64(BITMAP_WORDS)]
    if not len(excluded) or not (word >> (number & np.uint64(63))) & np.uint64(1):
        return False
    found = False
    for at in range(len(excluded)):
        found |= excluded[at] == position
    return found
