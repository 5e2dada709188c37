"""Python objects that hold no honest interactions: rows, frames and matrices, made by chance."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

Made = tuple[str, Callable[[], Any]]

_VALUES: tuple[tuple[Any, ...], ...] = (
    (0, 1, 7, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**127, 10**400, 10**5000),
    (0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 1e300, 5e-324, 2.0**53),
    ("a", "b", "", " ", "\0", "a\0", "\ud800", "\udc80", "\ufeff", "\u202e", "7", "007", "nan"),
    ("x" * 5000, "\x1b[31m", "\U0001f600", "=cmd", "1e400", "2020-01-01", "None", "-", "NA"),
    (b"a", b"\xff", b"", b"\0"),
    (None, True, False),
    (date(2020, 1, 1), date.min, date.max),
    (datetime(2020, 1, 1), datetime.max, datetime.min, datetime(2020, 1, 1, tzinfo=UTC)),
    (timedelta.max, time(1, 2)),
    (UUID(int=0), UUID(int=2**128 - 1)),
    (Decimal("1.5"), Decimal("nan"), Decimal("1e1000")),
    (1 + 2j, [], ["a"], {}, {"a": 1}, (1, 2), {1}, object(), Ellipsis, int),
    (np.int64(3), np.float32(1.5), np.str_("n"), np.datetime64("2020-01-01"), np.bool_(True)),
    (np.datetime64("NaT"), np.float64("nan"), np.array([1, 2]), np.uint64(2**64 - 1)),
)


def _values(rng: np.random.Generator, count: int) -> list[Any]:
    """Values of one kind, with some of another now and then."""
    kinds = [_VALUES[int(rng.integers(len(_VALUES)))]]
    if rng.random() < 0.4:
        kinds.append(_VALUES[int(rng.integers(len(_VALUES)))])
    pool = [value for kind in kinds for value in kind]
    if rng.random() < 0.5:  # few of them, so that a column can be good
        pool = [pool[int(rng.integers(len(pool)))] for _ in range(2)]
    return [pool[int(rng.integers(len(pool)))] for _ in range(count)]


def altered_object(rng: np.random.Generator) -> tuple[str, Any]:
    """(what it is, the object). What its own library does not make is tried again."""
    makers = (_rows, _rows, _frame, _frame, _frame, _matrix, _matrix)
    while True:
        what, make = makers[int(rng.integers(len(makers)))](rng)
        try:
            return what, make()
        except BaseException as error:  # polars panics
            if isinstance(error, KeyboardInterrupt):
                raise


def _rows(rng: np.random.Generator) -> Made:
    width, count = int(rng.integers(2, 5)), int(rng.integers(1, 8))
    columns = [_values(rng, count) for _ in range(width)]
    if rng.random() < 0.6:
        columns[0] = [f"u{at % 3}" for at in range(count)]
    rows: list[Any] = list(zip(*columns, strict=True))
    kind = int(rng.integers(7))
    if kind == 0:
        rows[-1] = rows[-1][:-1]
    elif kind == 1:
        rows[-1] = _values(rng, 1)[0]
    container = (list, tuple, iter, lambda given: np.array(given, dtype=object), list)[kind % 5]
    return f"rows of {width}", lambda: container(rows)


def _columns(rng: np.random.Generator) -> dict[Any, list[Any]]:
    count = int(rng.choice([0, 1, 5]))
    names: list[Any] = ["user", "item", "rating", "time", "split"][: int(rng.integers(2, 6))]
    if rng.random() < 0.2:
        names[int(rng.integers(len(names)))] = ["", "\x1b[2J", 7, None, ("a", "b"), "x" * 5000][
            int(rng.integers(6))
        ]
    columns = {name: _values(rng, count) for name in names}
    for at, name in enumerate(names[:2]):
        if rng.random() < 0.6:
            columns[name] = [f"{at}{n % 3}" for n in range(count)]
    return columns


_KINDS = {
    "pandas": ["object", "", "category", "string", "Int64", "float64", "datetime64[ns]"],
    "polars": ["Binary", "Categorical", "Int128", "UInt64", "Duration", "Null", "lazy", "nested"],
    "arrow": ["dictionary", "no-utf8", "structs", "nulls", "far-times", "plain"],
}
"""Of the columns of a frame, by its library."""


def _frame(rng: np.random.Generator) -> Made:
    library, columns = str(rng.choice(list(_KINDS))), _columns(rng)
    kind = str(rng.choice(_KINDS[library]))
    makers: dict[str, Callable[[dict[Any, list[Any]], str], Any]]
    makers = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}
    if library != "pandas":
        columns = {str(name): values for name, values in columns.items()}
    said = f"{library} {kind} {list(columns)!r:.100}"
    return said, lambda: makers[library](columns, kind)


def _pandas(columns: dict[Any, list[Any]], kind: str) -> Any:
    import pandas as pd

    series = {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    for name in series:
        if name not in ("user", "item") or kind == "category":
            with suppress(Exception):  # what pandas does not take stays objects
                series[name] = pd.Series(columns[name], dtype=kind or None)
    frame = pd.DataFrame(series)
    if len(columns) == 4:
        frame.index = [0] * len(frame)
    if len(columns) == 5 and kind == "":
        frame.columns = ["user", "user", *list(frame.columns)[2:]]
    return frame


def _polars(columns: dict[str, list[Any]], kind: str) -> Any:
    import polars as pl

    series = []
    for name, values in columns.items():
        try:
            one = pl.Series(name, values, strict=False)
        except BaseException:  # what polars does not take is no frame
            one = pl.Series(name, [str(at) for at in range(len(values))])
        if name != "user" and hasattr(pl, kind):
            with suppress(BaseException):  # it stays what it was
                one = one.cast(getattr(pl, kind), strict=False)
        is_nested = kind == "nested" and name == "item" and len(one) == 1
        series.append(one.implode() if is_nested else one)
    frame = pl.DataFrame(series)
    return frame.lazy() if kind == "lazy" else frame


def _arrow(columns: dict[str, list[Any]], kind: str) -> Any:
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        arrays[name] = pa.array([str(at) for at in range(len(values))])
        with suppress(Exception):  # what Arrow does not take; it crashes on mixed NumPy values
            arrays[name] = pa.array([v.item() if isinstance(v, np.generic) else v for v in values])
    count = len(next(iter(arrays.values())))
    if kind == "dictionary":
        arrays["user"] = pa.array(["a"] * count).dictionary_encode()
    elif kind == "no-utf8" and count:
        offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32))
        arrays["user"] = pa.StringArray.from_buffers(count, offsets, pa.py_buffer(b"\xff" * count))
    elif kind == "structs":
        arrays["item"] = pa.array([{"a": 1}] * count)
    elif kind == "nulls":
        arrays["item"] = pa.nulls(count)
    elif kind == "far-times":
        arrays["time"] = pa.array([2**62] * count, type=pa.timestamp("ns"))
    return pa.table(arrays)


_WILD = (-1, 0, 1, 3, 5, 10**6, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))


def _matrix(rng: np.random.Generator) -> Made:
    """A SciPy matrix whose arrays were put in behind its back."""
    kind = str(rng.choice(["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]))
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    dtype = str(
        rng.choice(["float32", "int64", "bool", "complex128", "object", "float64", "uint8"])
    )
    dense = rng.integers(0, 3, shape)
    changes = [_matrix_change(rng) for _ in range(int(rng.integers(1, 3)))]

    def make() -> Any:
        import scipy.sparse as sparse

        matrix: Any = getattr(sparse, f"{kind}_array")(dense.astype(dtype))
        for name, change in changes:
            if hasattr(matrix, name):
                try:
                    setattr(matrix, name, change(getattr(matrix, name)))
                except Exception:  # SciPy does not let us
                    continue
        return matrix

    return f"{kind} {dtype} {dense.shape} {[name for name, _ in changes]}", make


def _matrix_change(rng: np.random.Generator) -> tuple[str, Callable[[Any], Any]]:
    names = ("indptr", "indices", "data", "row", "col", "coords", "rows", "offsets", "_shape")
    name, value = str(rng.choice(names)), int(rng.choice(_WILD))
    kind, seed = int(rng.integers(9)), int(rng.integers(2**31))

    def change(old: Any) -> Any:
        if name == "_shape":
            return ((value, 2), (2, value), (2**31, 2**31), (0, 0), (3,))[kind % 5]
        if name == "coords":
            return tuple(change_array(one) for one in old)
        return change_array(old)

    def change_array(old: Any) -> Any:
        array = np.array(old, copy=True)
        is_object = array.dtype == object
        changes: tuple[Callable[[], Any], ...] = (
            lambda: array[: len(array) // 2],
            lambda: np.concatenate([array, array]),
            lambda: array[::-1],
            lambda: np.full(array.shape, value, dtype=np.int64),
            lambda: array[:0] if is_object else array.astype(np.float64) + 0.5,
            lambda: np.full(array.shape, np.nan),
            lambda: array[None],
        )
        if kind < len(changes):
            return changes[kind]()
        if not array.size or is_object:
            return array[:0]
        wide = array.astype(np.int64) if array.dtype.kind in "iub" else array
        wide.reshape(-1)[seed % array.size] = value
        return wide

    return name, change
