"""The metrics of one user's ranking, as plain functions of ranks.

A user has `n_test` relevant items (the test part); `ranks` are the places, 1-based and ascending,
of those that were found. Conventions of the public numbers (BASELINES.md, part 1):

    DCG@k       = sum of 1 / log2(rank + 1) over hits
    NDCG@k      = DCG@k / DCG of min(k, n_test) hits at the top
    Recall@k    = hits / n_test
    Precision@k = hits / k
    MRR@k       = 1 / rank of the first hit, 0 if there is none in k
    AP@k        = sum over hits of (hits so far / rank) / min(k, n_test)

Over users all of these are averaged. HR@k comes in two readings: `hr@k` = all hits / all test
items (micro), `user_hr@k` = the share of users with a hit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HITS, NDCG, USER_HR, MRR, MAP = range(5)
"""The columns that the kernels fill; recall, precision and hr follow from the hits."""
COLUMNS = ("hits", "ndcg", "user_hr", "mrr", "map")


def discounts(length: int) -> Floats:
    """1 / log2(rank + 1) for the ranks 1 .. length."""
    return 1.0 / np.log2(np.arange(2, length + 2, dtype=np.float64))


def ideal_dcg(length: int) -> Floats:
    """DCG of 0 .. length hits at the very top, (length + 1,)."""
    return np.concatenate([[0.0], np.cumsum(discounts(length))])


@kernel
def ranked_metrics(
    ranks: Ints, n_test: int, ks: Ints, discount: Floats, ideal: Floats, out: Floats
) -> None:
    """Fill `out` (columns, len(ks)) for one user whose found items stand at `ranks`."""
    for slot in range(len(ks)):
        k = ks[slot]
        hits, dcg, precisions = 0, 0.0, 0.0
        for rank in ranks:
            if rank > k:
                break
            hits += 1
            dcg += discount[rank - 1]
            precisions += hits / rank
        best = min(k, n_test)
        out[HITS, slot] = hits
        out[NDCG, slot] = dcg / ideal[best]
        out[USER_HR, slot] = 1.0 if hits > 0 else 0.0
        out[MRR, slot] = 1.0 / ranks[0] if hits > 0 else 0.0
        out[MAP, slot] = precisions / best


def gini(exposure: npt.NDArray[np.integer]) -> float:
    """Gini coefficient of how often each item is shown: 0 all alike, near 1 a few take all.

    sum over items, ascending by exposure x_i, of (2 i - m - 1) x_i / (m sum x), in whole numbers;
    equal exposures are taken together, so nothing is sorted.
    """
    m, total = len(exposure), int(exposure.sum())
    if total == 0:
        return 0.0
    items = np.bincount(exposure)
    fewer = np.cumsum(items) - items
    weighted = np.arange(len(items)) * items * (2 * fewer + items - m)
    return int(weighted.sum()) / (m * total)


def coverage(exposure: npt.NDArray[np.integer]) -> float:
    """The share of all items that are shown to anyone."""
    return float(np.count_nonzero(exposure)) / len(exposure)
