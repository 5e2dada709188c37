"""The kernels of Neighbours: lists of weights added up in an array that only they dirty.

Every sum is in float32 and in the order of the history, whoever asks: scores of all items, of some
and of the best are the same to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.representations.scratch import LINE


@kernel
def number_at(numbers: Any, at: Any) -> Any:
    """numbers[at] as float32; numbers of two bytes are the bits of finite float16."""
    if numbers.itemsize == 2:
        bits = np.uint32(np.uint16(numbers[at]))
        size = np.uint32((bits & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32)
        size *= np.float32(2.0**112)
        return -size if bits & np.uint32(0x8000) else size
    return np.float32(numbers[at])


@kernel
def counts_for(values: Any, scales: Any, at: Any, item: Any) -> Any:
    """What the weights of an item are multiplied by: what it counts, and the scale of its row."""
    value = values[at] if len(values) else np.float32(1)
    return value * scales[item] if len(scales) else value


@kernel
def add_postings(postings: Any, history: Any, sums: Any, dirty: Any) -> int:
    """sums[j] += value_i weight_ij for the items i of a history, in their order.

    postings: `Postings`. history: (items, values), no values: ones. sums (m rounded up to LINE,):
    zeros. dirty: (marks (m / LINE,) of zeros, lines (m / LINE + 1,)). Returns how many lines of
    sums were added to; their numbers come first in `lines`.
    """
    indptr, items, weights, scales = postings
    rows, values = history
    marks, lines = dirty
    found = 0
    for place in range(len(rows)):
        i = np.int64(rows[place])
        value = counts_for(values, scales, place, i)
        for at in range(indptr[i], indptr[i + 1]):
            j = np.int64(items[at])
            sums[j] += value * number_at(weights, at)
            line = j // LINE
            lines[found] = line
            found += int(1 - marks[line])
            marks[line] = 1
    return found


@kernel
def clean(sums: Any, dirty: Any, found: int) -> None:
    """Make zeros again of what `add_postings` has touched."""
    marks, lines = dirty
    for at in range(found):
        line = np.int64(lines[at])
        sums[line * LINE : line * LINE + LINE] = 0
        marks[line] = 0


@kernel
def add_all(postings: Any, histories: Any, out: Any) -> None:
    """out (B, m), zeros at first: the sums of `add_postings` for each history.

    histories: (indptr, items, values).
    """
    indptr, items, weights, scales = postings
    starts, rows, values = histories
    for b in range(len(out)):
        sums = out[b]
        for place in range(starts[b], starts[b + 1]):
            i = np.int64(rows[place])
            value = counts_for(values, scales, place, i)
            for at in range(indptr[i], indptr[i + 1]):
                sums[np.int64(items[at])] += value * number_at(weights, at)


@kernel
def score_candidates(
    postings: Any,
    histories: Any,
    candidates: Any,
    counts: Any,
    scores: Any,
    scratch: Any,
    part: Any,
) -> None:
    """scores[b, :counts[b]]: of the items candidates[b, :counts[b]]; zero behind them.

    part: (begin, end), the queries b to do. scratch: (sums, marks, lines), see `add_postings`.
    An item that there is not scores zero.
    """
    starts, rows, values = histories
    m = len(postings.indptr) - 1
    sums, marks, lines = scratch
    dirty = (marks, lines)
    for b in range(part[0], part[1]):
        here = slice(starts[b], starts[b + 1])
        history = (rows[here], values[here] if len(values) else values)
        found = add_postings(postings, history, sums, dirty)
        for at in range(candidates.shape[1]):
            item = np.int64(candidates[b, at]) if at < counts[b] else np.int64(-1)
            scores[b, at] = sums[item] if 0 <= item < m else np.float32(0)
        clean(sums, dirty, found)
