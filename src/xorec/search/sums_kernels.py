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
    least = least_of(scratch.sums, found, best if len(mask) == 0 else found)
    items = items_from(scratch, found, least)
    for at in range(len(items)):
        prefetch(tie_rank, items[at])
    keys, size = np.empty(len(items), dtype=np.uint64), 0
    for at in range(len(items)):
        rank = tie_rank[np.uint64(items[at])]
        if len(mask) == 0 or mask[np.uint64(rank)]:
            slot = slot_of(scratch.ranks, items[at])
            keys[size] = score_key(scratch.sums[np.uint64(slot)]) | np.uint64(rank)
            size += 1
    if best < size:
        select(keys, size, best)
    return keys[: min(best, size)]


@kernel
def least_of(sums: Any, found: int, need: int) -> Any:
    """The bits of a bound above zero that `need` of sums[:found] reach, and few more; or all.

    So many lines of sums as reach a bound have a sum each that does.
    """
    lines = (found + LINE - 1) // LINE
    maxima, buckets = np.empty(lines, dtype=np.int32), np.zeros(_BUCKETS, dtype=np.int32)
    line_maxima(sums.view(np.int32), maxima)
    for line in range(lines):
        buckets[np.uint64(maxima[line] >> _SHIFT)] += 1
    lowest, reaching = np.int64(_INFINITY >> _SHIFT) + 1, 0
    while reaching < need and lowest > 0:
        lowest -= 1
        reaching += buckets[lowest]
    return max(np.int32(1), np.int32(lowest << np.int64(_SHIFT)))


@kernel
def line_maxima(bits: Any, maxima: Any) -> None:
    """The largest of each line of sums (their bits), zero where none is a number above it."""
    for line in range(len(maxima)):
        part = bits[line * LINE : line * LINE + LINE]
        largest = np.int32(0)
        for place in range(LINE):
            value = part[place] if part[place] <= _INFINITY else np.int32(0)
            largest = max(largest, value)
        maxima[line] = largest


@kernel
def items_from(scratch: Any, found: int, least: Any) -> Any:
    """The items whose sums have bits of `least` or more, ascending."""
    bits = scratch.sums.view(np.int32)
    slots, count = np.empty(found + 1, dtype=np.int32), np.uint64(0)
    for slot in range(np.uint64(found)):
        slots[count] = slot
        count += np.uint64(np.int32(bits[slot] >= least) & np.int32(bits[slot] <= _INFINITY))
    items, word = np.empty(count, dtype=np.int32), 0
    for at in range(len(items)):
        items[at], word = item_at(scratch.ranks, np.int64(slots[at]), word)
    return items
