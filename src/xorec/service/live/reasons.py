"""Because of: which of somebody's own items speak for an item."""

from __future__ import annotations

from xorec.search.top_k import top_k_row
from xorec.service.live.model import Asker, LiveModel
from xorec.service.schemas.lists import Reason

_REASONS = 3


def reasons(live: LiveModel, asker: Asker, row: int) -> list[Reason]:
    """Up to three of the asker's items, the one most like the item at `row` first."""
    learned, own = live.recommender.representation, asker.positive
    if not learned.compares_items or not len(own):
        return []
    ranks = live.recommender.tie_rank[own]
    near, likeness = top_k_row(learned.likeness(own, row), _REASONS, ranks)
    rows = own[near].tolist()
    ids = live.item_ids(rows)
    names = live.item_names(rows, ids)
    return [
        Reason(id=one, name=name, score=float(score))
        for one, name, score in zip(ids, names, likeness, strict=True)
    ]
