"""Gradients of a block of triplets, without taking a step: for models whose rows come from others.

Users first, each user's pairs together, then items (see `training.passes`). new: the sums of the
gradients and how often a row came (`training.rows.Gradients`), a negative counting as its share of
the pair. Terms and shapes as in `siml_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.arrays import APART
from xorec.core.kernels import fast_kernel
from xorec.models.siml.siml_kernels import pair_gradients
from xorec.training.row_kernels import prefetch_next


@fast_kernel
def siml_users(users: Any, items: Any, triplets: Any, terms: Any, new: Any, kept: Any) -> None:
    """The scale-invariant loss of each pair, and the users' gradients (a sum, not a mean)."""
    size = users.shape[1]
    gradient = np.empty(size + 2 * APART, dtype=users.dtype)[APART : APART + size]
    table, row = items.ravel(), -1
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, triplets.negatives, pair)
        u, i = triplets.users[pair], triplets.positives[pair]
        if pair == 0 or u != triplets.users[pair - 1]:
            row += 1
            new.counts[row] = np.float32(0)
            for f in range(size):
                new.sums[row, f] = np.float32(0)
        pair_gradients(users, u, items, triplets, pair, terms, kept, gradient)
        new.counts[row] += np.float32(1)
        for f in range(size):
            new.sums[row, f] += gradient[f] - kept.positive[pair] * items[i, f]


@fast_kernel
def siml_items(users: Any, items: Any, triplets: Any, local: Any, kept: Any, new: Any) -> None:
    """The gradients of the items of `new`, by their numbers in `local`, in both roles."""
    size, count = users.shape[1], local.negatives.shape[1]
    each = np.float32(1) / np.float32(count)
    table = new.sums.ravel()
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, i, v = triplets.users[pair], triplets.positives[pair], local.positives[pair]
        if v >= 0:
            positive = kept.positive[pair]
            new.counts[v] += np.float32(1)
            for f in range(size):
                new.sums[v, f] += kept.negatives[pair, f] - positive * users[u, f]
        for k in range(count):
            v = local.negatives[pair, k]
            if v >= 0:
                with_i = kept.scale[pair, k]
                with_u = with_i + kept.pairwise[pair, k]
                new.counts[v] += each
                for f in range(size):
                    new.sums[v, f] += with_u * users[u, f] + with_i * items[i, f]
