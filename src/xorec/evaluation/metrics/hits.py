"""Hits: test items among the k best. Recall, precision and both readings of the hit rate.

Expected hits of a group of equals: r / tied for each place inside k.
"""

from __future__ import annotations

import numpy as np

from xorec.core.kernels import kernel
from xorec.evaluation.metrics.base import Cuts, Floats, RankedTests, UserMetric, group_end


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
def any_hit(tests: RankedTests, cuts: Cuts, out: Floats) -> None:
    """1 if there is a hit, else 0."""
    for user in range(len(out)):
        first = tests.ranks[tests.indptr[user]]
        for slot in range(len(cuts.ks)):
            out[user, slot] = 1.0 if first <= cuts.ks[slot] else 0.0


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
USER_HR = UserMetric("user_hr", "1 if there is a hit", any_hit, expected_any_hit)
