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
        for place in range(count):
            keys[place] = score_key(scores[b, place]) | np.uint64(tie_rank[items[b, place]])
        order = np.argsort(keys[:count])
        for place in range(best.shape[1]):
            if place < count:
                best[b, place] = items[b, order[place]]
                best_scores[b, place] = scores[b, order[place]]
            else:
                best[b, place], best_scores[b, place] = 0, 0
