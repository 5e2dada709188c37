"""What a search may not show, as kernels take it; checks of rows, lists and tie ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_array, as_contiguous, whole_numbers
from xorec.core.errors import DataError
from xorec.data.tie_rank import TieRank
from xorec.search.hits import Exclude


def check_rows(rows: npt.NDArray[Any], items: int, what: str) -> npt.NDArray[np.int64]:
    """Rows of items."""
    checked = whole_numbers(rows, what).astype(np.int64, copy=False)
    check_range(checked, items, what)
    return checked


def check_range(rows: npt.NDArray[np.int32] | npt.NDArray[np.int64], items: int, what: str) -> None:
    """Refuse rows that no item has: one look at all of them, since below zero is large unsigned."""
    unsigned = rows.view(np.uint32 if rows.itemsize == 4 else np.uint64)
    if len(rows) and np.maximum.reduce(unsigned) >= items:
        bad = rows.min() if rows.min() < 0 else rows.max()
        raise DataError(f"{what} has the row {bad} but rows go from 0 to {items - 1}.")


def check_choice(choice: npt.NDArray[Any], items: int) -> npt.NDArray[np.int64]:
    """The rows of a choice of items, given as rows or as one bool for each row."""
    choice = as_array(choice, "allow")
    if choice.dtype != np.bool_:
        return check_rows(choice, items, "allow")
    if choice.shape != (items,):
        raise DataError(f"the mask has shape {choice.shape} but there are {items} items.")
    return np.flatnonzero(choice)


def check_lists(
    lists: Exclude, queries: int, what: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(indptr, indices) with a list for each query."""
    if not isinstance(lists, tuple) or len(lists) != 2:
        raise DataError(f"{what} is no list for each query: give (indptr, indices).")
    if queries == 1 and _is_one_list(*lists):
        return lists  # type: ignore[return-value]
    indptr, indices = (whole_numbers(part, what) for part in lists)
    if len(indptr) != queries + 1:
        raise DataError(f"{what} has {len(indptr) - 1} lists but there are {queries} queries.")
    inside = indptr[0] >= 0 and indptr[-1] <= len(indices)
    if not inside or (indptr[1:] < indptr[:-1]).any():
        raise DataError(f"the lists of {what} do not rise from 0 to its {len(indices)} rows.")
    if indices.dtype.itemsize > 4 and len(indices):  # what int32 cannot hold would be another row
        check_rows(indices, 2**31, what)
    return (
        as_contiguous(indptr.astype(np.int64, copy=False)),
        as_contiguous(indices.astype(np.int32, copy=False)),
    )


def _is_one_list(indptr: Any, indices: Any) -> bool:
    """Whether kernels take a list of one query as it is: what a single search asks first."""
    if not (
        type(indptr) is np.ndarray
        and type(indices) is np.ndarray
        and indptr.dtype == np.int64
        and indices.dtype == np.int32
        and indptr.shape == (2,)
        and indices.ndim == 1
        and indptr.flags.carray
        and indices.flags.carray
    ):
        return False
    begin, end = indptr.tolist()
    return bool(0 <= begin <= end <= len(indices))


def check_tie_rank(tie_rank: TieRank | None, items: int) -> TieRank:
    """A permutation of the items; None is the order of the rows."""
    if tie_rank is None:
        return np.arange(items, dtype=np.int32)
    positions = whole_numbers(tie_rank, "tie_rank")
    if positions.shape != (items,):
        raise DataError(f"tie_rank has shape {positions.shape} but there are {items} items.")
    taken = np.zeros(items, dtype=np.bool_)
    taken[positions[(positions >= 0) & (positions < items)]] = True
    if not taken.all():
        raise DataError("tie_rank is not a permutation: every item needs a place of its own.")
    return as_contiguous(positions.astype(np.int32, copy=False))


Rows = npt.NDArray[np.int32]
Mask = npt.NDArray[np.uint8]
ALLOW_ALL = np.zeros(0, dtype=np.uint8)
NO_ROWS = np.zeros(0, dtype=np.int32)
_NO_LIST = np.zeros(2, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ItemChoice:
    """The items that may be shown, ready for many searches: `Index.item_filter`.

    allow_mask (m,): by tie rank, zero hides. rows: of these items.
    """

    allow_mask: Mask
    rows: Rows


Choice = ItemChoice | None
"""None: all items."""


class Filters(NamedTuple):
    """What queries may not show.

    indices[indptr[b]:indptr[b + 1]]: the rows that query b may not show, ascending. denied: rows
    for no query, ascending. allow_mask: one number for each tie position, zero hides; empty allows
    all.
    """

    indptr: npt.NDArray[np.int64]
    indices: Rows
    denied: Rows
    allow_mask: Mask

    @property
    def exclude(self) -> tuple[npt.NDArray[np.int64], Rows]:
        """(indptr, indices)."""
        return self.indptr, self.indices

    def of(self, b: int) -> Rows:
        """The rows that query b may not show, ascending."""
        return self.indices[self.indptr[b] : self.indptr[b + 1]]

    def one(self, b: int) -> Filters:
        """The filters of query b alone."""
        own = self.of(b)
        return self._replace(indptr=np.array([0, len(own)]), indices=own)


def no_filters(queries: int, allow_mask: Mask = ALLOW_ALL) -> Filters:
    """The filters of queries that may show all that the mask allows."""
    indptr = _NO_LIST if queries == 1 else np.zeros(queries + 1, dtype=np.int64)
    return Filters(indptr, NO_ROWS, NO_ROWS, allow_mask)


def make_filters(
    queries: int,
    exclude: Exclude | None,
    deny: npt.NDArray[np.integer] | None,
    items: int,
    allow_mask: Mask = ALLOW_ALL,
) -> Filters:
    """The filters of a search among `items` items, checked."""
    denied = NO_ROWS
    if deny is not None:
        denied = np.unique(check_rows(deny, items, "deny")).astype(np.int32)
    if exclude is None:
        return no_filters(queries, allow_mask)._replace(denied=denied)
    return Filters(*check_lists(exclude, queries, "exclude"), denied, allow_mask)
