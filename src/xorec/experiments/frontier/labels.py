"""Where labels go: beside their points, none on another, on a point or, if it can be, on a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_DISTANCES = (7.0, 14.0, 24.0, 36.0, 50.0, 70.0)
_ROUNDS = 6
_FORBIDDEN, _ON_A_LINE = 1000.0, 25.0


class Box(NamedTuple):
    """A rectangle: its left and lower, its right and upper ends."""

    left: float
    low: float
    right: float
    high: float

    def grown(self, by: float) -> Box:
        """The same with a margin."""
        return Box(self.left - by, self.low - by, self.right + by, self.high + by)

    def meets(self, other: Box) -> bool:
        """Whether they have an area in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high

    def holds(self, other: Box) -> bool:
        """Whether the other is inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.low <= other.low and other.high <= self.high


def centre_box(x: float, y: float, size: Sequence[float]) -> Box:
    """The box of a (width, height) around a centre."""
    return Box(x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)


class Surroundings(NamedTuple):
    """What labels keep clear of: the edge of the area, the marks of points, and lines."""

    area: Box
    marks: Sequence[Box]
    lines: Sequence[Box]

    def cost(self, box: Box, labels: Sequence[Box]) -> float:
        """How bad a label is here."""
        met = sum(box.meets(other) for other in (*self.marks, *labels))
        crossed = sum(box.meets(line) for line in self.lines)
        outside = not self.area.holds(box)
        return _FORBIDDEN * (met + outside) + _ON_A_LINE * crossed


def place_labels(
    points: npt.NDArray[np.float64], sizes: Sequence[Sequence[float]], around: Surroundings
) -> list[Box]:
    """A box for the label of each point: the nearest that is free, better ones in some rounds.

    points: (n, 2), sizes: width and height of each label, all in pixels.
    """
    placed: list[Box] = []
    for _ in range(_ROUNDS):
        before = list(placed)
        for at, (x, y) in enumerate(points.tolist()):
            others = [box for place, box in enumerate(placed) if place != at]
            costs = [
                (around.cost(box, others) + distance, turn, box)
                for distance in _DISTANCES
                for turn, box in enumerate(_around(x, y, sizes[at], distance))
            ]
            best = min(costs, key=lambda cost: cost[:2])[2]
            placed[at : at + 1] = [best]
        if placed == before:
            break
    return placed


def _around(x: float, y: float, size: Sequence[float], distance: float) -> list[Box]:
    """The boxes that a label may have at this distance of its point, the best first."""
    width, height = size
    return [
        centre_box(x + right * (distance + width / 2), y + up * (distance + height / 2), size)
        for right, up in _DIRECTIONS
    ]
