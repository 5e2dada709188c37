"""Rows that a search is given: those of items pass, all others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.search.filters import check_lists, check_range, check_rows


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_rows_from_the_first_to_the_last_item(kind: Any) -> None:
    """Also where -1 read without its sign is a small number."""
    assert check_rows(np.array([99, 0, 3], dtype=kind), 100, "deny").tolist() == [99, 0, 3]
    for items, bad in ((100, 100), (100_000, -1), (100, -100)):
        with pytest.raises(DataError, match=f"deny has the row {bad} but"):
            check_rows(np.array([5, bad, 3], dtype=kind), items, "deny")


def test_a_range_of_int32_and_of_nothing() -> None:
    check_range(np.array([1, 2], dtype=np.int32), 3, "exclude")
    check_range(np.zeros(0, dtype=np.int32), 0, "exclude")
    for bad in (3, -1, -(2**31)):
        with pytest.raises(DataError, match=f"exclude has the row {bad} but"):
            check_range(np.array([1, bad], dtype=np.int32), 3, "exclude")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_list_of_one_query(kind: Any) -> None:
    """int32 rows are taken as they are, others made so; what leads beyond the rows is refused."""
    rows = np.array([7, 8, 9], dtype=kind)
    for begin, end in ((0, 3), (1, 2), (3, 3)):
        indptr, indices = check_lists((np.array([begin, end]), rows), 1, "exclude")
        assert indices[indptr[0] : indptr[1]].tolist() == [7, 8, 9][begin:end]
        assert indices.dtype == np.int32
        assert (indices is rows) == (kind is np.int32)
    for begin, end in ((0, 4), (2, 1), (-1, 2), (4, 4)):
        with pytest.raises(DataError, match="do not rise from 0 to its 3 rows"):
            check_lists((np.array([begin, end]), rows), 1, "exclude")
    with pytest.raises(DataError, match="has 2 lists but there are 1 queries"):
        check_lists((np.array([0, 1, 2]), rows), 1, "exclude")
    with pytest.raises(DataError, match="give whole numbers"):
        check_lists((np.array([0, 1]), rows.astype(np.float32)), 1, "exclude")
