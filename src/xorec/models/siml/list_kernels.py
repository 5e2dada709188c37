"""Lists of a teacher beside the triplets: which of their items come, and what codes learn of them.

A pair's last `listed` negatives are items of its user's list. The loss of the pairs does not see
them; the distillation is over all negatives v of the pair, the positive aside:

    p_v = e^(l_v + s t_v) / sum        l_v: the list's logit, 0 where v is not on it
    q_v = e^(s c_v) / sum              t_v, c_v: cosines of the teacher's vectors, of the codes
    loss - weight sum_v p_v log q_v    gradient at c_v: weight s (q_v - p_v)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.kernels import inlined, kernel
from xorec.core.rng import below, draw, stream


class Lists(NamedTuple):
    """The best items of each user by a teacher, by row and not by rank.

    items (n, N): ascending, counts (n,) of them; logits (n, N): how much the teacher wants each.
    """

    items: Any
    logits: Any
    counts: Any


NO_LISTS = Lists(
    np.zeros((0, 0), dtype=np.int32),
    np.zeros((0, 0), dtype=np.float32),
    np.zeros(0, dtype=np.int32),
)


@inlined
def list_logit(lists: Any, u: Any, v: Any) -> Any:
    """The logit of item v in the list of user u, 0 where it is not on it (binary search)."""
    lo, hi = 0, lists.counts[u]
    while lo < hi:
        middle = (lo + hi) >> 1
        if lists.items[u, middle] < v:
            lo = middle + 1
        else:
            hi = middle
    value = np.float32(0)
    if lo < lists.counts[u] and lists.items[u, lo] == v:
        value = lists.logits[u, lo]
    return value


@kernel
def draw_listed(out: Any, first: Any, pairs: Any, users: Any, lists: Any, keys: Any) -> None:
    """Fill out[:, first:] with items of the users' lists, evenly and with repetition; -1: none.

    pairs: the position of each pair's draws; keys: (seed, epoch).
    """
    seed, epoch = keys
    count = out.shape[1] - first
    for row in range(len(users)):
        u = users[row]
        key, known = stream(seed, epoch, u), lists.counts[u]
        for k in range(count):
            out[row, first + k] = -1
            if known > 0:
                place = below(draw(key, pairs[row] * count + k), known)
                out[row, first + k] = lists.items[u, place]
