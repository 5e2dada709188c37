"""The best of the sums of weights that `neighbours_kernels.add_postings` has left in a scratch."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel
from xorec.representations.neighbours_kernels import LINE, item_at, slot_of
from xorec.search.top_k_kernels import select

_INFINITY = np.int32(0x7F800000)
"""The bits of infinity: those of what is above are no number."""
_ONE, _ZERO = np.uint64(1), np.int32(0)
_EIGHTH = 3


@kernel
def hide(scratch: Any, rows: Any) -> None:
    """Let items have no sum, so that they are not among the best."""
    for at in range(len(rows)):
        slot = slot_of(scratch.ranks, rows[at])
        if slot >= 0:
            scratch.sums[np.uint64(slot)] = 0


@kernel
def best_sums(scratch: Any, found: int, best: int, tie_rank: Any, mask: Any) -> Any:
    """(items, sums) of the `best` items by sums above zero, ties by the rule, in any order.

    found: how many sums there are. mask: by tie rank, zero hides; empty: all may be shown. Only of
    items that tie for the last places, or where there is a mask, is the tie rank looked at: each
    is a line of memory.
    """
    wanted = 0 if best == 0 else found
    bits = scratch.sums.view(np.int32)
    slots = best_slots(bits, wanted, best if len(mask) == 0 else found)
    items, word = np.empty(len(slots), dtype=np.int32), 0
    for at in range(len(slots)):
        items[at], word = item_at(scratch.ranks, np.int64(slots[at]), word)
    count = len(slots)
    if len(mask):
        count = keep_allowed(slots, items, tie_rank, mask)
    if count > best:
        count = keep_largest(bits, slots[:count], items, best, tie_rank)
    sums = np.empty(count, dtype=np.float32)
    for at in range(count):
        sums[at] = scratch.sums[np.uint64(slots[at])]
    return items[:count], sums


@kernel
def best_slots(bits: Any, found: int, need: int) -> Any:
    """Where sums (their bits) above zero are, ascending: the `need` largest, and few more.

    A bound that so many of the sums reach; or of the largest of each line, where there are many
    lines: as many lines as reach a bound have a sum each that does.
    """
    width = LINE if found > LINE * need else 1
    maxima = np.empty((found + width - 1) // width, dtype=np.int32)
    if width == 1:
        maxima[:] = bits[:found]
    else:
        line_maxima(bits, maxima)
    least = bound_for(maxima, need, need >> _EIGHTH)
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
def bound_for(values: Any, need: int, spare: int) -> Any:
    """The bits of a bound above zero that `need` of these reach, or all that are above zero.

    At most `spare` more do, where values differ; none at all: the largest such bound. Bisection:
    counting is one pass over vectors without a branch.
    """
    low: Any = np.int64(1)
    high: Any = np.int64(1)
    for at in range(np.uint64(len(values))):
        high = max(high, np.int64(values[at]) + 1)
    if high > np.int64(_INFINITY) + 1:  # no number: it may stand before others in its line
        return np.int32(1)
    reaching: Any = len(values)
    while high - low > 1 and (spare == 0 or reaching > need + spare):
        middle = (low + high) >> 1
        bound, count = np.int32(middle), np.int32(0)
        for at in range(np.uint64(len(values))):
            count += np.int32(values[at] >= bound)
        if count < need:
            high = middle
        else:
            low, reaching = middle, np.int64(count)
    return np.int32(low)


@kernel
def line_maxima(bits: Any, maxima: Any) -> None:
    """The largest of each line of sums (their bits), or zero."""
    for line in range(np.uint64(len(maxima))):
        first, largest = line * np.uint64(LINE), np.int32(0)
        for place in range(np.uint64(LINE)):
            value = bits[first + place]
            largest = value if value > largest else largest
        maxima[line] = largest


@kernel
def keep_allowed(slots: Any, items: Any, tie_rank: Any, mask: Any) -> int:
    """Drop the items that the mask hides, in place; returns how many are left."""
    for at in range(len(slots)):
        prefetch(tie_rank, items[at])
    count = 0
    for at in range(len(slots)):
        if mask[np.uint64(tie_rank[np.uint64(items[at])])]:
            slots[count], items[count] = slots[at], items[at]
            count += 1
    return count


@kernel
def keep_largest(bits: Any, slots: Any, items: Any, best: int, tie_rank: Any) -> int:
    """Put the `best` of more items by their sums first, ties by the rule; returns `best`."""
    values = np.empty(len(slots), dtype=np.int32)
    for at in range(len(slots)):
        values[at] = bits[np.uint64(slots[at])]
    least = bound_for(values, best, 0)
    ties, tied, count = np.empty(len(slots), dtype=np.int32), 0, 0
    for at in range(len(slots)):
        ties[tied] = at
        tied += values[at] == least
    room = best
    for at in range(len(slots)):
        room -= values[at] > least
    if room < tied:
        first_of_ties(ties[:tied], items, room, tie_rank)
    for at in range(room, tied):
        values[ties[at]] = _ZERO
    for at in range(len(slots)):
        if values[at] >= least:
            slots[count], items[count] = slots[at], items[at]
            count += 1
    return count


@kernel
def first_of_ties(ties: Any, items: Any, room: int, tie_rank: Any) -> None:
    """Put those of `ties`, places of items, first whose tie rank is among the `room` least."""
    keys = np.empty(len(ties), dtype=np.uint64)
    for at in range(len(ties)):
        prefetch(tie_rank, items[ties[at]])
    for at in range(len(ties)):
        rank = np.uint64(tie_rank[np.uint64(items[ties[at]])])
        keys[at] = rank << np.uint64(32) | np.uint64(ties[at])
    select(keys, len(keys), room)
    for at in range(len(ties)):
        ties[at] = keys[at] & np.uint64(0xFFFFFFFF)
