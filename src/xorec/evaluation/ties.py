"""Metrics in expectation over random orders inside groups of equal scores, in closed form.

Of the `tied` items of a group that begins after `above` better ones, r are relevant. Orders are
uniform, so each place of the group is relevant with probability r / tied, two places at once with
r (r - 1) / (tied (tied - 1)), and places of different groups are independent. Hence, for place p
of the group (p = 0 .. tied - 1, rank = above + p + 1), with R relevant items in better groups:

    E hit            = r / tied                                            hits, recall, DCG
    E hit * hits@p   = r / tied * (1 + R + p (r - 1) / (tied - 1))          AP
    P(first hit | none before) = r / (tied - p)                            MRR, user_hr

and a group cut by k counts with the places that are inside. Without ties these are the metrics
themselves, to the last bit.
"""

from __future__ import annotations

from xorec.core.kernels import kernel
from xorec.evaluation.metrics import HITS, MAP, MRR, NDCG, USER_HR, Floats, Ints


@kernel
def expected_metrics(
    above: Ints, tied: Ints, n_test: int, ks: Ints, discount: Floats, ideal: Floats, out: Floats
) -> None:
    """Fill `out` (columns, len(ks)) for one user; `above` (ascending) and `tied` of its items."""
    for slot in range(len(ks)):
        k = ks[slot]
        best = min(k, n_test)
        hits, dcg, precisions, reciprocal, none_yet = 0.0, 0.0, 0.0, 0.0, 1.0
        at = 0
        while at < len(above) and above[at] < k:
            start, size = above[at], tied[at]
            relevant = 1
            while at + relevant < len(above) and above[at + relevant] == start:
                relevant += 1
            end = min(k, start + size)
            share = relevant / size
            again = (relevant - 1) / (size - 1) if size > 1 else 0.0
            hits += relevant * (end - start) / size
            for place in range(start, end):
                inside = place - start
                dcg += share * discount[place]
                precisions += share * (1 + at + inside * again) / (place + 1)
                if none_yet > 0.0:
                    first = relevant / (size - inside)
                    reciprocal += none_yet * first / (place + 1)
                    none_yet *= 1.0 - first
            at += relevant
        out[HITS, slot] = hits
        out[NDCG, slot] = dcg / ideal[best]
        out[USER_HR, slot] = 1.0 - none_yet
        out[MRR, slot] = reciprocal
        out[MAP, slot] = precisions / best


@kernel
def expected_gain(above: int, tied: int, k: int, discount: Floats) -> float:
    """Expected 1 / log2(rank + 1), 0 beyond k, of one item of a group: for per-category NDCG."""
    gain = 0.0
    for place in range(above, min(k, above + tied)):
        gain += discount[place]
    return gain / tied
