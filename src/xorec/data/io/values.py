"""Ratings, weights, times and the given split, as plain arrays; and notes on them.

Raw strengths have a wide range (hours from 0.1 to 10,000), and few of them would outweigh all
others. On the logarithmic scale a pair of the median strength weighs 1 + log 2 and one a hundred
times as strong weighs three times as much; the weights are then divided by their mean, so that
settings (L2 penalties, passes) mean what they mean without weights, and a new pair of unknown
strength weighs 1.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from xorec.core.errors import DataError, OptionError
from xorec.core.printable import quoted
from xorec.data.interactions import TEST, TRAIN, VALIDATION
from xorec.data.io.columns import is_known_time

_NO_DATE = 1_000_000
"""Seconds: times that end before 12 January 1970 are not meant as dates."""
_PART_OF = {
    **dict.fromkeys(("train", "training", "0"), TRAIN),
    **dict.fromkeys(("validation", "valid", "val", "dev", "1"), VALIDATION),
    **dict.fromkeys(("test", "testing", "2"), TEST),
}


@dataclass(frozen=True)
class Origin:
    """The origin of a batch, for messages: file, column, and how many rows came before."""

    name: str
    column: str
    first_row: int = 0

    def row(self, offset: int) -> str:
        """A row of the batch, in words."""
        row = self.first_row + offset + 1
        return f"{self.name}, column {quoted(self.column)}, data row {row:,}"


_WAYS_OUT = {
    "rating": "mend or drop that row, or read without ratings (rating_column='').",
    "weight": "weights are above 0: mend or drop that row, or read without (weight_column='').",
    "time": "dates are read as 2024-12-31 or day first, 31/12/2024; mend or drop that row, or read "
    "without times (time_column='').",
    "split": "use train, validation and test (or 0, 1, 2), name another column with "
    "split_column, or none with split_column=''.",
}
VALUE_ROLES = tuple(_WAYS_OUT)


def values_of(role: str, column: pl.Series, place: Origin) -> npt.NDArray[Any]:
    """A batch of a column as an array; the first wrong value is refused, with its row.

    rating: float32, finite. weight: float64, above 0. time: int64, whole numbers as they are,
    dates and date-times as seconds since 1970 (UTC). split: int8, TRAIN, VALIDATION or TEST. Text
    is parsed.
    """
    convert, dtype, types = _CONVERT[role]
    what = "part of a split" if role == "split" else role
    if types and not (column.dtype.is_numeric() or type(column.dtype).__name__ in types):
        use = "numbers or dates" if role == "time" else "numbers"
        raise DataError(
            f"{place.name}, column {quoted(place.column)}: {column.dtype} values are not {what}s; "
            f"name a column of {use} with {role}_column, or none with {role}_column=''."
        )
    values = convert(column)
    offset = first_true(values.is_null()) if values.null_count() else None
    if offset is not None:
        found = "an empty field" if column[offset] is None else quoted(column[offset])
        raise DataError(f"{place.row(offset)}: {found} is not a {what}; {_WAYS_OUT[role]}")
    return values.to_numpy().astype(dtype, copy=False)


def _ratings(column: pl.Series) -> pl.Series:
    numbers = _unblanked(column).cast(pl.Float32, strict=False)
    return numbers if numbers.is_finite().all() else numbers.set(~numbers.is_finite(), None)


def _weights(column: pl.Series) -> pl.Series:
    numbers = _unblanked(column).cast(pl.Float64, strict=False)
    kept = numbers.cast(pl.Float32)  # as which they are kept: what is too small there is 0
    return numbers.set(~(kept.is_finite() & (kept > 0)), None)


def _times(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.epoch("s")
    if column.dtype != pl.String:
        return _whole(column)
    column = _unblanked(column)
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == 0:
        return whole
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(column):
        return _whole(numbers)
    try:
        return column.str.to_datetime(time_unit="us", time_zone="UTC", strict=False).dt.epoch("s")
    except pl.exceptions.ComputeError:  # not even the format can be guessed
        return whole


def _parts(column: pl.Series) -> pl.Series:
    words = column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    return words.replace_strict(
        list(_PART_OF), list(_PART_OF.values()), default=None, return_dtype=pl.Int8
    )


_TEXT = ("String", "Null")
_CONVERT: dict[str, tuple[Callable[[pl.Series], pl.Series], npt.DTypeLike, tuple[str, ...]]] = {
    "rating": (_ratings, np.float32, (*_TEXT, "Boolean")),
    "weight": (_weights, np.float64, _TEXT),
    "time": (_times, np.int64, (*_TEXT, "Date", "Datetime")),
    "split": (_parts, np.int8, ()),
}
"""By role: to a series with nulls for wrong values; the type of the array; the types of polars
that fit beside numbers, () for any."""


def _unblanked(column: pl.Series) -> pl.Series:
    """Text without blanks before it, as in "1, 2, 5": a CSV file parsed as numbers has none."""
    return column.str.strip_chars_start(" \t") if column.dtype == pl.String else column


def _whole(numbers: pl.Series) -> pl.Series:
    """Numbers without their fraction; infinite ones and NaN become null."""
    return (numbers.floor() if numbers.dtype.is_float() else numbers).cast(pl.Int64, strict=False)


def first_true(mask: pl.Series) -> int | None:
    """The offset of the first true value."""
    found = mask.arg_true()
    return int(found[0]) if len(found) else None


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


_MOST_VALUES = 25
"""Scales of ratings have no more steps: 0 to 5 by quarters has 21."""
_GOOD = 0.7
"""A rating is good from here on, between the worst and the best: 4 of 5, 8 of 10."""


def rating_note(ratings: npt.NDArray[Any] | None) -> str | None:
    """One line about ratings that no threshold has cut; None if there is nothing to say.

    >>> rating_note(np.array([1, 2, 4, 5, 5]))
    'every rating counts as positive, 1 to 5; min_rating 4 (--min-rating) would keep 60 %'
    """
    if ratings is None or not len(ratings) or ratings.min() == ratings.max():
        return None
    return note_of_values(*np.unique(ratings, return_counts=True))


def note_of_values(values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> str | None:
    """The same from the distinct ratings, ascending, and how often each comes."""
    if len(values) < 2:
        return None
    total = int(counts.sum())
    said = [f"every rating counts as positive, {values[0]:g} to {values[-1]:g}"]
    bad = int(counts[values <= 0].sum())
    if bad:
        said[0] += f", {bad:,} of {total:,} of them 0 or less"
    threshold = _threshold(values)
    if threshold is None:
        said.append("they look like strengths: weight_column (--weight-column) would weigh by them")
    else:
        share = f"{counts[values >= threshold].sum() / total:.0%}".replace("%", " %")
        said.append(f"min_rating {threshold:g} (--min-rating) would keep {share}")
    return "; ".join(said)


def _threshold(values: npt.NDArray[Any]) -> float | None:
    """The least good value on a scale of ratings; None if they are not on one."""
    if values[0] < 0 < values[-1]:  # dislike and like
        return float(values[values > 0][0])
    if len(values) > _MOST_VALUES:
        return None
    good = values[0] + _GOOD * (values[-1] - values[0])
    return float(values[values >= good][0])


WEIGHT_SCALES = ("log", "none")
"""log: (1 + log(1 + w / median)) / mean; none: as they are."""


def scaled_weights(raw: npt.NDArray[Any], scale: str = "log") -> npt.NDArray[np.float32] | None:
    """The weights of pairs whose raw strengths these are; None if all weigh the same.

    >>> scaled_weights(np.array([1.0, 1.0, 100.0])).astype(float).round(2).tolist()
    [0.56, 0.56, 1.87]
    >>> scaled_weights(np.array([3.0, 3.0])) is None
    True
    """
    check_scale(scale)
    if len(raw) and raw.min() == raw.max():
        return None
    weights = raw.astype(np.float64)
    if scale == "log" and len(raw):
        weights = 1 + np.log1p(weights / np.median(weights))
        weights /= weights.mean()
    return weights.astype(np.float32)


def check_scale(scale: str) -> None:
    """Refuse a scale that is not known."""
    if scale not in WEIGHT_SCALES:
        raise OptionError(f"weight_scale is {scale!r}: use {' or '.join(WEIGHT_SCALES)}.")


def summed_weights(
    raw: npt.NDArray[Any],
    pairs: npt.NDArray[np.int64],
    order: npt.NDArray[np.integer],
    parts: npt.NDArray[np.int8] | None,
) -> npt.NDArray[np.float64]:
    """The strength of each pair that was kept: the sum over the rows that were merged into it.

    raw: of each row; pairs: a number for each row, the same for equal pairs, ascending over
    `order`, the rows that were kept. Only rows of the same part count. Equal rows in another
    order give the same bits: they are summed by size.
    """
    kept = np.searchsorted(pairs[order], pairs)
    if parts is not None:
        inside = parts == parts[order][kept]
        kept, raw = kept[inside], raw[inside]
    by_size = np.lexsort((raw, kept))
    starts = np.searchsorted(kept[by_size], np.arange(len(order)))
    sums: npt.NDArray[np.float64] = np.add.reduceat(raw[by_size].astype(np.float64), starts)
    return sums


def parse_since(value: Any) -> int:
    """A number as it is, without its fraction; a date or date-time as seconds since 1970 (UTC).

    >>> parse_since("2026-11-17"), parse_since("2026-11-17T10:00:00+02:00"), parse_since("17")
    (1794873600, 1794902400, 17)
    """
    text = str(value).strip()
    if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]*)?", text):
        return math.floor(float(text)) if "." in text else int(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(
            f"since is {quoted(value)}: give a date or a time, as 2026-11-17 or "
            "2026-11-17T08:00:00Z, or the number that the column of times has."
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return math.floor(moment.timestamp())
