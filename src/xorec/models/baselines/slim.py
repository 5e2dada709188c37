"""SLIM: every item is predicted from its nearest items, by ridge regression in closed form.

Sparse linear methods (Ning and Karypis 2011) choose what an item is predicted from by an L1
penalty; here it is chosen first. With G = X'X, X the users x items matrix of ones, or of the roots
of the weights, item j is predicted from S, the N items i of largest G_ij / sqrt(G_ii), by

    w = (G_SS + l2 P_SS + growth G_jj I)^-1 G_Sj,

P diagonal with powers of G_ii, so that popular neighbours are held down more (`neighbour_ridge`),
and a user's score for j is the sum of w over the items that the user has. Items are independent of
each other, and no matrix of items by items is needed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.engine import LocalEngine
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.baselines.item_blocks import (
    one_row,
    root_matrix,
    with_weights_of,
)
from xorec.models.baselines.neighbour_ridge import MATRIX_ITEMS, NeighbourRidge
from xorec.representations.base import Representation
from xorec.representations.neighbours import Neighbours
from xorec.representations.postings import Keep
from xorec.training.config import Float, Int, ModelConfig, Space

ItemRows = npt.NDArray[np.int32]


class SLIMConfig(ModelConfig):
    """Settings of SLIM."""

    neighbours: int = Field(
        100, ge=1, description="how many items predict an item: more cost memory and time"
    )
    l2: float = Field(
        20.0, gt=0, description="L2 penalty of the weights: larger trusts the data less"
    )
    growth: float = Field(
        0.2, ge=0, description="added to l2 for each pair of the item: larger dampens popular items"
    )
    user_exponent: float = Field(
        0.3,
        ge=0,
        le=1,
        description="pairs of a user with n items weigh n^-this: larger trusts long histories less",
    )
    item_exponent: float = Field(
        0.4,
        ge=0,
        le=1,
        description="l2 of a neighbour with n pairs grows as n^this: larger trusts popular "
        "ones less",
    )
    smallest: float = Field(
        0.003,
        ge=0,
        description="weights smaller than this (absolute) are dropped: less memory, faster",
    )
    keep: Keep = Field(
        "float32",
        description="how the weights are stored: float32, float16 (half) or int8 (a quarter)",
    )


class SLIM(Model[SLIMConfig]):
    """A linear model from an item's neighbours to the item.

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "rye"), ("eve", "tea")]
    >>> data = xorec.Interactions.from_pairs(pairs)
    >>> shop = xorec.Recommender.from_model(xorec.SLIM(l2=1.0).fit(data), data)
    >>> [found.id for found in shop.recommend("eve", 1).items]
    ['rye']
    """

    name = "slim"
    runs_on_engine = True
    Config = SLIMConfig
    weighting = "a pair's entry in the matrix is the square root of its weight"
    space: ClassVar[Space] = {
        "neighbours": Int(30, 300, log=True),
        "l2": Float(2.0, 300.0, log=True),
        "growth": Float(0.0, 0.6),
        "user_exponent": Float(0.0, 0.8),
        "item_exponent": Float(0.0, 0.8),
    }

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        rows = np.arange(train.n_items, dtype=np.int32)
        weights = self._ridge.weights(train, rows, options.block_engine)
        return Neighbours.of(weights, root_matrix(train), self.config.keep)

    @property
    def _ridge(self) -> NeighbourRidge:
        one = self.config
        exponents = one.user_exponent, one.item_exponent
        return NeighbourRidge(one.neighbours, one.l2, one.growth, *exponents, one.smallest)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is their items."""
        return one_row(history, expect(representation, Neighbours).n_items)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The weights of a fit on all pairs; only items that these can change are solved anew.

        New pairs have a weight of 1.
        """
        before = expect(representation, Neighbours)
        train = with_weights_of(update.train, before.history)
        rows = self._changed(before, train, update)
        if len(rows) == train.n_items:
            return self._learn(train, None, RunOptions(threads=update.threads))
        weights = self._ridge.weights(train, rows, LocalEngine(update.threads))
        stay = np.ones(train.n_items, dtype=np.bool_)
        stay[rows] = False
        weights = weights + before.postings.extended(train.n_items).columns(stay)
        return Neighbours.of(weights, root_matrix(train), self.config.keep)

    def _typical(self, n_pairs: int, n_users: int, n_items: int) -> tuple[float, float]:
        """What a pair of a user, and the penalty of a neighbour, are measured against."""
        return self._ridge.typical(n_pairs, n_users), self._ridge.typical(n_pairs, n_items)

    def _changed(self, before: Neighbours, train: Interactions, update: DataUpdate) -> ItemRows:
        """The items that share a user with an item of a user who has new pairs; or all.

        A new pair changes what all pairs of its user count, so G between their items, and what is
        near to these. All items: where few would stay, where one scale or one matrix is of all.
        """
        everything = np.arange(train.n_items, dtype=np.int32)
        old = int(update.known.sum()), before.n_users
        new = train.n_pairs, train.n_users
        same = self._typical(*old, before.n_items) == self._typical(*new, train.n_items)
        if not same or train.n_items <= MATRIX_ITEMS or self.config.keep == "int8":
            return everything
        touched = np.zeros(train.n_items, dtype=np.bool_)
        touched[train.indices[np.isin(train.user_rows, update.users)]] = True
        users = np.zeros(train.n_users, dtype=np.bool_)
        users[train.user_rows[touched[train.indices]]] = True
        touched[train.indices[users[train.user_rows]]] = True
        return np.flatnonzero(touched).astype(np.int32)
