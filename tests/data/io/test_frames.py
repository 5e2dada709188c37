"""Frames of every library, SciPy matrices and Python pairs: the same interactions."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from tests.support.same_data import pairs_of
from xorec.core.errors import DataError
from xorec.data.io.read import read

COLUMNS: dict[str, list[Any]] = {
    "userId": ["b", "a", "b"],
    "movieId": [30, 30, 4],
    "rating": [1.0, 2.0, 3.0],
    "timestamp": [7, 8, 9],
    "notes": [{"x": 1}, {"x": 2}, {"x": 3}],  # a column without a role
}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("library", MAKERS)
def test_a_frame_of_any_library(library: str) -> None:
    data: Any = read(MAKERS[library](COLUMNS))
    assert pairs_of(data) == [("a", 30), ("b", 4), ("b", 30)]
    assert data.ratings.tolist() == [2.0, 3.0, 1.0]
    assert data.times.tolist() == [8, 9, 7]
    assert data.notes == (
        "columns guessed: user = userId, item = movieId, rating = rating, time = timestamp; "
        "not used: notes",
        "every rating counts as positive, 1 to 3; min_rating 3 (--min-rating) would keep 33 %",
    )


@pytest.mark.parametrize("library", MAKERS)
def test_an_empty_id_in_a_frame(library: str) -> None:
    frame = MAKERS[library]({"user": ["a", None], "item": [1, 2]})
    with pytest.raises(DataError, match=r"the data frame, column 'user', data row 2.*empty"):
        read(frame)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_dates_and_categories(library: str) -> None:
    days = [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 1)]
    frame = MAKERS[library]({"user": ["7", "007"], "item": [1, 2], "time": days})
    if library == "pandas":
        frame["user"] = frame["user"].astype("category")
    data: Any = read(frame)
    assert list(data.users) == ["007", "7"]
    assert data.times.tolist() == [0, 86_400]


def test_python_objects_in_a_pandas_frame_stay_what_they_are() -> None:
    ids = [uuid.UUID(int=9), uuid.UUID(int=2)]
    data: Any = read(pd.DataFrame({"user": ids, "item": [1, 2], "rating": [4, 5]}))
    assert list(data.users) == [uuid.UUID(int=2), uuid.UUID(int=9)]
    assert data.ratings.tolist() == [5, 4]


def test_frames_that_are_refused() -> None:
    mixed = pd.DataFrame({"user": pd.Series([1, "a"], dtype=object), "item": [1, 2]})
    with pytest.raises(DataError, match="int, str cannot be kept"):
        read(mixed)
    with pytest.raises(DataError, match=r"data frame has no column 'userid'.*mean 'userId'"):
        read(pd.DataFrame(COLUMNS), user_column="userid")
    odd = pd.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [np.zeros(2), b"5"]})
    with pytest.raises(DataError, match="column 'rating'"):
        read(odd)
    missing = pd.DataFrame({"user": [1.0, float("nan")], "item": [1, 2]})
    with pytest.raises(DataError, match=r"column 'user', data row 2.*empty"):
        read(missing)


@pytest.mark.parametrize(
    ("rows", "pairs"),
    [
        ([(2, "b"), (10, "a"), (2, "a")], [(2, "a"), (2, "b"), (10, "a")]),
        (iter([("x", 1), ["y", 2]]), [("x", 1), ("y", 2)]),
        ([(uuid.UUID(int=3), 1)], [(uuid.UUID(int=3), 1)]),
        ([(2**70, 1), (5, 1)], [(5, 1), (2**70, 1)]),
        ([(1.5, True), (0.5, False)], [(0.5, False), (1.5, True)]),
        ([(np.int64(4), np.str_("z"))], [(4, "z")]),
        (np.array([[5, 1], [4, 2]]), [(4, 2), (5, 1)]),
        ([(datetime.date(2020, 1, 1), b"x")], [(datetime.date(2020, 1, 1), b"x")]),
    ],
)
def test_python_pairs(rows: Any, pairs: list[tuple[Any, Any]]) -> None:
    data = read(rows)
    assert pairs_of(data) == pairs
    assert [type(value) for value in pairs_of(data)[0]] == [type(value) for value in pairs[0]]


def test_python_rows_with_rating_and_time() -> None:
    data: Any = read([("a", 1, 5, 30), ("a", 1, 3, 20)])
    assert data.ratings.tolist() == [5.0]
    assert data.times.tolist() == [30]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "list of pairs is empty"),
        ([(1, 2), (1,)], "row 2: .* is not like the others"),
        ([(1, 2), (1, 2, 3)], "row 2: .* is not like the others"),
        (["ab", "cd"], "row 1: 'ab' is not like the others"),
        ([("a", 1), (None, 2)], "column 'user', data row 2.*empty"),
        ([(uuid.UUID(int=3), 1), (None, 2)], "column 'user', data row 2.*empty"),
        ([(1, 1), ("a", 2)], "int, str cannot be kept"),
        ([([1], 1)], "column 'user'.*unhashable"),
    ],
)
def test_rows_that_are_no_pairs(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(rows)


def test_a_matrix_keeps_its_numbers_and_values() -> None:
    dense = np.array([[0, 2, 0], [0, 0, 0], [1, 0, 5]])
    for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        data = read(kind(dense))
        assert (data.n_users, data.n_items) == (3, 3)
        assert pairs_of(data) == [(0, 1), (2, 0), (2, 2)]
        assert data.ratings is None
        raw = read(kind(dense), weight_scale="none").weights
        assert raw is not None
        assert raw.tolist() == [2, 1, 5]
    rated: Any = read(sparse.csr_array(dense), rating_column="value")
    assert (rated.ratings.tolist(), rated.weights) == ([2, 1, 5], None)
    ones = read(sparse.csr_array(dense > 0))
    assert (ones.ratings, ones.weights) == (None, None)
    assert read(sparse.csr_array(dense), weight_column="").weights is None
    with pytest.raises(DataError, match=r"data row 2: -1.0 is not a weight"):
        read(sparse.csr_array(np.array([[2.0, -1.0]])))


def test_a_matrix_with_stored_zeros_repeats_or_nothing() -> None:
    entries = ([1.0, 0.0, 3.0], ([0, 0, 0], [0, 1, 0]))
    data = read(sparse.coo_array(entries, shape=(1, 2)))
    assert pairs_of(data) == [(0, 0)]
    assert "1 stored zeros left out" in data.notes
    assert "1 repeated pairs merged, their weights summed" in data.notes
    with pytest.raises(DataError, match="the matrix has no interactions"):
        read(sparse.csr_array((2, 2)))
    with pytest.raises(DataError, match="NaN"):
        read(sparse.csr_array(np.array([[np.nan]])))


def test_categories_of_mixed_objects_are_read_or_refused() -> None:
    """Arrow crashes on some of them, so they must not get there."""
    odd = [np.bool_(True), np.datetime64("2020-01-01"), "n", 3]
    frame = pd.DataFrame({"user": [1, 2, 3, 4], "item": pd.Categorical(odd)})
    with pytest.raises(DataError, match="item"):
        read(frame)
    plain = pd.DataFrame({"user": [1, 2, 3], "item": pd.Categorical([7, 9, 7])})
    assert list(read(plain).items) == [7, 9]


def test_the_largest_number_of_numpy_is_the_number_of_python() -> None:
    """Their hashes differ."""
    largest = np.iinfo(np.uint64).max
    data = read([(1, np.uint64(largest)), (2, int(largest)), (2, 5)])
    assert list(data.items) == [5, 2**64 - 1]
    assert data.item_counts.tolist() == [1, 2]
