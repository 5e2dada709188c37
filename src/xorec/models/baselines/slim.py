"""SLIM: every item is predicted from its nearest items, by ridge regression in closed form.

Sparse linear methods (Ning and Karypis 2011) choose what an item is predicted from by an L1
penalty; here it is chosen first. With G = X'X, X the users x items matrix of ones, or of the roots
of the weights, item j is predicted from S, the N items i of largest G_ij / sqrt(G_ii), by

    w = (G_SS + l2 I)^-1 G_Sj,

and a user's score for j is the sum of w over the items that the user has. Items are independent of
each other, and no matrix of items by items is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.baselines.histories import (
    one_row,
    root_matrix,
    root_weights,
    with_weights_of,
)
from xorec.representations.base import Representation
from xorec.representations.neighbours import Neighbours
from xorec.representations.postings import Keep
from xorec.training.config import ModelConfig
from xorec.training.space import Float, Int, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from xorec.models.baselines.item_knn_kernels import NearestItems

_PIECES = 32
"""Of a thread's work: items differ in what they cost."""


class SLIMConfig(ModelConfig):
    """Settings of SLIM."""

    neighbours: int = Field(
        100, ge=1, description="items that an item is predicted from: more cost memory and time"
    )
    l2: float = Field(20.0, gt=0, description="L2 penalty of the weights: more trusts pairs less")
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
    Config = SLIMConfig
    weighting = "a pair's entry in the matrix is the root of its weight"
    space: ClassVar[Space] = {
        "neighbours": Int(30, 300, log=True),
        "l2": Float(2.0, 300.0, log=True),
    }

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        with options.thread_pool() as pool:
            similarity = neighbour_weights(train, self.config, pool)
        return Neighbours.of(similarity, root_matrix(train), self.config.keep)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is their items."""
        return one_row(history, expect(representation, Neighbours).n_items)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """All weights anew: exact, and as long as a fit. New pairs have a weight of 1."""
        history = expect(representation, Neighbours).history
        train = with_weights_of(update.train, history)
        return self._learn(train, None, RunOptions(threads=update.threads))


def neighbour_weights(
    train: Interactions, config: SLIMConfig, pool: ThreadPool
) -> csr_array[np.float32]:
    """Sparse (m, m): column j has the weights of the neighbours of item j."""
    from scipy.sparse import csr_array

    from xorec.models.baselines.slim_kernels import ridge_by_users

    nearest, m = _neighbours(train, config.neighbours, pool), train.n_items
    width = nearest.items.shape[1]
    most = int(np.sort(train.item_counts)[-width:].sum())
    roots = np.empty(0, np.float32) if train.weights is None else root_weights(train)
    by_item = (*train.by_item, roots[train.item_order] if len(roots) else roots)
    l2 = np.full(m, config.l2)
    pool.map_ranges(
        m,
        lambda begin, end: ridge_by_users(by_item, train.n_users, most, l2, nearest, (begin, end)),
        per_thread=_PIECES,
    )
    kept = np.arange(width) < nearest.counts[:, None]
    indptr = np.concatenate([[0], np.cumsum(nearest.counts)])
    columns = csr_array((nearest.weights[kept], nearest.items[kept], indptr), shape=(m, m))
    return columns.T.tocsr()


def _neighbours(train: Interactions, width: int, pool: ThreadPool) -> NearestItems:
    """The items of largest G_ij / sqrt(G_ii) of each item j: equal ones by a hash of their ids."""
    from xorec.models.baselines.item_knn_kernels import NearestItems, nearest_items

    m = train.n_items
    width = min(width, m)
    nearest = NearestItems(
        np.empty((m, width), dtype=np.int32),
        np.empty((m, width), dtype=np.float32),
        np.empty(m, dtype=np.int64),
    )
    order = tie_rank(train.items, None)
    roots = root_weights(train)
    pairs = ((train.indptr, train.indices, roots), (*train.by_item, roots[train.item_order]))
    sizes = np.bincount(train.indices, train.weights, m).astype(np.float32)
    how = ((order, np.argsort(order), sizes), np.float32(0))
    pool.map_ranges(
        m,
        lambda begin, end: nearest_items(*pairs, *how, nearest, begin, end),
        per_thread=_PIECES,
    )
    return nearest
