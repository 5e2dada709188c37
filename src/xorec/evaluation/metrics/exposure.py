"""How the items share the places of all lists: coverage and the Gini coefficient."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.evaluation.metrics.base import ItemMetric


def coverage(exposure: npt.NDArray[np.integer]) -> float:
    """The share of all items that are shown to anyone.

    >>> coverage(np.array([0, 5, 1, 0]))
    0.5
    """
    return float(np.count_nonzero(exposure)) / len(exposure)


def gini(exposure: npt.NDArray[np.integer]) -> float:
    """Gini coefficient of how often each item is shown: 0 all alike, near 1 a few take all.

    sum over items, ascending by exposure x_i, of (2 i - m - 1) x_i / (m sum x), in whole numbers;
    equal exposures are taken together, so nothing is sorted.

    >>> gini(np.array([0, 0, 0, 8]))
    0.75
    """
    m, total = len(exposure), int(exposure.sum())
    if total == 0:
        return 0.0
    items = np.bincount(exposure)
    fewer = np.cumsum(items) - items
    weighted = np.arange(len(items)) * items * (2 * fewer + items - m)
    return int(weighted.sum()) / (m * total)


COVERAGE = ItemMetric("coverage", "share of all items that are shown to anyone", coverage)
GINI = ItemMetric("gini", "Gini coefficient of how often each item is shown, over all items", gini)
