"""NDCG: the sum of 1 / log2(rank + 1) over hits, by the same sum for the best possible ranking."""

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
