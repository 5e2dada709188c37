"""Pairs in any order -> distinct pairs in order: the kernels under `Interactions`.

Sorting is by counting, twice (by item, then stably by user): linear time, no comparison sort, and
equal pairs stay in the order in which they came.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.errors import DataError
from xorec.kernels import inlined, kernel

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
    if len(user_rows) >= 2**31:
        raise DataError(f"{len(user_rows):,} rows are too many: at most 2**31 - 1 can be held.")
    users = np.ascontiguousarray(user_rows, dtype=np.int32)
    items = np.ascontiguousarray(item_rows, dtype=np.int32)
    indptr, packed = _sort(users, items, n_users, n_items)
    no_times, no_parts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8)
    moved = _choose(
        indptr, packed, no_times if times is None else times, no_parts if parts is None else parts
    )
    indices, order = _unpack(packed[: indptr[-1]])
    return Merged(indptr, indices, order, len(users) - len(order), int(moved))


@inlined
def _pack(row: Any, pair: Any) -> Any:
    """A row and the place of a pair in one number: half as many jumps through the memory."""
    return (np.int64(row) << np.int64(32)) | np.int64(pair)


@inlined
def _row(packed: Any) -> Any:
    return packed >> np.int64(32)


@inlined
def _pair(packed: Any) -> Any:
    return packed & np.int64(0xFFFFFFFF)


@kernel
def _sort(users: Rows, items: Rows, n_users: int, n_items: int) -> Any:
    """The pairs by (user, item), equal ones as they came: indptr, and (item, place) packed."""
    item_ends = _starts(items, n_items)
    by_item = np.empty(len(items), dtype=np.int64)
    for pair in range(len(items)):
        by_item[item_ends[items[pair]]] = _pack(users[pair], pair)
        item_ends[items[pair]] += 1  # the start of each item becomes its end
    indptr = _starts(users, n_users)
    next_place = indptr.copy()
    packed = np.empty(len(users), dtype=np.int64)
    at = 0
    for item in range(n_items):
        while at < item_ends[item]:
            user = _row(by_item[at])
            packed[next_place[user]] = _pack(item, _pair(by_item[at]))
            next_place[user] += 1
            at += 1
    return indptr, packed


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
    packed: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int8],
) -> Any:
    """Keep one of each run of equal pairs; both arrays close up in place.

    Returns how many runs lie in several parts.
    """
    kept, moved, start = 0, 0, 0
    for user in range(len(indptr) - 1):
        end = indptr[user + 1]
        while start < end:
            item, best = _row(packed[start]), _pair(packed[start])
            several_parts = False
            start += 1
            while start < end and _row(packed[start]) == item:
                pair = _pair(packed[start])
                better = True
                if len(parts) and parts[pair] != parts[best]:
                    several_parts = True
                    better = parts[pair] < parts[best]
                elif len(times):
                    better = times[pair] >= times[best]
                if better:
                    best = pair
                start += 1
            packed[kept] = _pack(item, best)
            kept += 1
            moved += several_parts
        indptr[user + 1] = kept
    return moved


@kernel
def _unpack(packed: npt.NDArray[np.int64]) -> Any:
    """Items and places."""
    indices = np.empty(len(packed), dtype=np.int32)
    order = np.empty(len(packed), dtype=np.int32)
    for at in range(len(packed)):
        indices[at] = _row(packed[at])
        order[at] = _pair(packed[at])
    return indices, order
