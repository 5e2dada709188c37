"""Likeness: items nearest to items, users nearest to users, and the explanation of a list."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.bits import Words
from xorec.core.printable import jsonable
from xorec.data.tie_rank import TieRank
from xorec.recommender.results import Recommended
from xorec.recommender.state import ItemRows, RecommenderState
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.search.hits import Hits
from xorec.search.index import Index, index_of
from xorec.search.top_k import top_k_row


@dataclass(frozen=True, eq=False)
class SimilarityIndex:
    """A representation in which users and items are the same things, and its index."""

    representation: Representation
    index: Index

    @classmethod
    def of_items(cls, state: RecommenderState) -> SimilarityIndex:
        """Items nearest to items; codes share the recommender's index, or its planes.

        Not where items have offsets: they are alike by their codes alone.
        """
        from xorec.search.hamming.index import HammingIndex

        among, index = state.representation.among_items(), state.index
        if among.kind == "codes" and isinstance(index, HammingIndex) and not index.most:
            return cls(among, index.by("hamming"))
        return cls(among, index_of(among, state.tie_rank, threads=state.threads))

    @classmethod
    def of_users(cls, state: RecommenderState) -> SimilarityIndex:
        """Users nearest to users; those with more items first among equals."""
        from xorec.data.tie_rank import tie_rank

        among = state.representation.among_users()
        order = tie_rank(state.user_ids, np.diff(state.seen[0]))
        return cls(among, index_of(among, order, threads=state.threads))

    def nearest(
        self,
        rows: npt.NDArray[np.integer],
        k: int,
        threads: int = 1,
        *,
        allow: Any = None,
        deny: npt.NDArray[np.integer] | None = None,
    ) -> Hits:
        """The `k` nearest of each of `rows`, without itself; allow, deny: as `Index.search`."""
        itself = np.arange(len(rows) + 1), np.asarray(rows, dtype=np.int32)
        queries = self.representation.queries(rows)
        return self.index.search(
            queries, positive_int(k), exclude=itself, allow=allow, deny=deny, threads=threads
        )


def item_codes(state: RecommenderState) -> tuple[Words, int] | None:
    """The items' codes and their bits, where the model has codes."""
    bits = state.representation.code_length
    codes = state.representation.arrays().get("item_codes") if bits else None
    return None if codes is None or not bits else (codes, bits)


def compared_items(state: RecommenderState) -> Representation:
    """How items are compared on a map: by Hamming distance where there are codes."""
    coded = item_codes(state)
    if coded is None:
        return state.representation.among_items()
    return Codes(coded[0], *coded)


@dataclass(frozen=True)
class Explanation:
    """How one item stands with one user.

    user: the raw id, or the list of a new user's items. score, score_description: the number that
    ranks, and what it is in words. seen: the user has the item already. rank: its place among the
    items that the user does not have, from 1; None where it is seen. bits, bits_agreed: with codes,
    their length and how many bits of user and item are equal. because: those of the user's items
    that are most like this one, nearest first; their score is the likeness. None are known to a
    model that gives every user the same scores. parts: what each part of a blended score gives.
    found_by: in two stages, the sources that have it among their candidates.

    >>> from xorec.testing.examples import shop
    >>> why = shop().explain("cem", "milk")
    >>> f"rank {why.rank}, because of {why.because[0].id}"
    'rank 1, because of tea'
    >>> why.to_dict()["because"][0]["id"]
    'tea'
    >>> why.distance is None  # this model has no codes
    True
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
    parts: dict[str, float] = field(default_factory=dict)
    found_by: tuple[str, ...] = ()

    @property
    def distance(self) -> int | None:
        """The Hamming distance of the codes: bits that differ."""
        if self.bits is None or self.bits_agreed is None:
            return None
        return self.bits - self.bits_agreed

    def to_dict(self) -> dict[str, Any]:
        """The one JSON shape of the command line and the service.

        `score_description` is called `score_is` there, as scripts know it.
        """
        fields = {**asdict(self), "because": [one.to_dict() for one in self.because]}
        named = {"score_is" if key == "score_description" else key: fields[key] for key in fields}
        return {**{key: jsonable(value) for key, value in named.items()}, "distance": self.distance}


def explain(
    state: RecommenderState, user: Any, query: Any, user_items: ItemRows, item: int, k: int
) -> Explanation:
    """Explain item row `item` to `user`, who has the rows `user_items` and the query `query`."""
    k, learned = positive_int(k), state.representation
    scores = learned.score(query)[0]
    others = user_items[user_items != item]
    near, likeness = np.zeros(0, dtype=np.int32), scores[:0]
    if learned.compares_items and len(others):
        near, likeness = top_k_row(learned.likeness(others, item), k, state.tie_rank[others])
    because = others[near]
    (about,) = state.describe(np.array([item]), scores[[item]])
    return Explanation(
        user=user,
        item=about.id,
        name=about.name,
        score=about.score,
        score_description=learned.score_description,
        seen=len(others) < len(user_items),
        rank=_rank(scores, item, state.tie_rank, user_items),
        bits=learned.code_length,
        bits_agreed=learned.bits_agreed(query, item),
        because=state.describe(because, likeness, learned.item_distances(because, item)),
        parts=learned.score_parts(query, item),
        found_by=_found_by(state, query, user_items, item),
    )


def _found_by(
    state: RecommenderState, query: Any, user_items: ItemRows, item: int
) -> tuple[str, ...]:
    """The sources of candidates that bring an item which the user does not have."""
    if state.representation.kind != "two-stage" or np.isin(item, user_items):
        return ()
    index: Any = state.index
    seen = np.array([0, len(user_items)]), np.asarray(user_items, dtype=np.int32)
    found: tuple[str, ...] = index.found_by(query, item, seen)
    return found


def _rank(
    scores: npt.NDArray[np.float32], item: int, tie_rank: TieRank, user_items: ItemRows
) -> int | None:
    """The item's rank, from 1, in the list without `user_items`; None if it is one of them."""
    if np.isin(item, user_items):
        return None
    equal = scores == scores[item]
    ahead = (scores > scores[item]) | (equal & (tie_rank < tie_rank[item]))
    ahead[user_items] = False
    return 1 + int(np.count_nonzero(ahead))
