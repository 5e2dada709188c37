"""ItemKNN: people who have this also have that. Cosine of the items' users, nearest items kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import Model
from xorec.representations.base import Representation
from xorec.representations.neighbours import Neighbours
from xorec.training.config import ModelConfig
from xorec.training.space import Float, Int, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ItemKNNConfig(ModelConfig):
    """Settings of ItemKNN."""

    neighbours: int = Field(100, ge=1, description="nearest items kept for each item")
    shrink: float = Field(0.0, ge=0, description="added to the denominator: distrusts rare items")


class ItemKNN(Model[ItemKNNConfig]):
    """similarity(i, j) = |U_i and U_j| / (sqrt(|U_i| |U_j|) + shrink), U_i the users of item i."""

    name = "item-knn"
    Config = ItemKNNConfig
    space: ClassVar[Space] = {"neighbours": Int(10, 500, log=True), "shrink": Float(0.0, 50.0)}

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        return Neighbours(self._similarity(train, options), train.matrix())

    def _similarity(self, train: Interactions, options: RunOptions) -> csr_array[np.float32]:
        from scipy.sparse import csr_array

        from xorec.models.baselines.item_knn_kernels import nearest_items

        m = train.n_items
        width = min(self.config.neighbours, m)
        items = np.empty((m, width), dtype=np.int32)
        weights = np.empty((m, width), dtype=np.float32)
        counts = np.empty(m, dtype=np.int64)
        order = tie_rank(train.items, train.item_counts)
        shrink = np.float32(self.config.shrink)
        known = (train.indptr, train.indices, *train.by_item, order, np.argsort(order), shrink)
        found = (items, weights, counts)
        with options.thread_pool() as pool:
            pool.map_ranges(m, lambda begin, end: nearest_items(*known, *found, begin, end))
        kept = np.arange(width) < counts[:, None]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return csr_array((weights[kept], items[kept], indptr), shape=(m, m))

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is their items."""
        from scipy.sparse import csr_array

        items = np.unique(history)
        ones = np.ones(len(items), dtype=np.float32)
        return csr_array((ones, items, [0, len(items)]), shape=(1, representation.n_items))
