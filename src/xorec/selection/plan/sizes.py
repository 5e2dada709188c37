"""The sizes of data, which forecasts hang on: given, or read with as little work as will do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.data.interactions import Interactions

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
        return cls(
            data.n_users,
            data.n_items,
            data.n_pairs,
            _spread(data.user_counts),
            _spread(data.item_counts),
        )

    def row(self) -> dict[str, Any]:
        """Flat, for JSON."""
        return asdict(self)

    def per_row(self, kind: str) -> npt.NDArray[np.float64]:
        """Pairs of typical users or items: some points of a log-normal with this mean and spread,
        each of the same number of rows. Their sum is that of all pairs."""
        rows, spread = (
            (self.users, self.user_spread) if kind == "users" else (self.items, self.item_spread)
        )
        return lognormal_points(self.pairs / max(1, rows), spread)


def lognormal_points(mean: float, spread: float) -> npt.NDArray[np.float64]:
    """Values in the middle of equally likely parts, with exactly this mean.

    >>> float(np.mean(lognormal_points(20.0, 2.5)).round(6))
    20.0
    """
    from statistics import NormalDist

    sigma = np.sqrt(np.log(max(1.0, spread)))
    middle = NormalDist()
    at = np.array([middle.inv_cdf((place + 0.5) / _POINTS) for place in range(_POINTS)])
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
