"""Where the test items stand in a block of rankings, and the metrics that follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.evaluation.metrics import Floats, Ints, ranked_metrics
from xorec.evaluation.ties import expected_metrics
from xorec.search.top_k_kernels import CHUNK, Items, Keys, Row, best_keys, score_key

_LOWER = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@kernel
def place_row(
    row: Row,
    tests: Items,
    excluded: Items,
    tie_rank: Items,
    keys: Keys,
    found: int,
    kept: int,
    places: Any,
) -> None:
    """Fill `places` (tests, 3) = rank, above, tied, from the row's keys (see `best_keys`).

    rank: 1-based, 0 if not among the kept. above: how many items score higher. tied: how many
    score the same, itself among them; 0 if nobody with that score is among the kept.
    """
    places[:] = 0
    if kept == 0:
        return
    best = keys[:kept]
    last = best[kept - 1] >> _HALF
    tied_with_last = 0
    for place in range(found):
        tied_with_last += (keys[place] >> _HALF) == last
    for t in range(len(tests)):
        item = tests[t]
        score = score_key(row[item])
        group = score >> _HALF
        at = np.searchsorted(excluded, item)
        if group > last or (at < len(excluded) and excluded[at] == item):
            continue
        key = score | np.uint64(tie_rank[item])
        at = np.searchsorted(best, key)
        above = np.searchsorted(best, score)
        places[t, 0] = at + 1 if at < kept and best[at] == key else 0
        places[t, 1] = above
        if group == last:
            places[t, 2] = tied_with_last
        else:
            places[t, 2] = np.searchsorted(best, score | _LOWER, side="right") - above


@kernel
def user_metrics(
    places: Any, ks: Ints, discount: Floats, ideal: Floats, plain: Floats, expected: Floats
) -> None:
    """Fill `plain` and `expected` (columns, len(ks)) from the places (tests, 3) of one user."""
    n_test = len(places)
    ranks, groups = np.empty(n_test, np.int64), np.empty(n_test, np.int64)
    n_ranks, n_groups = 0, 0
    for t in range(n_test):
        if places[t, 0] > 0:
            ranks[n_ranks] = places[t, 0]
            n_ranks += 1
        if places[t, 2] > 0:
            groups[n_groups] = (np.int64(places[t, 1]) << 32) | places[t, 2]
            n_groups += 1
    ranks = ranks[:n_ranks]
    groups = groups[:n_groups]
    ranks.sort()
    groups.sort()
    ranked_metrics(ranks, n_test, ks, discount, ideal, plain)
    expected_metrics(groups >> 32, groups & 0xFFFFFFFF, n_test, ks, discount, ideal, expected)


@kernel
def evaluate_rows(
    scores: Any,
    rows: Ints,
    seen_indptr: Ints,
    seen_items: Items,
    test_indptr: Ints,
    test_items: Items,
    tie_rank: Items,
    item_at: Items,
    ks: Ints,
    discount: Floats,
    ideal: Floats,
    places: Any,
    plain: Any,
    expected: Any,
    shown: Any,
) -> None:
    """Rank the users at `rows` by their `scores` (B, m) and fill what is known of each of them.

    test_indptr (B + 1,) cuts `test_items` and `places` (pairs, 3) of this block; plain, expected
    (B, columns, len(ks)); shown (B, K): the items shown, -1 behind the last one.
    """
    m = scores.shape[1]
    keys = np.empty(m, dtype=np.uint64)
    candidates = np.empty(m + 1, dtype=np.int32)
    maxima = np.empty((m + CHUNK - 1) // CHUNK, dtype=np.int32)
    k = shown.shape[1]
    for b in range(len(rows)):
        row = scores[b]
        excluded = seen_items[seen_indptr[rows[b]] : seen_indptr[rows[b] + 1]]
        found = best_keys(row, k, excluded, tie_rank, keys, candidates, maxima)
        kept = min(k, found)
        span = slice(test_indptr[b], test_indptr[b + 1])
        place_row(row, test_items[span], excluded, tie_rank, keys, found, kept, places[span])
        user_metrics(places[span], ks, discount, ideal, plain[b], expected[b])
        shown[b, kept:] = -1
        for place in range(kept):
            shown[b, place] = item_at[np.int64(keys[place] & _LOWER)]


@kernel
def count_shown(shown: Any, ks: npt.NDArray[np.int64], exposure: Any) -> None:
    """Add to `exposure` (len(ks), m) each item shown, at the first of the ks that shows it."""
    for b in range(shown.shape[0]):
        slot = 0
        for place in range(shown.shape[1]):
            if shown[b, place] < 0:
                break
            while place >= ks[slot]:
                slot += 1
            exposure[slot, shown[b, place]] += 1
