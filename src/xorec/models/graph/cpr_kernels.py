"""CPR's samples and their gradients.

A sample of size k is a cycle of k pairs (u_t, i_t); the user u_t does not have the next one's item.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.kernels import fast_kernel, inlined, kernel
from xorec.core.rng import below, draw, stream

_TRIES = 32
_STEEP = np.float32(30)


class Pairs(NamedTuple):
    """The training pairs: those of user u are indptr[u] .. indptr[u + 1]; users: of each pair."""

    indptr: Any
    indices: Any
    users: Any


class Cycles(NamedTuple):
    """Samples: the pairs (users[s, t], items[s, t]), t < sizes[s]; a size of 0 is no sample."""

    users: Any
    items: Any
    sizes: Any


class Chosen(NamedTuple):
    """The samples that are learned from, the scores q of all samples, one over their number."""

    samples: Any
    scores: Any
    share: Any


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
def draw_cycles(pairs: Any, cycles: Any, seed: Any, turn: Any, begin: Any, end: Any) -> None:
    """Cycles of sizes[begin:end] from pairs drawn with replacement; those with a seen next item
    are drawn anew, a few times; then the size becomes 0."""
    indptr, indices, (users, items, sizes) = pairs.indptr, pairs.indices, cycles
    for sample in range(begin, end):
        size = sizes[sample]
        key = stream(seed, turn, sample)
        found = False
        for attempt in range(_TRIES):
            for t in range(size):
                pair = below(draw(key, attempt * size + t), len(indices))
                users[sample, t], items[sample, t] = pairs.users[pair], indices[pair]
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
    user_rows: Any, item_rows: Any, cycles: Any, out: Any, begin: Any, end: Any
) -> None:
    """q = 1/k (sum_t f(u_t, i_t) - sum_t f(u_t, i_{t+1})), infinite where there is no sample."""
    users, items, sizes = cycles
    width = user_rows.shape[1]
    for sample in range(begin, end):
        size = sizes[sample]
        total = np.float32(0)
        for t in range(size):
            u, item = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            for f in range(width):
                total += user_rows[u, f] * (item_rows[item, f] - item_rows[following, f])
        out[sample] = total / np.float32(max(size, 1)) if size > 0 else np.float32(3e38)


@fast_kernel
def cycle_gradients(
    user_rows: Any,
    item_rows: Any,
    cycles: Any,
    chosen: Any,
    user_sums: Any,
    item_sums: Any,
    part: Any,
    parts: Any,
) -> None:
    """Gradients of share * softplus(-q), summed over the chosen samples, of this part's rows."""
    users, items, sizes = cycles
    width, mask = user_rows.shape[1], parts - 1
    for sample in chosen.samples:
        size = sizes[sample]
        power = np.exp(min(max(-chosen.scores[sample], -_STEEP), _STEEP))
        weight = chosen.share * power / (np.float32(1) + power) / np.float32(size)
        for t in range(size):
            u, item = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            if u & mask == part:
                for f in range(width):
                    user_sums[u, f] += weight * (item_rows[following, f] - item_rows[item, f])
            if item & mask == part:
                for f in range(width):
                    item_sums[item, f] -= weight * user_rows[u, f]
            if following & mask == part:
                for f in range(width):
                    item_sums[following, f] += weight * user_rows[u, f]
