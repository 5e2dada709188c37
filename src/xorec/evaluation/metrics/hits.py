"""Hits, test items among the k best: recall, precision and both readings of the hit rate; exposure.

Expected hits of a group of equals: r / tied for each place inside k. Exposure, how items share the
places of all lists: coverage and the Gini coefficient.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.evaluation.metrics.base import (
    Cuts,
    Floats,
    ItemMetric,
    RankedTests,
    UserMetric,
    group_end,
)


@kernel
def hits(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """The number of hits."""
    for user in range(len(out)):
        count, end = 0, tests.indptr[user + 1] - tests.indptr[user]
        ranks = tests.ranks[tests.indptr[user] : tests.indptr[user + 1]]
        for slot in range(len(cuts.ks)):  # ascending, so each goes on from the one before
            while count < end and ranks[count] <= cuts.ks[slot]:
                count += 1
            out[user, slot] = count


@kernel
def expected_hits(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """The expected number of hits."""
    for user in range(len(out)):
        end = tests.indptr[user + 1]
        for slot in range(len(cuts.ks)):
            k, count, at = cuts.ks[slot], 0.0, tests.indptr[user]
            while at < end and tests.above[at] < k:
                past = group_end(tests.above, at, end)
                start, size = np.int64(tests.above[at]), np.int64(tests.tied[at])
                count += (past - at) * (min(k, start + size) - start) / size
                at = past
            out[user, slot] = count


@kernel
def expected_any_hit(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """The probability of a hit: place p of a group has the first with r / (tied - p)."""
    for user in range(len(out)):
        end = tests.indptr[user + 1]
        for slot in range(len(cuts.ks)):
            k, none_yet, at = cuts.ks[slot], 1.0, tests.indptr[user]
            while at < end and tests.above[at] < k and none_yet > 0.0:
                past = group_end(tests.above, at, end)
                start, size = np.int64(tests.above[at]), np.int64(tests.tied[at])
                for place in range(min(k, start + size) - start):
                    none_yet *= 1.0 - (past - at) / (size - place)
                at = past
            out[user, slot] = 1.0 - none_yet


RECALL = UserMetric("recall", "hits / T", hits, expected_hits, scale=lambda h, t, k: h / t)
PRECISION = UserMetric("precision", "hits / k", hits, expected_hits, scale=lambda h, t, k: h / k)
HR = UserMetric("hr", "hits", hits, expected_hits, pooled=True, per_user="hits")
USER_HR = UserMetric(
    "user_hr", "1 if there is a hit", hits, expected_any_hit, scale=lambda h, t, k: np.minimum(h, 1)
)


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
