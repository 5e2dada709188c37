"""The order of a shortlist by its exact scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.top_k_kernels import score_key


@kernel
def best_of(
    scores: Any,
    items: Any,
    counts: Any,
    tie_rank: Any,
    begin: int,
    end: int,
    best: Any,
    best_scores: Any,
) -> None:
    """The first best.shape[1] of each list by score, then tie rank; zero behind the last."""
    keys = np.empty(items.shape[1], dtype=np.uint64)
    for b in range(begin, end):
        count = counts[b]
        for at in range(count):
            keys[at] = score_key(scores[b, at]) | np.uint64(tie_rank[items[b, at]])
        order = np.argsort(keys[:count])
        for at in range(best.shape[1]):
            if at < count:
                best[b, at] = items[b, order[at]]
                best_scores[b, at] = scores[b, order[at]]
            else:
                best[b, at], best_scores[b, at] = 0, 0
