"""The sizes of DATA without reading more than it takes.

A data set of the catalogue tells them itself; a Parquet file or folder is counted column by column,
rows by its own metadata; anything else is read as a fit would read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xorec.data.datasets.catalog import CATALOG
from xorec.data.interactions import Interactions
from xorec.data.io.columns import choose_columns
from xorec.selection.plan.sizes import DataSizes

EXACT_ROWS = 50_000_000
"""Up to so many rows users and items are counted; of more they are estimated (within a tenth)."""
_ROLES = ("user", "item", "rating", "weight", "time", "split")


def data_sizes(
    data: str, columns: Mapping[str, Any], load: Callable[[], Interactions], *, whole: bool
) -> DataSizes:
    """columns: those that were given, by option. whole: something is left out of the rows, so that
    only reading tells what stays."""
    if data in CATALOG and not whole:
        entry = CATALOG[data]
        if not entry.embedded:
            return DataSizes(entry.users, entry.items, entry.pairs)
    elif not whole and (frame := _parquet(Path(data))) is not None:
        return _counted(frame, data, columns)
    return DataSizes.of(load())


def _parquet(path: Path) -> Any:
    """The table of a Parquet file, or of a folder with nothing else; None for all else."""
    import polars as pl

    if path.is_file() and path.suffix in (".parquet", ".pq"):
        return pl.scan_parquet(path, glob=False)
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if not one.name.startswith((".", "_")))
        if files and all(one.suffix == ".parquet" and one.is_file() for one in files):
            return pl.scan_parquet(files)
    return None


def _counted(frame: Any, name: str, given: Mapping[str, Any]) -> DataSizes:
    import polars as pl

    from xorec.core.errors import DataError

    wanted = {role: given.get(f"{role}_column") for role in _ROLES}
    try:
        chosen = choose_columns(tuple(frame.collect_schema().names()), wanted, name, ())
        rows = frame.select(pl.len()).collect().item()
        if rows == 0:
            raise DataError(f"{name} has no rows.")
        user, item = chosen.user, chosen.item
        if rows > EXACT_ROWS:
            counts = frame.select(pl.col(user, item).approx_n_unique())
            users, items = counts.collect(engine="streaming").row(0)
            return DataSizes(users, items, rows)
        (users, user_squares), (items, item_squares) = (
            frame.group_by(column)
            .len()
            .select(pl.len().alias("rows"), pl.col("len").cast(pl.Float64).pow(2).sum())
            .collect(engine="streaming")
            .row(0)
            for column in (user, item)
        )
        spreads = users * user_squares / rows**2, items * item_squares / rows**2
        return DataSizes(users, items, rows, *spreads)
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{name} cannot be read: {first}.") from None
