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
    """Which of the given pairs stay, in the order of (user, item).

    order: their places among the pairs given; indptr: where each user's begin;
    repeats: how many others were merged into them; moved: how many pairs were in several parts.
    """

    order: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
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
    order = sort_pairs(users, items, n_users, n_items)
    no_times, no_parts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8)
    kept, moved = _choose(
        order,
        users,
        items,
        no_times if times is None else times,
        no_parts if parts is None else parts,
    )
    repeats = len(order) - kept
    order = order[:kept]
    indptr = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(users[order], minlength=n_users), out=indptr[1:])
    return Merged(order, indptr, repeats, int(moved))


@kernel
def sort_pairs(users: Rows, items: Rows, n_users: int, n_items: int) -> Any:
    """The stable order of the pairs by (user, item)."""
    by_item = np.empty(len(items), dtype=np.int64)
    next_place = np.zeros(n_items + 1, dtype=np.int64)
    for item in items:
        next_place[item + 1] += 1
    for item in range(n_items):
        next_place[item + 1] += next_place[item]
    for pair in range(len(items)):
        by_item[next_place[items[pair]]] = pair
        next_place[items[pair]] += 1
    order = np.empty(len(users), dtype=np.int64)
    next_place = np.zeros(n_users + 1, dtype=np.int64)
    for user in users:
        next_place[user + 1] += 1
    for user in range(n_users):
        next_place[user + 1] += next_place[user]
    for place in range(len(by_item)):
        pair = by_item[place]
        order[next_place[users[pair]]] = pair
        next_place[users[pair]] += 1
    return order


@kernel
def _choose(
    order: npt.NDArray[np.int64],
    users: Rows,
    items: Rows,
    times: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int8],
) -> tuple[int, int]:
    """Move the chosen one of each run of equal pairs to the front of `order`, in place.

    Returns how many there are, and how many runs lie in several parts.
    """
    kept, moved, start = 0, 0, 0
    while start < len(order):
        best = order[start]
        user, item = users[best], items[best]
        several_parts = False
        at = start + 1
        while at < len(order) and users[order[at]] == user and items[order[at]] == item:
            pair = order[at]
            better = True
            if len(parts) and parts[pair] != parts[best]:
                several_parts = True
                better = parts[pair] < parts[best]
            elif len(times):
                better = times[pair] >= times[best]
            if better:
                best = pair
            at += 1
        order[kept] = best
        kept += 1
        moved += several_parts
        start = at
    return kept, moved
