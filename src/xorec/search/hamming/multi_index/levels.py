"""Levels: the items of one lag, with tables of their own, or few enough to be scanned.

An item at effective distance e, its lag on top, has bits that differ in e less its lag: the tables
of a level need a radius that is smaller by the level's lag. The few items of large offsets are near
from afar, the many others only from nearby; in tables of all items together, all of them would be
looked for from afar.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Offsets
from xorec.search.filters import Rows

Numbers = npt.NDArray[np.int64]


class Level(NamedTuple):
    """members (n,): the tie positions of the items of this lag, ascending.

    tables: how many they have; 0: they are scanned, together with those of other such levels.
    """

    lag: int
    tables: int
    members: Rows


def positions_by_lag(offsets: Offsets, rows: Rows) -> list[Rows]:
    """The tie positions of each lag, ascending; all of them at lag 0 where there are no offsets.

    >>> [part.tolist() for part in positions_by_lag(np.array([0, 2, 0], np.uint8), np.arange(3))]
    [[1], [], [0, 2]]
    """
    if not len(offsets):
        return [np.arange(len(rows), dtype=np.int32)]
    lags = offsets.max() - offsets[rows]
    order = np.argsort(lags, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(lags, minlength=int(offsets.max()) + 1))
    return np.split(order, ends[:-1])


def levels_of(offsets: Offsets, rows: Rows, tables: tuple[int, ...]) -> list[Level]:
    """The levels that have items; tables: how many each has, by lag."""
    parts = positions_by_lag(offsets, rows)
    return [
        Level(lag, count, members)
        for lag, (count, members) in enumerate(zip(tables, parts, strict=True))
        if len(members)
    ]


def scanned_of(levels: list[Level]) -> Rows:
    """The tie positions of all scanned levels, the least lag first."""
    parts = [level.members for level in levels if not level.tables]
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])
