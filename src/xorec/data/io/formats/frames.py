"""Data frames of any library, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.core.printable import listed
from xorec.data.io.columns import choose_columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted
from xorec.data.io.formats.objects import as_series, column_source

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

FRAME = "the data frame"


def as_frame(thing: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """A pandas, polars, Arrow or other frame as narwhals sees it; None if it is none."""
    import narwhals as nw

    try:
        frame = nw.from_native(thing, pass_through=True)
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"{FRAME} cannot be read: {error}") from None
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def frame_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> tuple[str, ...]:
    """The names of the columns."""
    names = tuple(frame.collect_schema().names())
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{FRAME} has columns called {listed(names)}: give them names that are text."
        )
    return names


def open_frame(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Sequence[str], ids: Sequence[str] = ()
) -> Source:
    """The columns `names` of a frame as a Source; `ids` are those that hold raw ids."""
    import narwhals as nw
    import polars as pl

    selected = frame.select(*dict.fromkeys(names))
    if isinstance(selected, nw.LazyFrame):
        selected = selected.collect("polars")
    native = selected.to_native()
    _require_valid(native)
    if isinstance(native, pl.DataFrame):
        return Source(FRAME, native.lazy(), tuple(native.columns))
    columns = {name: _series(selected[name]) for name in selected.columns}
    return column_source(FRAME, columns, ids)


def _require_valid(native: Any) -> None:
    """Refuse an Arrow table whose offsets or text are not what it says: all trust it."""
    validate = getattr(native, "validate", None)
    if not type(native).__module__.startswith("pyarrow") or validate is None:
        return
    try:
        validate(full=True)
    except ValueError as error:  # ArrowInvalid is one
        raise DataError(f"{FRAME} is broken: {error}.") from None


def _open(thing: Any, wanted: Wanted) -> Source:
    frame = as_frame(thing)
    assert frame is not None
    columns = choose_columns(frame_columns(frame), wanted, FRAME, ())
    in_use = list(columns.in_use().values())
    return replace(open_frame(frame, in_use, (columns.user, columns.item)), chosen=columns)


def _series(column: nw.Series[Any]) -> pl.Series | list[Any]:
    """A column as polars holds it; Python objects stay Python objects."""
    import narwhals as nw

    if column.dtype in (nw.Object, nw.Unknown) or _has_odd_categories(column):
        return as_series(column.to_list())
    try:
        return column.to_polars()
    except ImportError:  # pandas needs pyarrow for all but plain numbers
        return _without_arrow(column)
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # Arrow makes nothing of it
        return as_series(column.to_list())


def _without_arrow(column: nw.Series[Any]) -> pl.Series | list[Any]:
    """A column of pandas where pyarrow is not installed: by way of NumPy or of Python's values."""
    import narwhals as nw
    import polars as pl

    if isinstance(column.dtype, nw.Datetime):
        times = pl.Series(column.to_numpy().astype("datetime64[us]"))
        return _in_zone(times, column.dtype.time_zone)
    is_null = column.is_null().to_list()  # NaN, NaT and pandas.NA alike
    pairs = zip(column.to_list(), is_null, strict=True)
    return as_series([None if null else value for value, null in pairs])


def _in_zone(times: pl.Series, zone: str | None) -> pl.Series:
    """Times of UTC in this zone; of one that polars does not know ("UTC+02:00") they stay UTC."""
    import polars as pl

    if zone is None:
        return times
    aware = times.dt.replace_time_zone("UTC")
    try:
        return aware.dt.convert_time_zone(zone)
    except pl.exceptions.ComputeError:
        return aware


def _has_odd_categories(column: nw.Series[Any]) -> bool:
    """Whether a pandas column has categories that are not all text: some crash Arrow."""
    categories = getattr(getattr(column.to_native(), "cat", None), "categories", ())
    return any(type(one) is not str for one in categories)


FRAMES = ObjectFormat(
    "a data frame",
    "pandas, polars, Arrow and other frames (through narwhals)",
    lambda thing: as_frame(thing) is not None,
    _open,
)
