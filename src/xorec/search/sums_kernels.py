"""The best of the sums of weights that `neighbours_kernels.add_postings` has left in a scratch."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel
from xorec.representations.neighbours_kernels import item_at, slot_of
from xorec.representations.scratch import LINE
from xorec.search.top_k_kernels import score_key, select

_SHIFT, _BUCKETS = np.int32(19), 4096  # sign, exponent and four bits of a float32
_INFINITY = np.int32(0x7F800000)
"""The bits of infinity: those of what is above are no number."""
_ONE, _ZERO = np.uint64(1), np.int32(0)


@kernel
def hide(scratch: Any, rows: Any) -> None:
    """Let items have no sum, so that they are not among the best."""
    for at in range(len(rows)):
        slot = slot_of(scratch.ranks, rows[at])
        if slot >= 0:
            scratch.sums[np.uint64(slot)] = 0


@kernel
def best_sums(scratch: Any, found: int, best: int, tie_rank: Any, mask: Any) -> Any:
    """The keys of the `best` items by sums above zero, ties by the rule, in any order.

    found: how many sums there are. mask: by tie rank, zero hides; empty: all may be shown.
    """
    if best == 0 or found == 0:
        return np.empty(0, dtype=np.uint64)
    sums = scratch.sums
    slots = best_slots(sums.view(np.int32), found, best if len(mask) == 0 else found)
    items, word = np.empty(len(slots), dtype=np.int32), 0
    for at in range(len(slots)):
        items[at], word = item_at(scratch.ranks, np.int64(slots[at]), word)
        prefetch(tie_rank, items[at])
    keys, size = np.empty(len(slots), dtype=np.uint64), 0
    for at in range(len(slots)):
        rank = np.uint64(tie_rank[np.uint64(items[at])])
        if len(mask) == 0 or mask[rank]:
            keys[size] = score_key(sums[np.uint64(slots[at])]) | rank
            size += 1
    if best < size:
        select(keys, size, best)
    return keys[: min(best, size)]


@kernel
def best_slots(bits: Any, found: int, need: int) -> Any:
    """Where sums (their bits) above zero are, ascending: the `need` largest, and few more.

    A bound that so many reach, by a histogram of the sums; or of the largest of each line, where
    there are many lines: as many lines as reach a bound have a sum each that does.
    """
    width = LINE if found > LINE * need else 1
    maxima = np.empty((found + width - 1) // width, dtype=np.int32)
    if width == 1:
        maxima[:] = bits[:found]
    else:
        line_maxima(bits, maxima)
    least = bound_for(maxima, need)
    slots, count = np.empty(found + 1, dtype=np.int32), np.uint64(0)
    for line in range(np.uint64(len(maxima))):
        if maxima[line] >= least:
            for slot in range(line * np.uint64(width), (line + _ONE) * np.uint64(width)):
                slots[count] = slot
                count += np.uint64(
                    np.int32(bits[slot] >= least) & np.int32(bits[slot] <= _INFINITY)
                )
    return slots[: np.int64(count)]


@kernel
def bound_for(maxima: Any, need: int) -> Any:
    """The bits of a bound above zero that `need` of these reach, and few more, or all there are."""
    buckets = np.zeros(_BUCKETS, dtype=np.int32)
    for at in range(len(maxima)):
        buckets[np.uint64(max(maxima[at], _ZERO) >> _SHIFT)] += 1
    lowest, reaching = _BUCKETS, 0
    for bucket in range(np.int64(_INFINITY >> _SHIFT) + 1, _BUCKETS):
        if buckets[bucket]:  # no number: it may stand before others in its line
            return np.int32(1)
    while reaching < need and lowest > 0:
        lowest -= 1
        reaching += buckets[lowest]
    return max(np.int32(1), np.int32(lowest << np.int64(_SHIFT)))


@kernel
def line_maxima(bits: Any, maxima: Any) -> None:
    """The largest of each line of sums (their bits), or zero."""
    for line in range(np.uint64(len(maxima))):
        first, largest = line * np.uint64(LINE), np.int32(0)
        for place in range(np.uint64(LINE)):
            value = bits[first + place]
            largest = value if value > largest else largest
        maxima[line] = largest
