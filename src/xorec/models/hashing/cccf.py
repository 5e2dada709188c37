"""CCCF (Liu et al. 2019): several short codes for each user and item, mixed by weights.

x_ui = sum over the groups g of eta_ug xi_ig b_ug.d_ig, with G groups of r bits. The weights come
first and stay; then the codes are learned by DCF's sweeps on x with the targets
divided by G (`dcf`): all groups of a user together, then all groups of an item.

A group's weight says how near an entity is to the group's anchor. It comes from vectors of a small
matrix factorisation (ALS), centred, because vectors that all point one way are equally near to
every anchor. G users and G items are anchors: medoids of a sample. With a, the angle to an anchor
as a share of a right angle, the weight is Epanechnikov's kernel

    w = max(0, 3/4 (1 - (a / h)^2)),

and the weights of an entity sum to 1. One that is near no anchor has them all equal.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import Words, pack_signs
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.rng import hash_integers
from xorec.core.threads import one_blas_thread
from xorec.data.interactions import Interactions
from xorec.models.base import expect, expect_size
from xorec.models.factorization.als import ALS
from xorec.models.hashing.dcf import FactoredCodes, FactoredCodesConfig
from xorec.models.hashing.factored_kernels import Entities, Floats
from xorec.representations.base import Representation
from xorec.representations.composed import ComposedCodes, ComposedQueries
from xorec.representations.vectors import Vectors
from xorec.training.config import Choice, Float, Space
from xorec.training.epochs import Arrays

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


_MOST_GROUPS, _FEWEST_BITS = 8, 5


class CCCFConfig(FactoredCodesConfig):
    """Settings of CCCF."""

    groups: int = Field(
        0, ge=0, le=64, description="short codes in a code; 0: as many as suit the number of bits"
    )
    bandwidth: float = Field(
        3.0, gt=0, description="angle to its anchor, in right angles, from which a group weighs 0"
    )


class CCCF(FactoredCodes[CCCFConfig]):
    """Compositional codes by the squared loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> CCCF(bits=8, groups=2, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "cccf"
    Config = CCCFConfig
    triplet_cost = 2.0
    space: ClassVar[Space] = {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
        "bandwidth": Float(2.0, 5.0, log=True),
    }
    cost = 2.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.config.bits % self.groups:
            raise OptionError(
                f"cccf: groups is {self.config.groups} but bits is {self.config.bits}: the groups "
                "must be of one length, so take a number that divides the bits, or 0."
            )

    @property
    def groups(self) -> int:
        """As set; else the most that divide the bits, up to 8 and of no fewer than 5 bits."""
        bits = self.config.bits
        fits = [
            g for g in range(1, _MOST_GROUPS + 1) if bits % g == 0 and bits // g >= _FEWEST_BITS
        ]
        return self.config.groups or max(fits)

    def _weights(self, train: Interactions, options: RunOptions) -> tuple[Floats, Floats]:
        size = self.config.bits // self.groups
        return group_weights(train, self.groups, size, self.config.bandwidth, options)

    def _represent(self, arrays: Arrays) -> Representation:
        codes = (pack_signs(arrays["user_rows"]), pack_signs(arrays["item_rows"]))
        weights = (arrays["user_weights"].copy(), arrays["item_weights"].copy())
        return ComposedCodes(*codes, *weights, self.config.bits)

    def _stored(self, representation: Representation) -> tuple[Words, Words, Floats, Floats]:
        representation = expect(representation, ComposedCodes)
        expect_size("bits", representation.bits, self.config.bits)
        expect_size("groups", representation.user_weights.shape[1], self.groups)
        codes = (representation.user_codes, representation.item_codes)
        return (*codes, representation.user_weights, representation.item_weights)

    def _query(self, user: Entities) -> Any:
        return ComposedQueries(pack_signs(user.rows), user.weights)
