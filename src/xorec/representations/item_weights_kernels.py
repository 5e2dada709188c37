"""The kernel of ItemWeights: sums of the rows of a dense matrix that users have."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel

_WIDE = 4096  # columns at a time: their sums stay in the cache


@kernel
def sum_rows(indptr: Any, indices: Any, place: Any, weights: Any, sums: Any) -> None:
    """sums[q] (zeros at first) += weights[place[i]] for the items i of query q; place -1 has none.

    Always in the order of the items, four rows at a time.
    """
    m, rows = weights.shape[1], np.empty(len(place), dtype=np.int64)
    for q in range(len(indptr) - 1):
        count = 0
        for at in range(indptr[q], indptr[q + 1]):
            if place[indices[at]] >= 0:
                rows[count] = place[indices[at]]
                count += 1
        fours = count // 4 * 4
        for first in range(0, m, _WIDE):
            last = min(first + _WIDE, m)
            own = sums[q, first:last]
            for at in range(0, fours, 4):
                w0 = weights[rows[at], first:last]
                w1 = weights[rows[at + 1], first:last]
                w2 = weights[rows[at + 2], first:last]
                w3 = weights[rows[at + 3], first:last]
                for c in range(len(own)):
                    own[c] = own[c] + w0[c] + w1[c] + w2[c] + w3[c]
            for at in range(fours, count):
                w0 = weights[rows[at], first:last]
                for c in range(len(own)):
                    own[c] += w0[c]
