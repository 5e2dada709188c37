"""The kernel of rq3's float side: seen items out of a block of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel


@kernel
def hide(scores: Any, begin: int, indptr: Any, indices: Any) -> None:
    """Set the scores (B, items of a block that begins at item `begin`) of seen items to -inf.

    The seen items of row b are `indices[indptr[b]:indptr[b + 1]]`, ascending.
    """
    end = begin + scores.shape[1]
    for b in range(scores.shape[0]):
        seen = indices[indptr[b] : indptr[b + 1]]
        for at in range(np.searchsorted(seen, begin), len(seen)):
            if seen[at] >= end:
                break
            scores[b, seen[at] - begin] = -np.inf
