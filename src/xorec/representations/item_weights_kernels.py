"""The kernel of ItemWeights: sums of the rows of a dense matrix that users have."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel

_COLUMNS = 4096  # columns at a time: their sums stay in the cache


@kernel
def sum_rows(indptr: Any, indices: Any, row_of: Any, weights: Any, sums: Any) -> None:
    """sums[q] (zeros at first) += weights[row_of[i]] for the items i of query q.

    row_of (n_items,): -1 for an item that has no row. indptr, indices: the items of the queries.
    Always in the order of the items, four rows at a time.
    """
    m, rows = weights.shape[1], np.empty(len(row_of), dtype=np.int64)
    for q in range(len(indptr) - 1):
        count = 0
        for at in range(indptr[q], indptr[q + 1]):
            if row_of[indices[at]] >= 0:
                rows[count] = row_of[indices[at]]
                count += 1
        fours = count // 4 * 4
        for first in range(0, m, _COLUMNS):
            last = min(first + _COLUMNS, m)
            total = sums[q, first:last]
            for at in range(0, fours, 4):
                w0 = weights[rows[at], first:last]
                w1 = weights[rows[at + 1], first:last]
                w2 = weights[rows[at + 2], first:last]
                w3 = weights[rows[at + 3], first:last]
                for c in range(len(total)):
                    total[c] = total[c] + w0[c] + w1[c] + w2[c] + w3[c]
            for at in range(fours, count):
                w0 = weights[rows[at], first:last]
                for c in range(len(total)):
                    total[c] += w0[c]
