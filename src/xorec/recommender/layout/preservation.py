"""How good a map is: which share of an item's nearest neighbours lie near it there, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.representations.base import Representation

_SAMPLE = 500
_AT_ONCE = 16


def kept_neighbours(
    among_items: Representation,
    places: npt.NDArray[np.int16],
    cuts: tuple[int, ...] = (10, 50),
    k: int = 10,
) -> dict[int, float]:
    """By cut: which share of the k nearest of 500 items are among the `cut` nearest on the map.

    Items are evenly spaced rows. Whoever is as near as the k-th counts as one of the nearest, k at
    most: codes have many ties, and none of them is more of a neighbour than another. On the map,
    ties go by row.
    """
    n = len(places)
    k, deepest = min(k, n - 1), min(max(cuts), n - 1)
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
    x, y = places[:, 0].astype(np.float32), places[:, 1].astype(np.float32)
    kept = dict.fromkeys(cuts, 0)
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE]
        scores = among_items.score(among_items.queries(some))
        for row, likeness in zip(some.tolist(), scores, strict=True):
            distance = np.square(x - x[row]) + np.square(y - y[row])
            distance[row], likeness[row] = np.inf, -np.inf
            near = np.argpartition(distance, deepest - 1)[:deepest]
            near = near[np.argsort(distance[near], kind="stable")]
            is_near = likeness[near] >= np.partition(likeness, n - k)[n - k]
            for cut in cuts:
                kept[cut] += min(k, int(is_near[:cut].sum()))
    return {cut: kept[cut] / max(1, k * len(rows)) for cut in cuts}
