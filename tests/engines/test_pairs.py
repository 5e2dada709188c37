"""Blocks of rows to Interactions, without Spark: what `read` and `prepare` give, for any cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xorec
from tests.support.same_data import assert_same_data
from xorec.core.engine import LocalEngine
from xorec.core.errors import DataError, OptionError
from xorec.data.interactions import Interactions
from xorec.data.io.base import Source
from xorec.data.io.columns import choose_columns
from xorec.data.io.encode import Weighing, gather
from xorec.data.io.objects import FRAME
from xorec.data.prepare import prepare
from xorec.engines.pairs import PairFilters, ReadRows, to_interactions
from xorec.engines.row_ids import row_block

ROLES = ("user", "item", "rating", "weight", "time", "split")


def from_blocks(
    frame: pl.DataFrame, size: int, filters: dict[str, Any], **options: Any
) -> Interactions:
    """The frame, cut into blocks of `size` rows."""
    rules = Source(FRAME, frame.lazy(), tuple(frame.columns))
    wanted = {role: options.get(f"{role}_column") for role in ROLES}
    columns = choose_columns(frame.columns, wanted, rules.name, ())
    by_role = frame.select(pl.col(name).alias(role) for role, name in columns.in_use().items())
    blocks = []
    for begin in range(0, len(frame), size):
        part = by_role[begin : begin + size]
        source = Source(FRAME, pl.LazyFrame(), (), stream=lambda _, part=part: iter([part]))  # type: ignore[misc]
        blocks.append(row_block(gather(source, columns)))
    rows = ReadRows(blocks, len(frame), 0, rules, columns)
    weighing = Weighing(by_repeats=options.get("weight_column") == "repeats")
    return to_interactions(LocalEngine(2), rows, weighing, PairFilters(**filters), block_rows=size)


RNG = np.random.default_rng(5)
PAIRS = pl.DataFrame({"user": RNG.integers(0, 40, 500), "item": RNG.integers(0, 30, 500)})
BESIDE = {
    "nothing": PAIRS,
    "ratings": PAIRS.with_columns(rating=pl.Series(RNG.integers(0, 6, 500))),
    "strengths as ratings": PAIRS.with_columns(rating=pl.Series(RNG.random(500))),
    "weights and times": PAIRS.with_columns(
        weight=pl.Series(RNG.random(500)), time=pl.Series(RNG.integers(0, 5, 500))
    ),
    "weights and parts": PAIRS.with_columns(
        weight=pl.Series(RNG.random(500)), split=pl.Series(RNG.choice(["train", "test"], 500))
    ),
}
FILTERS: list[dict[str, Any]] = [
    {},
    {"core": 7},
    {"min_user_pairs": 9, "min_item_pairs": 12},
    {"min_user_pairs": 9, "core": 5},
]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("size", [37, 1000])
def test_blocks_give_what_one_pass_gives(beside: str, filters: dict[str, Any], size: int) -> None:
    frame = BESIDE[beside]
    assert_same_data(from_blocks(frame, size, filters), prepare(xorec.read(frame), **filters))


@pytest.mark.parametrize("role", ["user", "item"])
@pytest.mark.parametrize("row", [3, 150, 499])
def test_an_id_that_is_refused_is_named_with_its_row(role: str, row: int) -> None:
    """The row of the data, whatever block it came in; it is the first with that id."""
    values = PAIRS[role].cast(pl.Float64).to_numpy().copy()
    values[[row, -1]] = np.inf
    frame = PAIRS.with_columns(pl.Series(role, values))
    with pytest.raises(DataError) as expected:
        xorec.read(frame)
    assert f"row {row + 1:,}" in str(expected.value)
    with pytest.raises(DataError) as found:
        from_blocks(frame, 60, {})
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("kind", [pl.Int8, pl.String, pl.Float32, pl.Float64])
def test_ids_of_every_kind(kind: Any) -> None:
    frame = PAIRS.with_columns(pl.col("user", "item").cast(kind))
    if kind.is_float():
        frame = frame.with_columns(-pl.col("user") / 2)  # -0.0 is 0.0
    for weights in (None, "repeats"):
        options: dict[str, Any] = {"weight_column": weights}
        found = from_blocks(frame, 60, {"core": 3}, **options)
        assert_same_data(found, prepare(xorec.read(frame, **options), core=3))


@pytest.mark.parametrize("filters", FILTERS)
def test_times_that_are_no_dates_are_said_as_on_one_machine(filters: dict[str, Any]) -> None:
    frame = BESIDE["weights and times"].rename({"time": "qty", "weight": "price"})
    found = from_blocks(frame, 60, filters, time_column="qty")
    assert_same_data(found, prepare(xorec.read(frame, time_column="qty"), **filters))
    assert "the times of 'qty' go from 0 to 4" in str(found.notes)


def test_ratings_are_cut_as_on_one_machine() -> None:
    frame = BESIDE["ratings"]
    for filters in ({"min_rating": 3}, {"min_rating": 2.5, "core": 4}):
        assert_same_data(from_blocks(frame, 60, filters), prepare(xorec.read(frame), **filters))


@pytest.mark.parametrize(
    ("filters", "beside"),
    [
        ({"core": 50}, "nothing"),
        ({"min_user_pairs": 90}, "nothing"),
        ({"min_rating": 6}, "ratings"),
        ({"min_rating": 4, "core": 20}, "ratings"),
        ({"min_rating": 4}, "nothing"),
        ({"core": -1}, "nothing"),
    ],
)
def test_too_strict_filters_are_refused_in_the_same_words(
    filters: dict[str, Any], beside: str
) -> None:
    with pytest.raises((DataError, OptionError)) as expected:
        prepare(xorec.read(BESIDE[beside]), **filters)
    with pytest.raises(type(expected.value)) as found:
        from_blocks(BESIDE[beside], 60, filters)
    assert str(found.value) == str(expected.value)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), st.sampled_from([0, 2])),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 12),
    st.integers(0, 3),
)
def test_random_rows(rows: list[tuple[int, int, int, int]], size: int, core: int) -> None:
    frame = pl.DataFrame(rows, schema=["user", "item", "time", "split"], orient="row")
    frame = frame.with_columns(weight=pl.int_range(1, len(rows) + 1) / 3)
    expected = _outcome(lambda: prepare(xorec.read(frame), core=core))
    found = _outcome(lambda: from_blocks(frame, size, {"core": core}))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        assert_same_data(found, expected)


def _outcome(read: Callable[[], Interactions]) -> Interactions | str:
    try:
        return read()
    except DataError as error:
        return str(error)
