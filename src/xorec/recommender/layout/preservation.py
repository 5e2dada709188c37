"""How good a map is: which share of an item's nearest neighbours lie near it there, too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.recommender.layout.neighbour_graph import nearest_items
from xorec.recommender.similarity import SimilarityIndex

_SAMPLE = 1000


def kept_neighbours(
    compared: SimilarityIndex,
    places: npt.NDArray[np.int16],
    cuts: tuple[int, ...] = (10, 50),
    k: int = 10,
    options: RunOptions | None = None,
) -> dict[int, float]:
    """By cut: which share of the k nearest of 1,000 items are among the `cut` nearest on the map.

    Items are evenly spaced rows. The nearest are those of the tie rule; on the map, ties go by row.
    """
    n = len(places)
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
    near = nearest_items(compared, rows, k, options or RunOptions())
    x, y = places[:, 0].astype(np.float32), places[:, 1].astype(np.float32)
    deepest = min(max(cuts), n - 1)
    kept = dict.fromkeys(cuts, 0)
    for row, wanted in zip(rows.tolist(), near, strict=True):
        distance = np.square(x - x[row]) + np.square(y - y[row])
        distance[row] = np.inf
        some = np.argpartition(distance, deepest - 1)[:deepest] if deepest < n else np.arange(n)
        some = some[np.argsort(distance[some], kind="stable")]
        for cut in cuts:
            kept[cut] += len(np.intersect1d(some[:cut], wanted[wanted >= 0]))
    return {cut: kept[cut] / max(1, int((near >= 0).sum())) for cut in cuts}
