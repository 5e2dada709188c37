"""NDCG for each category of items: do rare categories fare as well as frequent ones?

For category c the relevant items of a user are its test items of category c, and only users who
have one count. The ranking stays the one the user sees: all items, seen ones out. So test items
of other categories take places as any other item does, and even a perfect ranking of a user with
test items in several categories stays below 1 in some of them; what one compares is models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.kernels import kernel
from xorec.data.categories import Categories
from xorec.data.interactions import UserItems
from xorec.evaluation.metrics.base import Cuts, Ints
from xorec.evaluation.metrics.by_rank import expected_gain
from xorec.evaluation.rankings import Rankings


class ItemLabels(NamedTuple):
    """The categories of item i are `indices[indptr[i]:indptr[i + 1]]`."""

    indptr: Ints
    indices: npt.NDArray[np.int32]


@kernel
def category_sums(
    tests: UserItems, places: Any, labels: ItemLabels, cuts: Cuts, counts: Any, sums: Any
) -> None:
    """Add up `counts` (categories, 2) = users, test items; `sums` (categories, 2, K) = NDCG.

    tests, places: of `Rankings`. The second index of sums: 0 under the tie rule, 1 expected.
    """
    ks = cuts.ks
    n_categories = counts.shape[0]
    relevant = np.zeros(n_categories, np.int64)
    gains = np.zeros((n_categories, 2, len(ks)))
    touched = np.empty(n_categories, np.int64)
    for user in range(len(tests.indptr) - 1):
        n_touched = 0
        for t in range(tests.indptr[user], tests.indptr[user + 1]):
            rank, above, tied = places[t, 0], places[t, 1], places[t, 2]
            item = tests.items[t]
            for at in range(labels.indptr[item], labels.indptr[item + 1]):
                c = labels.indices[at]
                if relevant[c] == 0:
                    touched[n_touched] = c
                    n_touched += 1
                relevant[c] += 1
                for slot in range(len(ks)):
                    if 0 < rank <= ks[slot]:
                        gains[c, 0, slot] += cuts.discount[rank - 1]
                    if tied > 0:
                        gains[c, 1, slot] += expected_gain(above, tied, ks[slot], cuts.discount)
        for c in touched[:n_touched]:
            counts[c, 0] += 1
            counts[c, 1] += relevant[c]
            for slot in range(len(ks)):
                best = cuts.ideal[min(ks[slot], relevant[c])]
                sums[c, 0, slot] += gains[c, 0, slot] / best
                sums[c, 1, slot] += gains[c, 1, slot] / best
            relevant[c] = 0
            gains[c] = 0.0


def category_rows(rankings: Rankings, categories: Categories) -> list[dict[str, Any]]:
    """A flat row for each category with test items, the one with most of them first."""
    n_categories = len(categories.labels)
    counts = np.zeros((n_categories, 2), dtype=np.int64)
    sums = np.zeros((n_categories, 2, len(rankings.cuts.ks)))
    labels = ItemLabels(
        as_contiguous(categories.indptr.astype(np.int64, copy=False)),
        as_contiguous(categories.indices.astype(np.int32, copy=False)),
    )
    category_sums(rankings.tests, rankings.places, labels, rankings.cuts, counts, sums)
    items = np.bincount(categories.indices, minlength=n_categories)
    rows = []
    for c in np.argsort(-counts[:, 1], kind="stable"):
        users, test_items = counts[c].tolist()
        if users == 0:
            continue
        row = {
            "category": categories.labels[int(c)],
            "items": int(items[c]),
            "users": users,
            "test_items": test_items,
        }
        for slot, k in enumerate(rankings.cuts.ks.tolist()):
            row[f"ndcg@{k}"] = float(sums[c, 0, slot]) / users
            row[f"ndcg@{k}_expected"] = float(sums[c, 1, slot]) / users
        rows.append(row)
    return rows
