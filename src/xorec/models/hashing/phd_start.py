"""A start for codes: the leading singular vectors of the pairs, turned so that signs lose least.

X = D_u^-1/2 R D_i^-1/2 of the 0/1 pairs R and the counts D, X ~ U S V' by a few rounds of subspace
iteration; users are the rows of U S^1/2, items those of V S^1/2. Scaling by the counts keeps
popularity from being the only thing that the first directions say.
"""

from __future__ import annotations

import numpy as np

from xorec.data.interactions import Interactions
from xorec.representations.vectors import Floats
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows

_ROUNDS, _SPARE = 4, 8
"""Rounds of the iteration, and directions beside those that are kept."""


def singular_rows(train: Interactions, size: int, seed: int) -> tuple[Floats, Floats]:
    """Rows of users (n, size) and items (m, size) whose dot products are nearly X."""
    users, items = (
        1 / np.sqrt(np.maximum(counts, 1)) for counts in (train.user_counts, train.item_counts)
    )
    X = train.matrix()
    X.data *= users[train.user_rows] * items[train.indices]
    back = X.T.tocsr()
    rng = np.random.Generator(np.random.Philox(seed))
    wide = min(size + _SPARE, *X.shape)
    V = rng.standard_normal((train.n_items, wide), dtype=np.float32)
    for _ in range(_ROUNDS):
        V, _ = np.linalg.qr(back @ (X @ V))
    U, inner = np.linalg.qr(X @ V)
    left, values, right = np.linalg.svd(inner)
    root = np.sqrt(values)
    rows = ((U @ left * root)[:, :size], (V @ right.T * root)[:, :size])
    for side, counts in zip(rows, (train.user_counts, train.item_counts), strict=True):
        side[counts == 0] = 0  # but for the last digit, they are
    return to_dimensions(*rows, size)


def turned_rows(train: Interactions, size: int, seed: int) -> tuple[Floats, Floats]:
    """The same as unit rows, turned (`training.discrete.rotation`); a row without pairs is zero."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        users, items = (unit_rows(rows) for rows in singular_rows(train, size, seed))
        rotation = learn_rotation(users, items, seed=seed)
        return users @ rotation, items @ rotation
