"""Users as rows of items: what models of item-to-item weights take as a query.

With weights, an entry is the root of the pair's weight: then X'X, which these models learn from,
has the sums of the weights on its diagonal, as it has the numbers of pairs without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.data.interactions import Interactions
from xorec.representations.histories import is_weighted

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def one_row(history: npt.NDArray[np.integer], n_items: int) -> csr_array[np.float32]:
    """The items of one user as a sparse row of ones, (1, n_items)."""
    from scipy.sparse import csr_array

    items = np.unique(history)
    ones = np.ones(len(items), dtype=np.float32)
    return csr_array((ones, items, [0, len(items)]), shape=(1, n_items))


def root_weights(train: Interactions) -> npt.NDArray[np.float32]:
    """The root of each pair's weight; ones where there are none."""
    if train.weights is None:
        return np.ones(train.n_pairs, dtype=np.float32)
    return np.sqrt(train.weights)


def root_matrix(train: Interactions) -> csr_array[np.float32]:
    """X: users x items, with the roots of the weights."""
    return train.matrix(root_weights(train))


def with_weights_of(train: Interactions, history: csr_array[np.float32]) -> Interactions:
    """The pairs with the weights that some of them had in the history of a fit, the others with 1.

    >>> from xorec.testing.data import planted, weighted
    >>> data = weighted(planted(4, 9, per_user=3))
    >>> np.allclose(with_weights_of(data, root_matrix(data)).weights, data.weights)
    True
    """
    if not is_weighted(history):
        return train
    from scipy.sparse import csr_array

    indptr = np.pad(history.indptr, (0, train.n_users - history.shape[0]), mode="edge")
    shape = (train.n_users, train.n_items)
    more = csr_array((history.data**2 - 1, history.indices, indptr), shape=shape)
    weights: csr_array[np.float32] = train.matrix() + more  # type: ignore[assignment]
    return replace(train, weights=weights.data)
