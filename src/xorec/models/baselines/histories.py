"""Users as rows of items: what models of item-to-item weights take as a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def one_row(history: npt.NDArray[np.integer], n_items: int) -> csr_array[np.float32]:
    """The items of one user as a sparse row of ones, (1, n_items)."""
    from scipy.sparse import csr_array

    items = np.unique(history)
    ones = np.ones(len(items), dtype=np.float32)
    return csr_array((ones, items, [0, len(items)]), shape=(1, n_items))
