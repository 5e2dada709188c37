"""Kernels that sort pairs and merge equal ones, for `Interactions`.

Sorting is by counting, twice (by item, then stably by user): linear time, and equal pairs keep
their order. Each thread moves one chunk of the pairs; the counts of every chunk are known before,
so each writes to positions of its own.

Why not polars or SciPy: on 10 million pairs polars' sort takes three times the processor time, with
times five times, its unique twenty times; two transpositions of a SciPy matrix three times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import whole_numbers
from xorec.core.errors import DataError
from xorec.core.kernels import inlined, kernel
from xorec.core.threads import ThreadPool

Rows = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

_MANY = 1 << 20
"""Pairs from which on threads are worth their start."""


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
    shape: tuple[int, int],
    times: npt.NDArray[np.int64] | None = None,
    parts: npt.NDArray[np.int8] | None = None,
    *,
    threads: int = 1,
) -> Merged:
    """Sort the pairs and choose one of equal pairs; shape: how many users and items there are.

    The first part wins (train before validation before test), then the latest time, then the
    place nearest to the end. The result is the same for any number of threads.
    """
    users, items = _checked(user_rows, shape[0], "user"), _checked(item_rows, shape[1], "item")
    if len(users) != len(items):
        raise DataError(f"{len(users):,} user rows but {len(items):,} item rows: give pairs.")
    with ThreadPool(threads) as pool:
        indptr, packed = _sort(users, items, shape, pool)
        times = np.empty(0, dtype=np.int64) if times is None else times
        parts = np.empty(0, dtype=np.int8) if parts is None else parts
        moved = _choose(indptr, packed, times, parts)
        n_pairs = int(indptr[-1])
        indices, order = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs, dtype=np.int32)
        pool.map_ranges(n_pairs, lambda begin, end: _unpack(packed, begin, end, indices, order))
    return Merged(indptr, indices, order, len(users) - len(order), int(moved))


def take_pairs(
    values: npt.NDArray[Any], order: npt.NDArray[np.int32], threads: int = 1
) -> npt.NDArray[Any]:
    """`values[order]`; NumPy takes four times as long, for it first widens the places."""
    taken = np.empty(len(order), dtype=values.dtype)
    with ThreadPool(threads if len(order) > _MANY else 1) as pool:
        pool.map_ranges(len(order), lambda begin, end: _take(values, order, begin, end, taken))
    return taken


def _checked(rows: npt.NDArray[np.integer], size: int, what: str) -> Rows:
    """Rows as kernels take them, all of them below `size`."""
    rows = whole_numbers(rows, f"the {what} rows")
    if len(rows) >= 2**31:
        raise DataError(f"{len(rows):,} rows are too many: at most 2**31 - 1 can be held.")
    if len(rows) and not (rows.min() >= 0 and rows.max() < size):
        wrong = int(rows.min() if rows.min() < 0 else rows.max())
        raise DataError(f"there is no {what} row {wrong}: rows go from 0 to {size - 1}.")
    return np.ascontiguousarray(rows, dtype=np.int32)


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


def _sort(
    users: Rows, items: Rows, shape: tuple[int, int], pool: ThreadPool
) -> tuple[Places, Places]:
    """The pairs by (user, item), equal ones as they came: indptr, and (item, place) packed."""
    n_users, n_items = shape
    # few chunks where rows are many, for each chunk counts all rows
    chunks = min(pool.threads, max(1, len(users) // (4 * max(n_users, n_items, 1))))
    cuts = [len(users) * at // chunks for at in range(chunks + 1)]
    by_item, packed = np.empty(len(users), np.int64), np.empty(len(users), np.int64)
    counts = np.zeros((chunks, n_items), dtype=np.int64)
    pool.map(chunks, lambda at: _count(items[cuts[at] : cuts[at + 1]], counts[at]))
    item_starts = _starts(counts)
    pool.map(
        chunks,
        lambda at: _move_by_item(users, items, cuts[at], cuts[at + 1], counts[at], by_item),
    )
    user_counts = np.zeros((chunks, n_users), dtype=np.int64)
    pool.map(chunks, lambda at: _count_rows(by_item[cuts[at] : cuts[at + 1]], user_counts[at]))
    indptr = _starts(user_counts)
    pool.map(
        chunks,
        lambda at: _move_by_user(
            by_item, item_starts, cuts[at], cuts[at + 1], user_counts[at], packed
        ),
    )
    return indptr, packed


@kernel
def _count(rows: Rows, counts: Places) -> None:
    for row in rows:
        counts[row] += 1


@kernel
def _count_rows(packed: Places, counts: Places) -> None:
    for one in packed:
        counts[_row(one)] += 1


@kernel
def _starts(counts: Any) -> Any:
    """Where each row's pairs begin once they are sorted, and the end.

    counts: how many pairs each chunk has of each row; becomes where those of the chunk begin.
    """
    chunks, n_rows = counts.shape
    starts = np.empty(n_rows + 1, dtype=np.int64)
    place = np.int64(0)
    for row in range(n_rows):
        starts[row] = place
        for chunk in range(chunks):
            count = counts[chunk, row]
            counts[chunk, row] = place
            place += count
    starts[n_rows] = place
    return starts


@kernel
def _move_by_item(
    users: Rows, items: Rows, begin: int, end: int, places: Places, by_item: Places
) -> None:
    """(user, place) of the pairs of one chunk to the next places of their items."""
    for pair in range(begin, end):
        item = items[pair]
        by_item[places[item]] = _pack(users[pair], pair)
        places[item] += 1


@kernel
def _move_by_user(
    by_item: Places, item_starts: Places, begin: int, end: int, places: Places, packed: Places
) -> None:
    """(item, place) of the pairs of one chunk to the next places of their users."""
    item = np.searchsorted(item_starts, begin, side="right") - 1
    for at in range(begin, end):
        while at >= item_starts[item + 1]:
            item += 1
        user = _row(by_item[at])
        packed[places[user]] = _pack(item, _pair(by_item[at]))
        places[user] += 1


@kernel
def _choose(indptr: Places, packed: Places, times: Places, parts: npt.NDArray[np.int8]) -> Any:
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
def _unpack(packed: Places, begin: int, end: int, indices: Rows, order: Rows) -> None:
    """Items and places of one chunk."""
    for at in range(begin, end):
        indices[at] = _row(packed[at])
        order[at] = _pair(packed[at])


@kernel
def _take(
    values: npt.NDArray[Any], order: Rows, begin: int, end: int, taken: npt.NDArray[Any]
) -> None:
    for at in range(begin, end):
        taken[at] = values[order[at]]
