"""The weights of CCCF's groups: how near an entity is to the anchor of each group.

Vectors of a small matrix factorisation (ALS), centred, because vectors that all point one way are
equally near to every anchor. G users and G items are anchors: medoids of a sample. With a, the
angle to an anchor as a share of a right angle, the weight is Epanechnikov's kernel

    w = max(0, 3/4 (1 - (a / h)^2)),

and the weights of an entity sum to 1. One that is near no anchor has them all equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.core.blas import one_blas_thread
from xorec.core.options import RunOptions
from xorec.core.rng import hash_integers
from xorec.data.interactions import Interactions
from xorec.models.factorization.als import ALS
from xorec.representations.vectors import Vectors

if TYPE_CHECKING:
    from xorec.models.hashing.factored_sweeps import Floats

Doubles = npt.NDArray[np.float64]
_EPOCHS, _SAMPLE, _ROUNDS = 8, 5_000, 20


def group_weights(
    train: Interactions, groups: int, size: int, bandwidth: float, options: RunOptions
) -> tuple[Floats, Floats]:
    """eta (n, G) and xi (m, G), from vectors of length `size`."""
    quiet = RunOptions(seed=options.seed, threads=options.threads)
    found = ALS(dimensions=size, epochs=_EPOCHS).fit(train, None, quiet).representation_
    assert isinstance(found, Vectors)
    with one_blas_thread():
        users = directions(found.user_vectors, train.user_counts)
        items = directions(found.item_vectors, train.item_counts)
        user_anchors = users[medoids(users, train.user_counts, groups, options.seed)]
        item_anchors = items[medoids(items, train.item_counts, groups, options.seed)]
        item_anchors = item_anchors[partners(user_anchors, item_anchors)]
        return (
            kernel_weights(users @ user_anchors.T, bandwidth),
            kernel_weights(items @ item_anchors.T, bandwidth),
        )


def directions(vectors: Floats, counts: npt.NDArray[np.integer]) -> Doubles:
    """Unit rows of vectors less the mean of those that have pairs; zeros for the others."""
    active = counts > 0
    centred = np.zeros(vectors.shape)
    centred[active] = vectors[active] - vectors[active].mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.asarray(centred / np.where(norms > 1e-12, norms, np.inf))


def medoids(
    rows: Doubles, counts: npt.NDArray[np.integer], groups: int, seed: int
) -> npt.NDArray[np.int64]:
    """G rows, each the one of its cluster whose cosines with the others sum highest.

    From a sample of the rows that have pairs: first rows far apart, then in turns every row to
    the nearest medoid, and the medoid of each cluster. With fewer rows than groups some come twice.
    """
    active = np.flatnonzero(counts)
    order = np.argsort(hash_integers(active, seed), kind="stable")
    sample = active[order[:_SAMPLE]]
    points = rows[sample]
    chosen = np.zeros(groups, dtype=np.int64)
    nearest = points @ points[0]
    for g in range(1, groups):
        chosen[g] = int(np.argmin(nearest))
        nearest = np.maximum(nearest, points @ points[chosen[g]])
    for _ in range(_ROUNDS):
        cluster = np.argmax(points @ points[chosen].T, axis=1)
        before = chosen.copy()
        for g in range(groups):
            members = np.flatnonzero(cluster == g)
            if len(members):
                inside = points[members]
                chosen[g] = members[int(np.argmax(inside @ inside.sum(axis=0)))]
        if (chosen == before).all():
            break
    return sample[chosen]


def partners(users: Doubles, items: Doubles) -> npt.NDArray[np.int64]:
    """For each user anchor an item anchor of its own: the pairing of the largest sum of cosines.

    A group counts for a pair of user and item that are both near its anchors, so these should
    like each other. (The released code takes both as they come.)
    """
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(-(users @ items.T))[1])


def kernel_weights(cosines: Doubles, bandwidth: float) -> Floats:
    """The weights (n, G) of rows with these cosines to the anchors; rows of zeros get 1 / G."""
    away = np.arccos(np.clip(cosines, -1, 1)) / (np.pi / 2)
    weights = np.maximum(0, 0.75 * (1 - (away / bandwidth) ** 2))
    total = weights.sum(axis=1, keepdims=True)
    groups = cosines.shape[1]
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / groups).astype(
        np.float32
    )
