"""Kernel: which users have an item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel


@kernel
def collect_users(
    indptr: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    item: int,
    rows: npt.NDArray[np.int32],
) -> int:
    """Rows of users, ascending, whose items[indptr[u]:indptr[u + 1]] (ascending) have `item`.

    They go into `rows`, which has a place for every user; how many there are.
    """
    count = 0
    for user in range(len(indptr) - 1):
        for at in range(indptr[user], indptr[user + 1]):
            if items[at] >= item:
                if items[at] == item:
                    rows[count] = user
                    count += 1
                break
    return count
