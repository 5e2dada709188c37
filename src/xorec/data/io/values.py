"""The columns beside the ids: ratings, weights, times and the given split, as plain arrays.

Each function takes one batch of a column and says exactly which value, in which row, is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.interactions import TEST, TRAIN, VALIDATION
from xorec.data.io.columns import is_known_time

if TYPE_CHECKING:
    import polars as pl

PART_NAMES = {
    TRAIN: ("train", "training", "0"),
    VALIDATION: ("validation", "valid", "val", "dev", "1"),
    TEST: ("test", "testing", "2"),
}
_NO_DATE = 1_000_000
"""Seconds: times that end before 12 January 1970 are not meant as dates."""
_PART_OF = {name: part for part, names in PART_NAMES.items() for name in names}


@dataclass(frozen=True)
class Place:
    """Where a batch comes from, for messages: file, column, and how many rows came before."""

    name: str
    column: str
    first_row: int = 0

    def row(self, offset: int) -> str:
        """A place in words."""
        return (
            f"{self.name}, column {quoted(self.column)}, data row {self.first_row + offset + 1:,}"
        )


def ratings_of(column: pl.Series, place: Place) -> npt.NDArray[np.float32]:
    """Ratings as float32; text is parsed; an empty, infinite or unreadable one is refused."""
    import polars as pl

    way_out = "mend or drop that row, or read without ratings (rating_column='')."
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Boolean, pl.Null)):
        raise DataError(
            f"{place.name}, column {quoted(place.column)}: {column.dtype} values are not ratings; "
            "name a column of numbers with rating_column, or none with rating_column=''."
        )
    numbers = _unblanked(column).cast(pl.Float32, strict=False)
    if not numbers.is_finite().all():
        numbers = pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()
    _refuse_nulls(numbers, column, place, "is not a rating", way_out)
    return numbers.to_numpy().astype(np.float32, copy=False)


def weights_of(column: pl.Series, place: Place) -> npt.NDArray[np.float64]:
    """Weights as float64; one that is empty, unreadable, infinite, 0 or less is refused."""
    import polars as pl

    way_out = "weights are above 0: mend or drop that row, or read without (weight_column='')."
    if not (column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)):
        raise DataError(
            f"{place.name}, column {place.column!r}: {column.dtype} values are not weights; "
            "name a column of numbers with weight_column, or none with weight_column=''."
        )
    numbers = _unblanked(column).cast(pl.Float64, strict=False)
    kept = numbers.cast(pl.Float32)  # as which they are kept: what is too small there is 0
    usable = kept.is_finite() & (kept > 0)
    _refuse_nulls(numbers.set(~usable, None), column, place, "is not a weight", way_out)
    return numbers.to_numpy().astype(np.float64, copy=False)


def times_of(column: pl.Series, place: Place) -> npt.NDArray[np.int64]:
    """Times as int64: whole numbers as they are; dates and date-times as seconds since 1970 (UTC).

    A number with a fraction loses it; text may be any of these.
    """
    import polars as pl

    way_out = (
        "dates are read as 2024-12-31 or day first, 31/12/2024; mend or drop that row, or read "
        "without times (time_column='')."
    )
    if column.dtype == pl.String:
        times = _times_of_text(_unblanked(column))
    elif column.dtype in (pl.Date, pl.Datetime):
        times = column.dt.epoch("s")
    elif column.dtype.is_numeric():
        times = _whole(column)
    else:
        raise DataError(
            f"{place.name}, column {quoted(place.column)}: {column.dtype} values are not times; "
            "name a column of numbers or dates with time_column, or none with time_column=''."
        )
    _refuse_nulls(times, column, place, "is not a time", way_out)
    return times.to_numpy().astype(np.int64, copy=False)


def time_note(times: npt.NDArray[np.int64] | None, column: str | None) -> str | None:
    """One line about times that cannot be dates; None where they can, or the name says times.

    >>> time_note(np.array([1, 5, 3]), "qty")
    "the times of 'qty' go from 1 to 5: no dates, but any numbers will do to order pairs"
    """
    if times is None or column is None or is_known_time(column) or not len(times):
        return None
    first, last = int(times.min()), int(times.max())
    if last >= _NO_DATE:
        return None
    span = f"go from {first:,} to {last:,}" if first < last else f"are all {first:,}"
    return f"the times of {quoted(column)} {span}: no dates, but any numbers will do to order pairs"


def parts_of(column: pl.Series, place: Place) -> npt.NDArray[np.int8]:
    """The part of each pair: TRAIN, VALIDATION or TEST."""
    import polars as pl

    words = column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    parts = words.replace_strict(
        list(_PART_OF), list(_PART_OF.values()), default=None, return_dtype=pl.Int8
    )
    way_out = (
        "use train, validation and test (or 0, 1, 2), name another column with split_column, "
        "or none with split_column=''."
    )
    _refuse_nulls(parts, column, place, "is not a part of a split", way_out)
    return parts.to_numpy().astype(np.int8, copy=False)


def _unblanked(column: pl.Series) -> pl.Series:
    """Text without blanks before it, as in "1, 2, 5": a CSV file parsed as numbers has none."""
    import polars as pl

    return column.str.strip_chars_start(" \t") if column.dtype == pl.String else column


def _times_of_text(column: pl.Series) -> pl.Series:
    """Text as whole numbers if the batch can be read so, else numbers, else ISO dates."""
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == 0:
        return whole
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(column):
        return _whole(numbers)
    try:
        return column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).dt.epoch("s")
    except pl.exceptions.ComputeError:  # not even the format can be guessed
        return pl.Series(column.name, [None] * len(column), dtype=pl.Int64)


def _whole(numbers: pl.Series) -> pl.Series:
    """Numbers without their fraction; infinite ones and NaN become null."""
    import polars as pl

    return (numbers.floor() if numbers.dtype.is_float() else numbers).cast(pl.Int64, strict=False)


def _refuse_nulls(
    values: pl.Series, column: pl.Series, place: Place, what: str, way_out: str
) -> None:
    if values.null_count():
        offset = int(values.is_null().arg_true()[0])
        found = "an empty field" if column[offset] is None else quoted(column[offset])
        raise DataError(f"{place.row(offset)}: {found} {what}; {way_out}")
