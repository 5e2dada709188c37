"""The sizes of data, which forecasts hang on: given, or read with as little work as will do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.data.datasets.catalog import CATALOG
from xorec.data.interactions import Interactions
from xorec.data.io.columns import choose_columns

USER_SPREAD, ITEM_SPREAD = 2.5, 8.0
"""Taken where sizes alone are known: about those of shops."""
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_POINTS = 128


@dataclass(frozen=True)
class DataSizes:
    """Users, items, pairs.

    user_spread: the mean of the squared pairs of a user over the square of the mean, at least 1;
    item_spread: the same of items. Both say how long the long histories are.
    """

    users: int
    items: int
    pairs: int
    user_spread: float = USER_SPREAD
    item_spread: float = ITEM_SPREAD

    @classmethod
    def of(cls, data: Interactions) -> DataSizes:
        """Those of data that are here."""
        spreads = _spread(data.user_counts), _spread(data.item_counts)
        return cls(data.n_users, data.n_items, data.n_pairs, *spreads)

    def per_row(self, kind: str) -> npt.NDArray[np.float64]:
        """Pairs of typical users or items: some points of a log-normal with this mean and spread,
        each of the same number of rows. Their sum is that of all pairs."""
        if kind == "users":
            return lognormal_points(self.pairs / max(1, self.users), self.user_spread)
        return lognormal_points(self.pairs / max(1, self.items), self.item_spread)


def lognormal_points(mean: float, spread: float) -> npt.NDArray[np.float64]:
    """Values in the middle of equally likely parts, with exactly this mean.

    >>> float(np.mean(lognormal_points(20.0, 2.5)).round(6))
    20.0
    """
    sigma, normal = np.sqrt(np.log(max(1.0, spread))), NormalDist()
    at = np.array([normal.inv_cdf((point + 0.5) / _POINTS) for point in range(_POINTS)])
    values = np.exp(sigma * at)
    points: npt.NDArray[np.float64] = mean * values / values.mean()
    return points


def parse_count(text: str, option: str) -> int:
    """`100M` as a number.

    >>> parse_count("100M", "--users"), parse_count("1.5G", "--pairs"), parse_count("7,000", "-")
    (100000000, 1500000000, 7000)
    """
    plain = text.strip().replace(",", "").replace("_", "")
    unit = plain[-1:] if plain[-1:] in _UNITS else ""
    try:
        value = float(plain.removesuffix(unit)) * _UNITS[unit]
        if not 1 <= value <= 1e15:
            raise ValueError
    except (ValueError, OverflowError):
        raise OptionError(
            f"{option} is {text!r}: give a number of 1 or more, for example 250k, 10M or 1.5G."
        ) from None
    return round(value)


def given_sizes(users: str | None, items: str | None, pairs: str | None) -> DataSizes:
    """Those of data that are nowhere yet."""
    if users is None or items is None or pairs is None:
        raise OptionError(
            "give DATA, or all of --users, --items and --pairs, for example --users 100M --items "
            "10M --pairs 10G."
        )
    found = DataSizes(
        parse_count(users, "--users"), parse_count(items, "--items"), parse_count(pairs, "--pairs")
    )
    if found.pairs > found.users * found.items:
        raise OptionError(
            f"{found.users:,} users and {found.items:,} items have at most "
            f"{found.users * found.items:,} pairs, not {found.pairs:,}."
        )
    return found


def _spread(counts: npt.NDArray[np.integer]) -> float:
    if len(counts) == 0 or counts.sum() == 0:
        return 1.0
    values = counts.astype(np.float64)
    return float(np.mean(values**2) / np.mean(values) ** 2)


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

    wanted = {role: given.get(f"{role}_column") for role in _ROLES}
    try:
        chosen = choose_columns(tuple(frame.collect_schema().names()), wanted, name, ())
        rows = frame.select(pl.len()).collect().item()
        if rows == 0:
            raise DataError(f"{name} has no rows.")
        if rows > EXACT_ROWS:
            counts = frame.select(pl.col(chosen.user, chosen.item).approx_n_unique())
            users, items = counts.collect(engine="streaming").row(0)
            return DataSizes(users, items, rows)
        (users, user_squares), (items, item_squares) = (
            frame.group_by(column)
            .len()
            .select(pl.len().alias("rows"), pl.col("len").cast(pl.Float64).pow(2).sum())
            .collect(engine="streaming")
            .row(0)
            for column in (chosen.user, chosen.item)
        )
        spreads = users * user_squares / rows**2, items * item_squares / rows**2
        return DataSizes(users, items, rows, *spreads)
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{name} cannot be read: {first}.") from None
