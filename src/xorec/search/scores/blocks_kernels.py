"""What searches by float scores share: which scores of a block of items make the list.

A candidate is one 64-bit key, its score turned round above its place in the tie order, as in
`top_k_kernels`. Items come in tie order, so an equal score that comes later never makes the list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.nearest_kernels import PLACE, has, offer
from xorec.search.top_k_kernels import score_key

RUN = 32
"""Items that are looked into together, where any of them makes the list."""


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
def keep_one(
    score: Any, place: int, rows: Any, excluded: Any, denied: Any, best: Any, count: int
) -> int:
    """Offer a score above the bound to the list best[:count]; returns the new count.

    rows: the row at each place. excluded, denied: rows that may not be shown, ascending.
    """
    row = rows[place]
    if has(excluded, row) or has(denied, row):
        return count
    return offer(best, count, score_key(score) | np.uint64(place))


@kernel
def keep_block(
    scores: Any, n: int, first: int, rows: Any, excluded: Any, denied: Any, best: Any, count: int
) -> int:
    """`keep_one` for those of scores[:n], from the place `first` on, that are above the bound."""
    bound = bound_of(best, count)
    if not any_above(scores, 0, n, bound):
        return count
    for begin in range(0, n, RUN):
        end = min(n, begin + RUN)
        if any_above(scores, begin, end, bound):
            for i in range(begin, end):
                if scores[i] > bound:
                    own = (rows, excluded, denied, best, count)
                    count = keep_one(scores[i], first + i, *own)
                    bound = bound_of(best, count)
    return count


@kernel
def score_of(key: Any) -> Any:
    """The inverse of `score_key`."""
    rising = 0x7FFFFFFF - np.int64(key >> np.uint64(32))
    bits = rising if rising >= 0 else -0x80000000 - rising
    return np.int32(bits).view(np.float32)


@kernel
def unpack_scores(keys: Any, counts: Any, rows: Any, items: Any, scores: Any) -> None:
    """Keys (B, k) as rows of items and scores; zero behind."""
    for b in range(len(counts)):
        for place in range(keys.shape[1]):
            if place < counts[b]:
                items[b, place] = rows[np.int64(keys[b, place] & PLACE)]
                scores[b, place] = score_of(keys[b, place])
            else:
                items[b, place], scores[b, place] = 0, 0
