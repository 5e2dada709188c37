"""What searches by float scores share: which scores of a block of items make the list.

A candidate is one 64-bit key, its score turned round above its tie position, as in
`top_k_kernels`. Items come in tie order, so an equal score that comes later never makes the list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.sorted_kernels import POSITION, contains, insert_sorted
from xorec.search.top_k_kernels import score_key

CHUNK = 32
"""Items that are looked at one by one where any of them makes the list."""


@kernel
def any_above(scores: Any, begin: Any, end: Any, bound: Any) -> Any:
    """Whether any of scores[begin:end] is more than `bound`."""
    above = np.int32(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        above |= np.int32(scores[i] > bound)
    return above != 0


@kernel
def bound_of(best: Any, count: int) -> Any:
    """What a score must be above to make the list: the last one of a full list."""
    return score_of(best[count - 1]) if count == len(best) else np.float32(-np.inf)


@kernel
def keep_one(score: Any, position: int, checks: Any, best: Any, count: int) -> int:
    """Insert a score above the bound into the list best[:count]; returns the new count.

    checks: (rows, excluded, denied): the row at each tie position, and rows that may not be shown,
    ascending.
    """
    rows, excluded, denied = checks
    row = rows[position]
    if contains(excluded, row) or contains(denied, row):
        return count
    return insert_sorted(best, count, score_key(score) | np.uint64(position))


@kernel
def keep_block(scores: Any, first: int, checks: Any, best: Any, count: int) -> int:
    """`keep_one` for those scores, from the tie position `first` on, that are above the bound."""
    n, bound = len(scores), bound_of(best, count)
    if not any_above(scores, 0, n, bound):
        return count
    for begin in range(0, n, CHUNK):
        end = min(n, begin + CHUNK)
        if any_above(scores, begin, end, bound):
            for i in range(begin, end):
                if scores[i] > bound:
                    count = keep_one(scores[i], first + i, checks, best, count)
                    bound = bound_of(best, count)
    return count


@kernel
def score_of(key: Any) -> Any:
    """The inverse of `score_key`."""
    rising = 0x7FFFFFFF - np.int64(key >> np.uint64(32))
    bits = rising if rising >= 0 else -0x80000000 - rising
    return np.int32(bits).view(np.float32)


@kernel
def unpack_scores(nearest: Any, rows: Any, items: Any, scores: Any) -> None:
    """Keys (B, k) as rows of items and scores; zero behind."""
    keys, counts = nearest
    for b in range(len(counts)):
        for at in range(keys.shape[1]):
            if at < counts[b]:
                items[b, at] = rows[np.int64(keys[b, at] & POSITION)]
                scores[b, at] = score_of(keys[b, at])
            else:
                items[b, at], scores[b, at] = 0, 0
