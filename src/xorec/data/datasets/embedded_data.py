"""The data set that comes with xorec: its tables are sorted and distinct, so they are the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.core.memory import require_address_space
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.text import Text

if TYPE_CHECKING:
    import polars as pl


def read_embedded(interactions: Path, items_table: Path) -> Interactions:
    """The interactions of the two files."""
    require_address_space()
    import polars as pl

    pairs, table = pl.read_parquet(interactions), pl.read_parquet(items_table)
    runs = pairs["user"].rle().struct.unnest()
    users, items = Ids.from_series(runs["value"]), Ids.from_series(table["item"])
    indptr = np.zeros(len(users) + 1, dtype=np.int64)
    np.cumsum(runs["len"].to_numpy(), out=indptr[1:])
    labels = table["category"].unique().sort()
    categories = Categories(
        Text.pack(labels),
        np.arange(len(items) + 1, dtype=np.int64),
        _rows_in(labels, table["category"]),
    )
    return Interactions(
        users,
        items,
        indptr,
        _rows_in(table["item"], pairs["item"]),
        names=items.values if isinstance(items.values, Text) else None,
        categories=categories,
    )


def _rows_in(values: pl.Series, series: pl.Series) -> npt.NDArray[np.int32]:
    """Where each value of `series` stands in `values`."""
    import polars as pl

    return series.cast(pl.Enum(values)).to_physical().to_numpy().astype(np.int32)
