"""The ridge regression of items on their neighbours: what SLIM learns, item by item.

A pair of user u with n_u items counts (typical / n_u)^user_exponent times its weight in G, typical
the power of two next to the mean of n_u: a long history says less of each two of its items. The
weight of a neighbour i is held down by l2 (G_ii / typical)^item_exponent, typical the same of
items: what many have says less of each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Engine, Shared, row_ranges
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.histories import root_weights
from xorec.models.baselines.item_blocks import (
    item_blocks,
    nearest_block,
    pairs_of,
    shared_pairs,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MATRIX_ITEMS = 16_384
"""Up to so many items, G is made as a whole: at most 1 GiB."""

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True)
class NeighbourRidge:
    """For item j: w = (G_SS + l2 P_SS + growth G_jj I)^-1 G_Sj, S its nearest items.

    P is diagonal, P_ii = (G_ii / typical)^item_exponent. Weights below `smallest` in size are
    dropped.
    """

    neighbours: int
    l2: float
    growth: float
    user_exponent: float
    item_exponent: float
    smallest: float

    def weights(self, train: Interactions, rows: Rows, engine: Engine) -> csr_array[np.float32]:
        """Sparse (m, m): columns `rows` have the weights of their neighbours, others nothing."""
        from scipy.sparse import csc_array

        m, roots = train.n_items, self._roots(train)
        sizes = np.bincount(train.indices, np.square(roots, dtype=np.float64), m)
        with engine.share(shared_pairs(train, roots)) as pairs:
            nearest = self._nearest(train, rows, pairs, sizes, engine)
            solved = self._solved(train, nearest, pairs, sizes, engine)
        items, weights, counts = (
            np.concatenate([one[name] for one in parts])
            for parts, name in ((nearest, "items"), (solved, "weights"), (nearest, "counts"))
        )
        kept = np.arange(items.shape[1]) < counts[:, None]
        kept &= np.abs(weights) >= self.smallest
        lengths = np.zeros(m, dtype=np.int64)
        lengths[rows] = np.count_nonzero(kept, axis=1)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return csc_array((weights[kept], items[kept], indptr), shape=(m, m)).tocsr()

    @staticmethod
    def typical(n_pairs: int, count: int) -> float:
        """Pairs of one of so many users or items: a power of two, so it seldom changes."""
        return float(2.0 ** np.round(np.log2(max(1, n_pairs) / max(1, count))))

    def _roots(self, train: Interactions) -> npt.NDArray[np.float32]:
        """The root of what each pair counts in G."""
        roots = root_weights(train)
        if self.user_exponent:
            typical = self.typical(train.n_pairs, train.n_users)
            shares = (typical / np.maximum(1, train.user_counts)) ** (self.user_exponent / 2)
            roots = roots * np.repeat(shares.astype(np.float32), train.user_counts)
        return roots

    def _nearest(
        self, train: Interactions, rows: Rows, pairs: Shared, sizes: Any, engine: Engine
    ) -> list[Arrays]:
        """The items of largest G_ij / sqrt(G_ii) of each j: equal ones by a hash of their ids."""
        order = tie_rank(train.items, None)
        about: Arrays = {
            "tie_rank": order,
            "item_at": np.argsort(order),
            "sizes": sizes.astype(np.float32),
        }
        width = min(self.neighbours, train.n_items)
        blocks, settings = item_blocks(rows), {"width": width, "shrink": 0.0}
        found = engine.map_blocks(nearest_block, blocks, [pairs, about], **settings)
        return [{**one, **block} for one, block in zip(found, blocks, strict=True)]

    def _solved(
        self, train: Interactions, nearest: list[Arrays], pairs: Shared, sizes: Any, engine: Engine
    ) -> list[Arrays]:
        """The weights of the neighbours of each block."""
        m = train.n_items
        shares = (sizes / self.typical(train.n_pairs, m)) ** self.item_exponent
        known = {"of_neighbour": self.l2 * shares, "of_item": self.growth * sizes}
        if m <= MATRIX_ITEMS:
            known["G"] = _together(m, pairs, engine)
            return list(engine.map_blocks(ridge_block, nearest, [known]))
        most = int(np.sort(train.item_counts)[-nearest[0]["items"].shape[1] :].sum())
        return list(
            engine.map_blocks(ridge_block, nearest, [pairs, known], users=train.n_users, most=most)
        )


def _together(m: int, pairs: Shared, engine: Engine) -> npt.NDArray[np.float32]:
    """The lower half of G = X'X; what stands above it means nothing."""
    G = np.empty((m, m), dtype=np.float32)
    ranges = row_ranges(m, least=16)
    blocks = [{"range": np.array(one)} for one in ranges]
    for (a, b), made in zip(
        ranges, engine.map_blocks(together_block, blocks, [pairs]), strict=True
    ):
        G[a:b, :b] = made["rows"]
    return G


def together_block(block: Arrays, shared: Arrays) -> Arrays:
    """Some rows of G, up to the last that means something."""
    from xorec.models.baselines.ease_kernels import count_together

    a, b = (int(end) for end in block["range"])
    rows = np.zeros((b - a, len(shared["item_starts"]) - 1), dtype=np.float32)
    count_together(*pairs_of(shared), rows, a, b)
    return {"rows": rows[:, :b]}


def ridge_block(block: Arrays, shared: Arrays, users: int = 0, most: int = 0) -> Arrays:
    """The weights of the neighbours of the items of a block: by G where it is there."""
    from xorec.models.baselines.item_knn_kernels import NearestItems
    from xorec.models.baselines.slim_kernels import ridge_by_matrix, ridge_by_users

    weights = np.empty_like(block["weights"])
    nearest = NearestItems(block["rows"], block["items"], weights, block["counts"])
    penalty, part = (shared["of_neighbour"], shared["of_item"]), (0, len(block["rows"]))
    if "G" in shared:
        ridge_by_matrix(shared["G"], penalty, nearest, part)
    else:
        ridge_by_users(pairs_of(shared)[1], users, most, penalty, nearest, part)
    return {"weights": weights}
