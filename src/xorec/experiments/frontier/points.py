"""Points of the trade: how good the lists are, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xorec.experiments.comparison import Contender


class Point(NamedTuple):
    """A row of a comparison; kind: of its representation."""

    label: str
    kind: str
    value: float
    bytes_per_item: float
    us_per_query: float

    @classmethod
    def of(cls, one: Contender, metric: str) -> Point:
        """The point of a model that was measured."""
        cost, kind = one.serving, one.model.representation_.kind
        return cls(one.label, kind, one.evaluation[metric], cost.bytes_per_item, cost.us_per_query)


def frontier(costs: Sequence[float], values: Sequence[float]) -> list[int]:
    """The places that none beats, the cheapest first: better than all that cost no more.

    >>> frontier([1.0, 2.0, 2.0, 3.0], [0.1, 0.3, 0.2, 0.3])
    [0, 1]
    """
    order = sorted(range(len(costs)), key=lambda place: (costs[place], -values[place]))
    best: list[int] = []
    for place in order:
        if not best or values[place] > values[best[-1]]:
            best.append(place)
    return best
