"""ItemKNN: people who have this also have that. Cosine of the items' users, nearest items kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.engine import Arrays, joined
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.baselines.item_blocks import (
    item_blocks,
    nearest_block,
    one_row,
    root_matrix,
    root_weights,
    shared_pairs,
    with_weights_of,
)
from xorec.representations.base import Representation
from xorec.representations.neighbours import Neighbours
from xorec.training.config import Float, Int, ModelConfig, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ItemKNNConfig(ModelConfig):
    """Settings of ItemKNN."""

    neighbours: int = Field(
        100, ge=1, description="neighbours kept for each item: more cost memory"
    )
    shrink: float = Field(
        0.0, ge=0, description="added to the denominator of the cosine: more distrusts rare items"
    )


class ItemKNN(Model[ItemKNNConfig]):
    """similarity(i, j) = |U_i and U_j| / (sqrt(|U_i| |U_j|) + shrink), U_i the users of item i.

    With weights w_ui, |U_i| is the sum of w_ui, |U_i and U_j| the sum of sqrt(w_ui w_uj), and a
    user's items count by sqrt(w_ui).

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "rye"), ("eve", "tea")]
    >>> data = xorec.Interactions.from_pairs(pairs)
    >>> shop = xorec.Recommender.from_model(xorec.ItemKNN().fit(data), data)
    >>> [found.id for found in shop.recommend("eve", 1).items]
    ['rye']
    """

    name = "item-knn"
    runs_on_engine = True
    Config = ItemKNNConfig
    weighting = "cosine of weighted users; a user's items count by the root of their weights"
    space: ClassVar[Space] = {"neighbours": Int(10, 500, log=True), "shrink": Float(0.0, 50.0)}

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        return Neighbours.of(self._similarity(train, options), root_matrix(train))

    def _similarity(self, train: Interactions, options: RunOptions) -> csr_array[np.float32]:
        from scipy.sparse import csr_array

        m = train.n_items
        width = min(self.config.neighbours, m)
        order = tie_rank(train.items, train.item_counts)
        sizes = np.bincount(train.indices, train.weights, m).astype(np.float32)
        pairs = shared_pairs(train, root_weights(train))
        about: Arrays = {"tie_rank": order, "item_at": np.argsort(order), "sizes": sizes}
        rows = np.arange(m, dtype=np.int32)
        settings = {"width": width, "shrink": self.config.shrink}
        engine = options.block_engine
        found = list(
            engine.map_blocks(nearest_block, item_blocks(rows), [{**pairs, **about}], **settings)
        )
        nearest = joined(found)
        kept = np.arange(width) < nearest["counts"][:, None]
        indptr = np.concatenate([[0], np.cumsum(nearest["counts"])])
        entries = nearest["weights"][kept], nearest["items"][kept], indptr
        return csr_array(entries, shape=(m, m))

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is their items."""
        return one_row(history, expect(representation, Neighbours).n_items)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """All likenesses anew: exact, and as long as a fit. New pairs have a weight of 1."""
        history = expect(representation, Neighbours).history
        train = with_weights_of(update.train, history)
        return self._learn(train, None, RunOptions(threads=update.threads))
