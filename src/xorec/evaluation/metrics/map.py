"""MAP: the precision at each hit, averaged over as many hits as there can be."""

from __future__ import annotations

import numpy as np

from xorec.core.kernels import kernel
from xorec.evaluation.metrics.base import Cuts, Floats, RankedTests, UserMetric, group_end


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
