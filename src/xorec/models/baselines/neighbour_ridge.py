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

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.histories import root_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from xorec.models.baselines.item_knn_kernels import NearestItems

MATRIX_ITEMS = 16_384
"""Up to so many items, G is made as a whole: at most 1 GiB."""
_PIECES = 32
"""Of a thread's work: items differ in what they cost."""

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

    def weights(self, train: Interactions, rows: Rows, pool: ThreadPool) -> csr_array[np.float32]:
        """Sparse (m, m): columns `rows` have the weights of their neighbours, others nothing."""
        from scipy.sparse import csc_array

        m, roots = train.n_items, self._roots(train)
        by_item = (*train.by_item, roots[train.item_order])
        sizes = np.bincount(train.indices, np.square(roots, dtype=np.float64), m)
        by_user = (train.indptr, train.indices, roots)
        nearest = self._nearest(train, rows, (by_user, by_item), sizes, pool)
        typical = self.typical(train.n_pairs, m)
        penalty = self.l2 * (sizes / typical) ** self.item_exponent, self.growth * sizes
        self._solve(train, nearest, (by_user, by_item), penalty, pool)
        kept = np.arange(nearest.items.shape[1]) < nearest.counts[:, None]
        kept &= np.abs(nearest.weights) >= self.smallest
        lengths = np.zeros(m, dtype=np.int64)
        lengths[rows] = np.count_nonzero(kept, axis=1)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        columns = csc_array((nearest.weights[kept], nearest.items[kept], indptr), shape=(m, m))
        return columns.tocsr()

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
        self, train: Interactions, rows: Rows, pairs: Any, sizes: Any, pool: ThreadPool
    ) -> NearestItems:
        """The items of largest G_ij / sqrt(G_ii) of each j: equal ones by a hash of their ids."""
        from xorec.models.baselines.item_knn_kernels import nearest_items, no_neighbours

        nearest = no_neighbours(rows, min(self.neighbours, train.n_items))
        order = tie_rank(train.items, None)
        how = ((order, np.argsort(order), sizes.astype(np.float32)), np.float32(0))
        pool.map_ranges(
            len(rows),
            lambda begin, end: nearest_items(pairs[0], pairs[1], *how, nearest, begin, end),
            per_thread=_PIECES,
        )
        return nearest

    def _solve(
        self, train: Interactions, nearest: NearestItems, pairs: Any, penalty: Any, pool: ThreadPool
    ) -> None:
        """Put the weights of the neighbours in the place of their similarities."""
        from xorec.models.baselines.ease_kernels import count_together
        from xorec.models.baselines.slim_kernels import ridge_by_matrix, ridge_by_users

        m, (by_user, by_item) = train.n_items, pairs
        if m <= MATRIX_ITEMS:
            G = np.empty((m, m), dtype=np.float32)
            pool.map_ranges(
                m, lambda a, b: count_together(by_user, by_item, G, a, b), per_thread=_PIECES
            )
            pool.map_ranges(
                len(nearest.rows),
                lambda a, b: ridge_by_matrix(G, penalty, nearest, (a, b)),
                per_thread=_PIECES,
            )
            return
        most = int(np.sort(train.item_counts)[-nearest.items.shape[1] :].sum())
        known = (by_item, train.n_users, most, penalty, nearest)
        pool.map_ranges(
            len(nearest.rows),
            lambda a, b: ridge_by_users(*known, (a, b)),
            per_thread=_PIECES,
        )
