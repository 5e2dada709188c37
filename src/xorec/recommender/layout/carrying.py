"""A map outlives an update: known items stay where they are, new ones come to the item most alike.

So that a map of a service does not turn round with every generation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xorec.recommender.layout.features import item_codes
from xorec.recommender.state import RecommenderState
from xorec.representations.codes import Codes

_AT_ONCE = 64


def carry_map(before: RecommenderState, after: RecommenderState) -> RecommenderState:
    """`after`, whose first rows are the items of `before`, with the places of `before`."""
    if before.places is None:
        return after
    known, total = len(before.items), len(after.items)
    places = np.zeros((total, 2), dtype=np.int16)
    places[:known] = before.places
    if total > known and after.representation.compares_items:
        coded = item_codes(after)
        among = Codes(coded[0], *coded) if coded else after.representation.among_items()
        for begin in range(known, total, _AT_ONCE):
            rows = np.arange(begin, min(total, begin + _AT_ONCE))
            likeness = among.score(among.queries(rows))[:, :known]
            places[rows] = places[likeness.argmax(axis=1)]
    said = before.metadata.get("map", {})
    about = {"layout": said.get("layout", "unknown"), "seed": said.get("seed", 0)}
    return replace(after, places=places, metadata={**after.metadata, "map": about})
