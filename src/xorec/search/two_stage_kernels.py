"""The kernels of two stages: candidates of several sources merged, and their final order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.representations.neighbours_kernels import add_postings, clean
from xorec.representations.scratch import LINE
from xorec.search.top_k_kernels import score_key, select

_TAKEN, _HIDDEN = np.uint8(1), np.uint8(2)
_SHIFT, _BUCKETS = np.int32(19), 4096  # sign, exponent and four bits of a float32
_PLACE = np.uint64(0xFFFFFFFF)


class ItemSources(NamedTuple):
    """What a user's own items bring.

    postings, histories: `Postings` and (indptr, items, values) of the queries. best: how many of
    the best by weight. table (m, per_item): the nearest of each item. neighbours: how many of
    these.
    """

    postings: Any
    histories: Any
    best: int
    table: npt.NDArray[np.int32]
    neighbours: int


class Scratch(NamedTuple):
    """sums, marks, lines: see `add_postings`. flags (m,): zeros."""

    sums: npt.NDArray[np.float32]
    marks: npt.NDArray[np.uint8]
    lines: npt.NDArray[np.int32]
    flags: npt.NDArray[np.uint8]


class Found(NamedTuple):
    """items (B, s): counts (B,) of them, zeros behind. sums (B, s): their sums of item weights."""

    items: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float32]


@kernel
def collect(
    near: Any, sources: Any, filters: Any, ties: Any, scratch: Any, part: Any, found: Any
) -> None:
    """The candidates of the queries part[0] to part[1], each once.

    near: (items (B, n), counts (B,)), all of which are taken. sources: `ItemSources`; filters:
    `Filters`, the mask by tie rank; ties: `TieRanks`; found: `Found`.
    """
    starts, rows, values = sources.histories
    dirty, flags = (scratch.marks, scratch.lines), scratch.flags
    for b in range(part[0], part[1]):
        items = found.items[b]
        set_hidden(filters, b, flags, _HIDDEN)
        count = 0
        for at in range(near[1][b]):
            items[count] = near[0][b, at]
            flags[items[count]] = _TAKEN
            count += 1
        history = rows[starts[b] : starts[b + 1]]
        counted = values[starts[b] : starts[b + 1]] if len(values) else values
        mask = filters.allow_mask
        count = add_neighbours(history, sources, mask, ties.tie_rank, flags, items, count)
        lines = add_postings(sources.postings, (history, counted), scratch.sums, dirty)
        hidden = filters.indptr[b + 1] - filters.indptr[b] + len(filters.denied)
        wanted = (sources.best, count + hidden)
        count = add_best(wanted, scratch, lines, mask, ties, items, count)
        for at in range(count):
            found.sums[b, at] = scratch.sums[items[at]]
            flags[items[at]] = 0
        items[count:] = 0
        found.sums[b, count:] = 0
        found.counts[b] = count
        clean(scratch.sums, dirty, lines)
        set_hidden(filters, b, flags, np.uint8(0))


@kernel
def set_hidden(filters: Any, b: int, flags: Any, flag: Any) -> None:
    """Set the flag of all that query b may not show."""
    for at in range(filters.indptr[b], filters.indptr[b + 1]):
        flags[filters.indices[at]] = flag
    for at in range(len(filters.denied)):
        flags[filters.denied[at]] = flag


@kernel
def may_be_taken(item: Any, flags: Any, allow_mask: Any, tie_rank: Any) -> bool:
    """Whether an item is neither taken nor hidden, and the mask (by tie rank) allows it."""
    return flags[item] == 0 and (len(allow_mask) == 0 or allow_mask[tie_rank[item]] != 0)


@kernel
def add_neighbours(
    history: Any, sources: Any, mask: Any, tie_rank: Any, flags: Any, items: Any, count: int
) -> int:
    """The nearest of the items of a history, from its end, behind the items that are taken."""
    last = count + sources.neighbours
    for back in range(1, len(history) + 1):
        i = np.int64(history[len(history) - back])
        for at in range(sources.table.shape[1]):
            if count == last:
                return count
            j = sources.table[i, at]
            if may_be_taken(j, flags, mask, tie_rank):
                flags[j] = _TAKEN
                items[count] = j
                count += 1
    return count


@kernel
def add_best(
    wanted: Any, scratch: Any, lines: int, mask: Any, ties: Any, items: Any, count: int
) -> Any:
    """The best items by sums above zero behind those taken, ties by the rule.

    wanted: (how many, how many that are taken or hidden may stand before them). So many lines of
    sums as both reach a bound that none of the others reach, so only these are looked at.
    """
    best, in_the_way = wanted
    if best == 0 or lines == 0:
        return count
    bits, tie_rank = scratch.sums.view(np.int32), ties.tie_rank
    maxima, buckets = np.empty(lines, dtype=np.int32), np.zeros(_BUCKETS, dtype=np.int32)
    for at in range(lines):
        line = bits[np.int64(scratch.lines[at]) * LINE :][:LINE]
        largest = np.int32(0)
        for place in range(LINE):
            largest = line[place] if line[place] > largest else largest
        maxima[at] = largest
    for at in range(lines):
        buckets[maxima[at] >> _SHIFT] += 1
    lowest, reaching = _BUCKETS, 0
    while (reaching < best + in_the_way or len(mask) > 0) and lowest > 0:  # a mask may hide all
        lowest -= 1
        reaching += buckets[lowest]
    least = max(np.int32(1), np.int32(lowest << _SHIFT))
    keys, size = np.empty(reaching * LINE, dtype=np.uint64), 0
    for at in range(lines):
        if maxima[at] < least:
            continue
        first = np.int64(scratch.lines[at]) * LINE
        for j in range(first, first + LINE):
            if bits[j] >= least and may_be_taken(j, scratch.flags, mask, tie_rank):
                keys[size] = score_key(scratch.sums[j]) | np.uint64(tie_rank[j])
                size += 1
    kept = min(best, size)
    if kept < size:
        select(keys, size, kept)
    for at in range(kept):
        items[count + at] = ties.item_at[np.int64(keys[at] & _PLACE)]
    return count + kept


@kernel
def best_of(scores: Any, found: Any, tie_rank: Any, begin: int, end: int, nearest: Any) -> None:
    """The keys of the first of each list of candidates by score, then tie rank: `Nearest`.

    scores (B, s): of found.items. A list that is shorter than asked for is whole.
    """
    keys = np.empty(found.items.shape[1], dtype=np.uint64)
    for b in range(begin, end):
        count = found.counts[b]
        for at in range(count):
            keys[at] = score_key(scores[b, at]) | np.uint64(tie_rank[found.items[b, at]])
        kept = min(nearest.keys.shape[1], count)
        if kept < count:
            select(keys, count, kept)
        keys[:kept].sort()
        nearest.keys[b, :kept] = keys[:kept]
        nearest.counts[b] = kept
