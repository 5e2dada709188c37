"""Explanation: why a user is offered an item, in what the model itself compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.data.tie_rank import TieRank
from xorec.recommender.results import Recommended
from xorec.search.top_k import top_k_row

if TYPE_CHECKING:
    from xorec.recommender.recommender import Recommender

Items = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Explanation:
    """How one item stands with one user.

    user: the raw id, or the list of a new user's items. score, score_description: the number that
    ranks, and what it is in words. seen: the user has the item already. rank: its place among the
    items that the user does not have, from 1; None where it is seen. bits, bits_agreed: with codes,
    their length and how many bits of user and item are equal. because: the user's own items that
    are most like this one, nearest first; their score is the likeness. None are known to a model
    that gives every user the same scores.
    """

    user: Any
    item: Any
    name: str | None
    score: float
    score_description: str
    seen: bool
    rank: int | None
    bits: int | None
    bits_agreed: int | None
    because: tuple[Recommended, ...]

    @property
    def distance(self) -> int | None:
        """The Hamming distance of the codes: bits that differ."""
        if self.bits is None or self.bits_agreed is None:
            return None
        return self.bits - self.bits_agreed


def explain(
    recommender: Recommender, user: Any, query: Any, own: Items, item: int, k: int
) -> Explanation:
    """Explain item row `item` to `user`, who has the item rows `own` and the query `query`."""
    k, learned = positive_int(k), recommender.representation
    scores = learned.score(query)[0]
    others = own[own != item]
    near, likeness = np.zeros(0, dtype=np.int32), scores[:0]
    if learned.compares_items and len(others):
        alike = learned.likeness(others, item)
        near, likeness = top_k_row(alike, k, recommender.tie_rank[others])
    (about,) = recommender.describe(np.array([item]), scores[[item]])
    return Explanation(
        user=user,
        item=about.id,
        name=about.name,
        score=about.score,
        score_description=learned.score_description,
        seen=len(others) < len(own),
        rank=_place(scores, item, recommender.tie_rank, own),
        bits=learned.code_length,
        bits_agreed=learned.bits_agreed(query, item),
        because=recommender.describe(others[near], likeness),
    )


def _place(scores: npt.NDArray[np.float32], item: int, tie_rank: TieRank, own: Items) -> int | None:
    """The item's place, from 1, in the list without `own`; None if it is one of them."""
    if np.isin(item, own):
        return None
    equal = scores == scores[item]
    ahead = (scores > scores[item]) | (equal & (tie_rank < tie_rank[item]))
    ahead[own] = False
    return 1 + int(np.count_nonzero(ahead))
