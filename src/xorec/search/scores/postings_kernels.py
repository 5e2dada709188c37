"""Top-k of sums of weights along lists: only what the lists of a history touch is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel
from xorec.representations.neighbours_kernels import add_postings, clean
from xorec.representations.scratch import LINE
from xorec.search.scores.blocks_kernels import bound_of
from xorec.search.sorted_kernels import contains, insert_sorted
from xorec.search.top_k_kernels import score_key

_ABOVE_ZERO = np.float32(1.4e-45)
"""The least number above zero."""
_AHEAD = 16
"""Lines that are fetched before they are looked at."""


@kernel
def search_postings(
    postings: Any, histories: Any, choice: Any, filters: Any, nearest: Any, scratch: Any, part: Any
) -> None:
    """The best items of the queries part[0]..part[1] into `nearest`.

    histories: (indptr, items, values). choice: (tie_rank (m,), rows, mask): the rows that may be
    shown in tie order, and whether each of m may (none: all may). scratch: `Scratch`, clean.
    """
    starts, items, values = histories
    sums, marks, lines = scratch
    for b in range(part[0], part[1]):
        here = slice(starts[b], starts[b + 1])
        history = (items[here], values[here] if len(values) else values)
        found = add_postings(postings, history, sums, (marks, lines))
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        hidden = (choice[2], excluded, filters.denied)
        best = nearest.keys[b]
        count = keep_above(sums, lines[:found], choice, hidden, best)
        if count < len(best):
            count = keep_zeros(sums, choice, hidden, best, count)
        if count < len(best):
            count = keep_below(sums, lines[:found], choice, hidden, best, count)
        nearest.counts[b] = count
        clean(sums, (marks, lines), found)


@kernel
def is_hidden(row: Any, hidden: Any) -> bool:
    """hidden: (mask, excluded, denied)."""
    mask, excluded, denied = hidden
    if len(mask) and not mask[row]:
        return True
    return contains(excluded, row) or contains(denied, row)


@kernel
def keep_above(sums: Any, lines: Any, choice: Any, hidden: Any, best: Any) -> int:
    """The items with sums above zero into the list; returns how many there are.

    Along the lines that were touched, or along the rows of the choice where they are fewer.
    """
    tie_rank, rows, mask = choice
    count, bound = 0, _ABOVE_ZERO
    if len(mask) and len(rows) <= len(lines) * LINE:
        for position in range(len(rows)):
            row = np.int64(rows[position])
            if sums[row] >= bound and not is_hidden(row, hidden):
                key = score_key(sums[row]) | np.uint64(tie_rank[row])
                count = insert_sorted(best, count, key)
                bound = max(_ABOVE_ZERO, bound_of(best, count))
        return count
    for at in range(len(lines)):
        if at + _AHEAD < len(lines):
            prefetch(sums, np.int64(lines[at + _AHEAD]) * LINE)
        first = np.int64(lines[at]) * LINE
        line = sums[first : first + LINE]
        above = np.int32(0)
        for place in range(LINE):
            above |= np.int32(line[place] >= bound)
        if above:
            for place in range(LINE):
                if line[place] >= bound and not is_hidden(first + place, hidden):
                    key = score_key(line[place]) | np.uint64(tie_rank[first + place])
                    count = insert_sorted(best, count, key)
                    bound = max(_ABOVE_ZERO, bound_of(best, count))
    return count


@kernel
def keep_zeros(sums: Any, choice: Any, hidden: Any, best: Any, count: int) -> int:
    """Items whose sums are zero behind them, in tie order, until the list is full."""
    tie_rank, rows, _ = choice
    zero = score_key(np.float32(0))
    for position in range(len(rows)):
        row = np.int64(rows[position])
        if sums[row] == 0 and not is_hidden(row, hidden):
            best[count] = zero | np.uint64(tie_rank[row])
            count += 1
            if count == len(best):
                break
    return count


@kernel
def keep_below(sums: Any, lines: Any, choice: Any, hidden: Any, best: Any, count: int) -> int:
    """Items whose sums are below zero, or no numbers, last."""
    tie_rank = choice[0]
    for at in range(len(lines)):
        first = np.int64(lines[at]) * LINE
        for row in range(first, min(int(first) + LINE, len(tie_rank))):
            if not sums[row] >= 0 and not is_hidden(row, hidden):
                key = score_key(sums[row]) | np.uint64(tie_rank[row])
                count = insert_sorted(best, count, key)
    return count
