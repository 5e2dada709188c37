"""Where the test items stand in a block of rankings, and the lists that users get."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.data.interactions import UserItems
from xorec.evaluation.metrics.base import MISSED, Ints
from xorec.search.top_k_kernels import CHUNK, Items, Keys, Row, best_keys, score_key

_LOWER = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class TieOrder(NamedTuple):
    """rank: the place of each item among equals (m,). item_at: its inverse."""

    rank: Items
    item_at: Items


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
def rank_users(
    scores: Any,
    seen: UserItems,
    tests: UserItems,
    ties: TieOrder,
    places: Any,
    lists: Any,
) -> None:
    """Rank for the users of a block by their `scores` (B, m), items of `seen` out.

    seen, tests: of user b of this block; places (its pairs, 3): see `place_row`. lists
    (B, K): the items that each user gets, -1 behind the last one.
    """
    m = scores.shape[1]
    keys = np.empty(m, dtype=np.uint64)
    candidates = np.empty(m + 1, dtype=np.int32)
    maxima = np.empty((m + CHUNK - 1) // CHUNK, dtype=np.int32)
    k = lists.shape[1]
    for b in range(len(scores)):
        row = scores[b]
        excluded = seen.items[seen.indptr[b] : seen.indptr[b + 1]]
        found = best_keys(row, k, excluded, ties.rank, keys, candidates, maxima)
        kept = min(k, found)
        span = slice(tests.indptr[b], tests.indptr[b + 1])
        place_row(row, tests.items[span], excluded, ties.rank, keys, found, kept, places[span])
        lists[b, kept:] = -1
        for place in range(kept):
            lists[b, place] = ties.item_at[np.int64(keys[place] & _LOWER)]


@kernel
def sort_places(indptr: Ints, places: Any) -> Any:
    """The places (pairs, 3) of each user in the orders of `RankedTests`: ranks, above, tied."""
    ranks = np.full(len(places), MISSED, dtype=np.int32)
    above, tied = np.full_like(ranks, MISSED), np.zeros_like(ranks)
    groups = np.empty(len(places), dtype=np.int64)
    for user in range(len(indptr) - 1):
        n_ranks = n_groups = begin = indptr[user]
        for t in range(begin, indptr[user + 1]):
            if places[t, 0] > 0:
                ranks[n_ranks] = places[t, 0]
                n_ranks += 1
            if places[t, 2] > 0:
                groups[n_groups] = (np.int64(places[t, 1]) << 32) | np.int64(places[t, 2])
                n_groups += 1
        ranks[begin:n_ranks].sort()
        groups[begin:n_groups].sort()
        for t in range(begin, n_groups):
            above[t], tied[t] = groups[t] >> 32, groups[t] & 0xFFFFFFFF
    return ranks, above, tied


@kernel
def count_exposure(lists: Any, ks: npt.NDArray[np.int64], exposure: Any) -> None:
    """Add to `exposure` (len(ks), m) each item of the lists, at the first of the ks that has it."""
    for b in range(lists.shape[0]):
        slot = 0
        for place in range(lists.shape[1]):
            if lists[b, place] < 0:
                break
            while place >= ks[slot]:
                slot += 1
            exposure[slot, lists[b, place]] += 1
