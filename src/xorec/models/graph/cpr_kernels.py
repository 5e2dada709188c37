"""CPR's samples and their gradients.

A sample of size k is a cycle of k pairs (u_t, i_t); the user u_t does not have the next one's item.
users, items (N, K): rows of the cycle, K the largest size; sizes (N,): k, or 0: none was found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined, kernel
from xorec.core.rng import below, draw, stream

_TRIES = 32
_STEEP = np.float32(30)


@inlined
def _place(indices: Any, low: Any, high: Any, item: Any) -> Any:
    """Where `item` is, or would be, in indices[low:high], which ascend."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def draw_cycles(
    indptr: Any,
    indices: Any,
    owners: Any,
    seed: Any,
    turn: Any,
    users: Any,
    items: Any,
    sizes: Any,
    begin: Any,
    end: Any,
) -> None:
    """Cycles of sizes[begin:end] from pairs drawn with replacement; those with a seen next item
    are drawn anew, a few times; then the size becomes 0."""
    pairs = len(indices)
    for sample in range(begin, end):
        size = sizes[sample]
        key = stream(seed, turn, sample)
        found = False
        for attempt in range(_TRIES):
            for t in range(size):
                pair = below(draw(key, attempt * size + t), pairs)
                users[sample, t], items[sample, t] = owners[pair], indices[pair]
            found = True
            for t in range(size):
                u, following = users[sample, t], items[sample, (t + 1) % size]
                at = _place(indices, indptr[u], indptr[u + 1], following)
                if at < indptr[u + 1] and indices[at] == following:
                    found = False
                    break
            if found:
                break
        if not found:
            sizes[sample] = 0


@fast_kernel
def cycle_scores(
    user_rows: Any,
    item_rows: Any,
    users: Any,
    items: Any,
    sizes: Any,
    out: Any,
    begin: Any,
    end: Any,
) -> None:
    """q = 1/k (sum_t f(u_t, i_t) - sum_t f(u_t, i_{t+1})), infinite where there is no sample."""
    width = user_rows.shape[1]
    for sample in range(begin, end):
        size = sizes[sample]
        total = np.float32(0)
        for t in range(size):
            u, own = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            for f in range(width):
                total += user_rows[u, f] * (item_rows[own, f] - item_rows[following, f])
        out[sample] = total / np.float32(max(size, 1)) if size > 0 else np.float32(3e38)


@fast_kernel
def cycle_slopes(
    user_rows: Any,
    item_rows: Any,
    users: Any,
    items: Any,
    sizes: Any,
    kept: Any,
    scores: Any,
    share: Any,
    user_slopes: Any,
    item_slopes: Any,
    part: Any,
    parts: Any,
) -> None:
    """Gradients of share * softplus(-q), summed over the kept samples, of the rows of this part."""
    width, mask = user_rows.shape[1], parts - 1
    for sample in kept:
        size = sizes[sample]
        power = np.exp(min(max(-scores[sample], -_STEEP), _STEEP))
        weight = share * power / (np.float32(1) + power) / np.float32(size)
        for t in range(size):
            u, own = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            if u & mask == part:
                for f in range(width):
                    user_slopes[u, f] += weight * (item_rows[following, f] - item_rows[own, f])
            if own & mask == part:
                for f in range(width):
                    item_slopes[own, f] -= weight * user_rows[u, f]
            if following & mask == part:
                for f in range(width):
                    item_slopes[following, f] += weight * user_rows[u, f]
