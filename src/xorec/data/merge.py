"""Pairs in any order -> distinct pairs in order: the kernels under `Interactions`.

Sorting is by counting, twice (by item, then stably by user): linear time, no comparison sort, and
equal pairs stay in the order in which they came.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.kernels import kernel

Rows = npt.NDArray[np.int32]


class Merged(NamedTuple):
    """The pairs that stay, in the order of (user, item).

    indptr, indices: as in `Interactions`; order: the places of these pairs among those given;
    repeats: how many others were merged into them; moved: how many pairs were in several parts.
    """

    indptr: npt.NDArray[np.int64]
    indices: Rows
    order: Rows
    repeats: int
    moved: int


def merge_pairs(
    user_rows: npt.NDArray[np.integer],
    item_rows: npt.NDArray[np.integer],
    n_users: int,
    n_items: int,
    times: npt.NDArray[np.int64] | None = None,
    parts: npt.NDArray[np.int8] | None = None,
) -> Merged:
    """Sort the pairs and choose one of equal pairs.

    The first part wins (train before validation before test), then the latest time, then the
    place nearest to the end.
    """
    users = np.ascontiguousarray(user_rows, dtype=np.int32)
    items = np.ascontiguousarray(item_rows, dtype=np.int32)
    indptr, indices, order = _sort(users, items, n_users, n_items)
    no_times, no_parts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8)
    moved = _choose(
        indptr,
        indices,
        order,
        no_times if times is None else times,
        no_parts if parts is None else parts,
    )
    kept = int(indptr[-1])
    if kept < len(order):
        return Merged(indptr, indices[:kept].copy(), order[:kept], len(order) - kept, int(moved))
    return Merged(indptr, indices, order, 0, 0)


@kernel
def _sort(users: Rows, items: Rows, n_users: int, n_items: int) -> Any:
    """The pairs by (user, item), equal ones as they came: indptr, indices, order."""
    item_starts = _starts(items, n_items)
    by_item = np.empty(len(items), dtype=np.int32)
    for pair in range(len(items)):
        by_item[item_starts[items[pair]]] = pair
        item_starts[items[pair]] += 1  # ends as the end of each item, the start of the next
    indptr = _starts(users, n_users)
    next_place = indptr.copy()
    order = np.empty(len(users), dtype=np.int32)
    indices = np.empty(len(users), dtype=np.int32)
    at = 0
    for item in range(n_items):
        while at < item_starts[item]:
            user = users[by_item[at]]
            order[next_place[user]] = by_item[at]
            indices[next_place[user]] = item
            next_place[user] += 1
            at += 1
    return indptr, indices, order


@kernel
def _starts(rows: Rows, n_rows: int) -> Any:
    """Where each row's pairs begin once they are sorted, and the end."""
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    for at in range(len(rows)):
        starts[rows[at] + 1] += 1
    for row in range(n_rows):
        starts[row + 1] += starts[row]
    return starts


@kernel
def _choose(
    indptr: npt.NDArray[np.int64],
    indices: Rows,
    order: Rows,
    times: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int8],
) -> Any:
    """Keep one of each run of equal pairs, in place: all three arrays close up.

    Returns how many runs lie in several parts.
    """
    kept, moved, start = 0, 0, 0
    for user in range(len(indptr) - 1):
        end = indptr[user + 1]
        while start < end:
            item, best = indices[start], order[start]
            several_parts = False
            start += 1
            while start < end and indices[start] == item:
                pair = order[start]
                better = True
                if len(parts) and parts[pair] != parts[best]:
                    several_parts = True
                    better = parts[pair] < parts[best]
                elif len(times):
                    better = times[pair] >= times[best]
                if better:
                    best = pair
                start += 1
            order[kept] = best
            indices[kept] = item
            kept += 1
            moved += several_parts
        indptr[user + 1] = kept
    return moved
