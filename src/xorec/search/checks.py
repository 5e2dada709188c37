"""What comes into an index, checked and in the shape that kernels take."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.bits import Words, words_for
from xorec.errors import DataError
from xorec.search.hits import Exclude
from xorec.search.segment import Filters, Shown
from xorec.search.ties import TieRank

MOST_BITS = 1024
_NO_ROWS = np.zeros(0, dtype=np.int32)
_NO_QUERY = np.zeros(2, dtype=np.int64)
SHOW_ALL = np.zeros(0, dtype=np.uint8)
T = TypeVar("T", bound=np.generic)


def check_codes(codes: Words, bits: int, what: str = "codes") -> Words:
    """Words (n, W) of `bits` bits."""
    codes = np.asarray(codes)
    if not 1 <= bits <= MOST_BITS:
        raise DataError(f"bits is {bits}: give a number from 1 to {MOST_BITS}.")
    if codes.dtype != np.uint64 or codes.ndim != 2 or codes.shape[1] != words_for(bits):
        raise DataError(
            f"the {what} are {codes.dtype} of shape {codes.shape}, but {bits} bits need uint64 of "
            f"shape (n, {words_for(bits)}): pack them with xorec.bits.pack_signs."
        )
    if bits % 64 and len(codes) and int(codes[:, -1].max()) >> (bits % 64):
        raise DataError(f"the {what} have bits behind the last of {bits}: these must be zero.")
    return for_kernels(codes)


def check_tie_rank(tie_rank: TieRank | None, items: int) -> TieRank:
    """A permutation of the items; None is the order of the rows."""
    if tie_rank is None:
        return np.arange(items, dtype=np.int32)
    places = np.asarray(tie_rank)
    if places.shape != (items,):
        raise DataError(f"tie_rank has shape {places.shape} but there are {items} items.")
    seen = np.zeros(items, dtype=np.bool_)
    seen[places[(places >= 0) & (places < items)]] = True
    if not seen.all():
        raise DataError("tie_rank is not a permutation: every item needs a place of its own.")
    return for_kernels(places.astype(np.int32, copy=False))


def check_rows(rows: npt.NDArray[Any], items: int, what: str) -> npt.NDArray[np.int64]:
    """Rows of items."""
    found = np.asarray(rows, dtype=np.int64).reshape(-1)
    if len(found) and not (found.min() >= 0 and found.max() < items):
        bad = found.min() if found.min() < 0 else found.max()
        raise DataError(f"{what} has the row {bad} but rows go from 0 to {items - 1}.")
    return found


def check_lists(
    lists: Exclude, queries: int, what: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(indptr, indices) with a list for each query."""
    indptr, indices = lists
    if len(indptr) != queries + 1:
        raise DataError(f"{what} has {len(indptr) - 1} lists but there are {queries} queries.")
    return (
        for_kernels(np.asarray(indptr, dtype=np.int64)),
        for_kernels(np.asarray(indices, dtype=np.int32)),
    )


def make_filters(
    queries: int,
    exclude: Exclude | None,
    deny: npt.NDArray[np.integer] | None,
    items: int,
    shown: Shown,
) -> Filters:
    """The filters of a search among `items` items."""
    denied = _NO_ROWS
    if deny is not None and len(deny):
        denied = np.unique(check_rows(deny, items, "deny")).astype(np.int32)
    if exclude is None:
        indptr = _NO_QUERY if queries == 1 else np.zeros(queries + 1, dtype=np.int64)
        return Filters(indptr, _NO_ROWS, denied, shown)
    return Filters(*check_lists(exclude, queries, "exclude"), denied, shown)


def for_kernels(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Contiguous and, for numba's sake, not marked read-only: kernels are compiled for one kind.

    Nothing ever writes to it; a memory-mapped array is mapped copy-on-write (`storage.read`).
    """
    array = np.ascontiguousarray(array)
    if not array.flags.writeable:
        array = array.view()
        try:
            array.flags.writeable = True
        except ValueError:  # memory that cannot be written to
            array = array.copy()
    return array
