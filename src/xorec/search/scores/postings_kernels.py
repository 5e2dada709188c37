"""Top-k of sums of weights along lists: only what the lists of a history name is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.representations.neighbours_kernels import add_postings, clean, item_at, sum_of
from xorec.search.sorted_kernels import contains, insert_sorted
from xorec.search.sums_kernels import best_sums, hide
from xorec.search.top_k_kernels import score_key


@kernel
def search_postings(
    postings: Any, histories: Any, choice: Any, filters: Any, nearest: Any, scratch: Any, part: Any
) -> None:
    """The best items of the queries part[0]..part[1] into `nearest`.

    histories: (indptr, items, values). choice: (tie_rank (m,), rows, mask): the rows that may be
    shown in tie order, and whether the item of each tie rank may (none: all may). scratch:
    `Scratch`, clean.
    """
    starts, items, values = histories
    for b in range(part[0], part[1]):
        here = slice(starts[b], starts[b + 1])
        history = (items[here], values[here] if len(values) else values)
        found = add_postings(postings, history, scratch)
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        hide(scratch, excluded)
        hide(scratch, filters.denied)
        best = nearest.keys[b]
        count = keep_above(scratch, found, choice, best)
        if count < len(best):
            count = keep_zeros(scratch, choice, (excluded, filters.denied), best, count)
        if count < len(best):
            count = keep_below(scratch, found, choice, best, count)
        nearest.counts[b] = count
        clean(scratch, found)


@kernel
def keep_above(scratch: Any, found: int, choice: Any, best: Any) -> int:
    """The items with sums above zero into the list; returns how many there are.

    Of all that have sums, or of the rows of the choice where they are fewer.
    """
    tie_rank, rows, mask = choice
    if len(mask) and len(rows) <= found:
        count = 0
        for position in range(len(rows)):
            value = sum_of(scratch, rows[position])
            if value > 0:
                key = score_key(value) | np.uint64(tie_rank[rows[position]])
                count = insert_sorted(best, count, key)
        return count
    items, sums = best_sums(scratch, found, len(best), tie_rank, mask)
    for at in range(len(items)):
        best[at] = score_key(sums[at]) | np.uint64(tie_rank[np.uint64(items[at])])
    best[: len(items)].sort()
    return len(items)


@kernel
def keep_zeros(scratch: Any, choice: Any, hidden: Any, best: Any, count: int) -> int:
    """Items whose sums are zero behind them, in tie order, until the list is full.

    hidden: (excluded, denied), whose sums are zero in any case.
    """
    tie_rank, rows, _ = choice
    zero = score_key(np.float32(0))
    for position in range(len(rows)):
        row = rows[position]
        if sum_of(scratch, row) == 0 and not (contains(hidden[0], row) or contains(hidden[1], row)):
            best[count] = zero | np.uint64(tie_rank[row])
            count += 1
            if count == len(best):
                break
    return count


@kernel
def keep_below(scratch: Any, found: int, choice: Any, best: Any, count: int) -> int:
    """Items whose sums are below zero, or no numbers, last."""
    tie_rank, _, mask = choice
    word = 0
    for slot in range(found):
        value = scratch.sums[slot]
        if not value >= 0:
            row, word = item_at(scratch.ranks, slot, word)
            rank = tie_rank[row]
            if len(mask) == 0 or mask[rank]:
                count = insert_sorted(best, count, score_key(value) | np.uint64(rank))
    return count
