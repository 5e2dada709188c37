"""Metrics that weigh a hit by its rank: NDCG, MRR and MAP.

NDCG: the sum of 1 / log2(rank + 1) over hits, by the same sum for the best possible ranking.
MRR: one by the rank of the first hit.
MAP: the precision at each hit, averaged over as many hits as there can be.
"""

from __future__ import annotations

import numpy as np

from xorec.core.kernels import kernel
from xorec.evaluation.metrics.base import Cuts, Floats, RankedTests, UserMetric, group_end


@kernel
def ndcg(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """DCG / DCG of min(k, T) hits at the top."""
    for user in range(len(out)):
        begin, end = tests.indptr[user], tests.indptr[user + 1]
        dcg, at = 0.0, begin
        for slot in range(len(cuts.ks)):  # ascending, so each goes on from the one before
            while at < end and tests.ranks[at] <= cuts.ks[slot]:
                dcg += cuts.discount[tests.ranks[at] - 1]
                at += 1
            out[user, slot] = dcg / cuts.ideal[min(cuts.ks[slot], end - begin)]


@kernel
def expected_ndcg(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """Each place of a group counts with r / tied."""
    for user in range(len(out)):
        begin, end = tests.indptr[user], tests.indptr[user + 1]
        for slot in range(len(cuts.ks)):
            k, dcg, at = cuts.ks[slot], 0.0, begin
            while at < end and tests.above[at] < k:
                past = group_end(tests.above, at, end)
                start, size = np.int64(tests.above[at]), np.int64(tests.tied[at])
                share = (past - at) / size
                for place in range(start, min(k, start + size)):
                    dcg += share * cuts.discount[place]
                at = past
            out[user, slot] = dcg / cuts.ideal[min(k, end - begin)]


@kernel
def expected_gain(above: int, tied: int, k: int, discount: Floats) -> float:
    """Expected 1 / log2(rank + 1), 0 beyond k, of one item of a group: for per-category NDCG."""
    gain = 0.0
    for place in range(above, min(k, above + tied)):
        gain += discount[place]
    return gain / tied


NDCG = UserMetric(
    "ndcg",
    "sum of 1/log2(rank + 1) over hits / the same sum for min(k, T) hits at the top",
    ndcg,
    expected_ndcg,
)


@kernel
def reciprocal_rank(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """1 / rank of the first hit, 0 if there is none."""
    for user in range(len(out)):
        first = tests.ranks[tests.indptr[user]]
        for slot in range(len(cuts.ks)):
            out[user, slot] = 1.0 / first if first <= cuts.ks[slot] else 0.0


@kernel
def expected_reciprocal_rank(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """Place p of a group has the first hit, if none came before, with r / (tied - p)."""
    for user in range(len(out)):
        end = tests.indptr[user + 1]
        for slot in range(len(cuts.ks)):
            k, value, none_yet, at = cuts.ks[slot], 0.0, 1.0, tests.indptr[user]
            while at < end and tests.above[at] < k and none_yet > 0.0:
                past = group_end(tests.above, at, end)
                start, size = np.int64(tests.above[at]), np.int64(tests.tied[at])
                for place in range(min(k, start + size) - start):
                    first = (past - at) / (size - place)
                    value += none_yet * first / (start + place + 1)
                    none_yet *= 1.0 - first
                    if none_yet <= 0.0:
                        break
                at = past
            out[user, slot] = value


MRR = UserMetric(
    "mrr",
    "1 / rank of the first hit, 0 if there is none among k",
    reciprocal_rank,
    expected_reciprocal_rank,
)


@kernel
def average_precision(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """Sum over hits of (hits so far / rank) / min(k, T)."""
    for user in range(len(out)):
        begin, end = tests.indptr[user], tests.indptr[user + 1]
        precisions, at = 0.0, begin
        for slot in range(len(cuts.ks)):  # ascending, so each goes on from the one before
            while at < end and tests.ranks[at] <= cuts.ks[slot]:
                at += 1
                precisions += (at - begin) / tests.ranks[at - 1]
            out[user, slot] = precisions / min(cuts.ks[slot], end - begin)


@kernel
def expected_average_precision(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """With R relevant items in better groups, the expected hits up to a hit at place p of a group

    are 1 + R + p (r - 1) / (tied - 1), and there is a hit with r / tied.
    """
    for user in range(len(out)):
        begin, end = tests.indptr[user], tests.indptr[user + 1]
        for slot in range(len(cuts.ks)):
            k, precisions, at = cuts.ks[slot], 0.0, begin
            while at < end and tests.above[at] < k:
                past = group_end(tests.above, at, end)
                start, size = np.int64(tests.above[at]), np.int64(tests.tied[at])
                share = (past - at) / size
                others = (past - at - 1) / (size - 1) if size > 1 else 0.0
                for place in range(min(k, start + size) - start):
                    so_far = 1 + (at - begin) + place * others
                    precisions += share * so_far / (start + place + 1)
                at = past
            out[user, slot] = precisions / min(k, end - begin)


MAP = UserMetric(
    "map",
    "sum over hits of (hits so far / rank) / min(k, T)",
    average_precision,
    expected_average_precision,
)
