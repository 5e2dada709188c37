"""Python rows: (user, item), (user, item, rating) or (user, item, rating, time)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.io.columns import choose_columns
from xorec.data.io.formats.base import ObjectFormat, Source, Wanted
from xorec.data.io.formats.objects import as_series, column_source

if TYPE_CHECKING:
    import polars as pl

PAIRS = "the list of pairs"
_POSITIONS = ("user", "item", "rating", "time")


def _open(rows: Any, wanted: Wanted) -> Source:
    listed = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    if not listed:
        raise DataError(f"{PAIRS} is empty: give (user, item) pairs.")
    for number, row in enumerate(listed, start=1):
        is_row = isinstance(row, (tuple, list, np.ndarray)) and 2 <= len(row) <= 4
        if not is_row or len(row) != len(listed[0]):
            raise DataError(
                f"{PAIRS}, row {number:,}: {quoted(row)} is not like the others; give (user, "
                "item), or (user, item, rating), or (user, item, rating, time) in every row."
            )
    names = _POSITIONS[: len(listed[0])]
    columns: dict[str, pl.Series | list[Any]] = {
        name: as_series([row[at] for row in listed]) for at, name in enumerate(names)
    }
    chosen = choose_columns(names, {}, PAIRS, names)
    return replace(column_source(PAIRS, columns, ("user", "item")), chosen=chosen)


PAIR_ROWS = ObjectFormat(
    "(user, item) pairs",
    "Python rows `(user, item[, rating[, time]])`",
    lambda thing: isinstance(thing, Iterable) and not isinstance(thing, (bytes, dict)),
    _open,
)
