"""MRR: one by the rank of the first hit."""

from __future__ import annotations

import numpy as np

from xorec.core.kernels import kernel
from xorec.evaluation.metrics.base import Cuts, Floats, RankedTests, UserMetric, group_end


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
