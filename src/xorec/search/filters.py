"""What a search may not show, in the shape that kernels take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.search.checks import check_lists, check_rows
from xorec.search.hits import Exclude

Rows = npt.NDArray[np.int32]
Mask = npt.NDArray[np.uint8]
ALLOW_ALL = np.zeros(0, dtype=np.uint8)
NO_ROWS = np.zeros(0, dtype=np.int32)
_NO_LIST = np.zeros(2, dtype=np.int64)


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
