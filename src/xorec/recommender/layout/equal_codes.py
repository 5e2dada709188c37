"""Items with equal codes: one node of the layout, and a small round patch of the map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_TURN = np.pi * (3 - 5**0.5)
"""The golden angle: points at its multiples, at the roots of their numbers, fill a disc evenly."""


class EqualCodes(NamedTuple):
    """first: a row for each distinct code, the first of its items in tie order. of_item: the code
    of each item. place: of each item among those of its code, in tie order."""

    first: npt.NDArray[np.int64]
    of_item: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]

    @classmethod
    def of(cls, codes: npt.NDArray[np.uint64], tie_rank: npt.NDArray[np.int32]) -> EqualCodes:
        """
        >>> codes = np.array([[7], [3], [7]], dtype=np.uint64)
        >>> EqualCodes.of(codes, np.array([2, 1, 0], dtype=np.int32)).first.tolist()
        [1, 2]
        """
        order = np.lexsort((tie_rank, *codes.T[::-1]))
        ordered = codes[order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        starts = np.flatnonzero(begins)
        number = np.cumsum(begins) - 1
        of_item = np.empty(len(order), dtype=np.int64)
        place = np.empty_like(of_item)
        of_item[order], place[order] = number, np.arange(len(order)) - starts[number]
        return cls(order[starts], of_item, place)

    @classmethod
    def all_distinct(cls, n: int) -> EqualCodes:
        """Where nothing is equal."""
        rows = np.arange(n)
        return cls(rows, rows, np.zeros(n, dtype=np.int64))

    def spread(
        self, places: npt.NDArray[Any], apart: float, widest: float = np.inf
    ) -> npt.NDArray[np.float64]:
        """Places of all items from those of their codes: around them, `apart` from each other, or
        nearer where they would reach further than `widest`."""
        sizes = np.bincount(self.of_item)
        step = np.minimum(apart, widest / np.sqrt(sizes))[self.of_item]
        away, turn = step * np.sqrt(self.place), self.place * _TURN
        found = places[self.of_item].astype(np.float64)
        found[:, 0] += away * np.cos(turn)
        found[:, 1] += away * np.sin(turn)
        return found
