"""A veil over a few places: most places are told from the hidden ones by one bit, in the cache.

Looking an item up in a list of rows needs its row first, which lies anywhere in memory. So the
hidden rows of a query, where they are few, are turned into places once, and their bits are set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel

VEIL = 32
"""Words of a veil."""
FEW = 256
"""Hidden places, at most: more would let too little through."""
_AHEAD = 16


@kernel
def draw_veil(excluded: Any, denied: Any, place_of: Any, veil: Any, hidden: Any) -> int:
    """Write the places of excluded and denied rows into `hidden`; returns how many there are.

    Rows that place_of does not know are in another segment.
    """
    for word in range(VEIL):
        veil[word] = np.uint64(0)
    count = 0
    for at in range(min(_AHEAD, len(excluded))):
        if excluded[at] < len(place_of):
            prefetch(place_of, excluded[at])
    for at in range(len(excluded)):
        if at + _AHEAD < len(excluded) and excluded[at + _AHEAD] < len(place_of):
            prefetch(place_of, excluded[at + _AHEAD])
        if excluded[at] < len(place_of):
            hidden[count] = place_of[excluded[at]]
            count += 1
    for at in range(len(denied)):
        if denied[at] < len(place_of):
            hidden[count] = place_of[denied[at]]
            count += 1
    for at in range(count):
        place = np.uint64(hidden[at])
        veil[(place >> np.uint64(6)) % np.uint64(VEIL)] |= np.uint64(1) << (place & np.uint64(63))
    return count


@kernel
def veiled(place: Any, veil: Any, hidden: Any) -> Any:
    """Whether the place is one of the hidden."""
    number = np.uint64(place)
    word = veil[(number >> np.uint64(6)) % np.uint64(VEIL)]
    if not len(hidden) or not (word >> (number & np.uint64(63))) & np.uint64(1):
        return False
    found = False
    for at in range(len(hidden)):
        found |= hidden[at] == place
    return found
