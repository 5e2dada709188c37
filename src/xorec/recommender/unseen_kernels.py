"""Which pairs are among those of the training part: looked up user by user, nothing is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.sorted_kernels import contains


@kernel
def known_pairs(train: Any, users: Any, items: Any) -> Any:
    """Whether each (users[p], items[p]) is in `train` (indptr, indices ascending in a user)."""
    indptr, indices = train
    found = np.empty(len(users), dtype=np.bool_)
    for pair in range(len(users)):
        u = users[pair]
        found[pair] = contains(indices[indptr[u] : indptr[u + 1]], items[pair])
    return found
