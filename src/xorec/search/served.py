"""What `evaluate` ranks: the lists that people get."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation, Rows, Scores
from xorec.representations.two_stage import TwoStage
from xorec.search.hits import Exclude

ServedScores = Callable[[Rows, Exclude], Scores]
"""(rows of users, (indptr, items) that these have seen) -> scores (B, m)."""


def served_scores(
    representation: Representation, tie_rank: TieRank, threads: int = 1
) -> ServedScores:
    """A function that gives scores whose order, without what each has seen, is that of the lists.

    Of two stages: the candidates by the scores of the second, below them the rest, by distance.
    """
    if not isinstance(representation, TwoStage):
        return lambda users, seen: representation.scores(users)
    from xorec.search.two_stage import TwoStageIndex

    index = TwoStageIndex.of(representation, tie_rank, threads=threads)

    def scores_of(users: Rows, seen: Exclude) -> Scores:
        queries = representation.queries(users)
        with ThreadPool(1) as pool:
            found = index.find(queries, 1, exclude=seen, pool=pool)
            exact = index.score(queries, found, pool)
        there = np.arange(exact.shape[1]) < found.counts[:, None]
        lowest = np.min(exact, axis=1, initial=0, where=there)
        scores = representation.codes.scores(users)
        scores += lowest[:, None] - np.float32(2)
        scores[np.nonzero(there)[0], found.items[there]] = exact[there]
        return scores

    return scores_of
