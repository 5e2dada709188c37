"""prepare: from what a file holds to what a model should learn from; says what was removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import kernel
from xorec.data.interactions import Interactions
from xorec.data.io.read import as_interactions
from xorec.data.ratings import rating_note

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


def prepare(
    data: Any,
    *,
    min_rating: float | None = None,
    min_user_pairs: int = 0,
    min_item_pairs: int = 0,
    core: int = 0,
) -> Interactions:
    """Filter the pairs, in this order; users and items without pairs go.

    data: Interactions, or what `read` takes: a frame, a SciPy matrix, rows of pairs, a path.
    min_rating: ratings to implicit feedback: only pairs rated at least this stay.
    min_user_pairs, min_item_pairs: remove users and items with fewer pairs, ONCE, all counted
      before anything is removed: the paper's filter with 20 and 20. Afterwards some may have
      fewer, because what they were paired with is gone.
    core: the same REPEATED until every user and every item left has at least `core` pairs.

    >>> from xorec import Interactions
    >>> data = Interactions.from_pairs([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("cat", 2)])
    >>> prepared = prepare(data, core=2)
    >>> list(prepared.users), prepared.notes
    (['ann', 'bob'], ('2-core (1 round): 1 users, 0 items and 1 pairs removed',))
    """
    _check(min_rating, min_user_pairs, min_item_pairs, core)
    pairs = as_interactions(data)
    pairs.require_pairs()
    if min_rating is not None:
        pairs = _by_rating(pairs, min_rating)
    if min_user_pairs > 1 or min_item_pairs > 1:
        pairs = _by_counts(pairs, min_user_pairs, min_item_pairs, repeat=False)
    if core > 1:
        pairs = _by_counts(pairs, core, core, repeat=True)
    return pairs.compact()


def _by_rating(data: Interactions, min_rating: float) -> Interactions:
    if data.ratings is None:
        raise DataError(
            f"min_rating is {min_rating} but the data has no ratings: name their column with "
            "rating_column (--rating-column), or leave min_rating out."
        )
    keep = data.ratings >= np.float32(min_rating)
    if not keep.any():
        raise DataError(
            f"no pair is rated {min_rating:g} or more: the ratings go from "
            f"{data.ratings.min():g} to {data.ratings.max():g}; lower min_rating."
        )
    outdated = rating_note(data.ratings)  # a threshold was chosen: none needs to be proposed
    data = replace(data, notes=tuple(note for note in data.notes if note != outdated))
    return _keep(data, keep, f"ratings below {min_rating:g}")


def _by_counts(
    data: Interactions, min_user_pairs: int, min_item_pairs: int, *, repeat: bool
) -> Interactions:
    """Remove users and items with too few pairs: once, or until none is left."""
    users_stay = np.ones(data.n_users, dtype=np.bool_)
    items_stay = np.ones(data.n_items, dtype=np.bool_)
    user_counts, item_counts, rounds = data.user_counts, data.item_counts, 0
    while True:
        gone = (users_stay & (user_counts < min_user_pairs)).any()
        gone |= (items_stay & (item_counts < min_item_pairs)).any()
        if not gone or (rounds and not repeat):
            break
        rounds += 1
        users_stay &= user_counts >= min_user_pairs
        items_stay &= item_counts >= min_item_pairs
        user_counts, item_counts = count_pairs(data.indptr, data.indices, users_stay, items_stay)
    what = (
        f"{min_user_pairs}-core ({rounds} round{'' if rounds == 1 else 's'})"
        if repeat
        else f"users under {min_user_pairs} and items under {min_item_pairs} pairs, once"
    )
    keep = users_stay[data.user_rows] & items_stay[data.indices]
    if not keep.any():
        raise DataError(
            f"nothing is left after {what}: of {data.n_users:,} users the busiest has "
            f"{data.user_counts.max():,} pairs, of {data.n_items:,} items the most popular "
            f"{data.item_counts.max():,}; ask for fewer."
        )
    return _keep(data, keep, what)


def _keep(data: Interactions, keep: Mask, what: str) -> Interactions:
    """The pairs to keep, and a note of what went."""
    kept = data.select(keep)
    users = int(np.count_nonzero((data.user_counts > 0) & (kept.user_counts == 0)))
    items = int(np.count_nonzero((data.item_counts > 0) & (kept.item_counts == 0)))
    pairs = data.n_pairs - kept.n_pairs
    return kept.noted(f"{what}: {users:,} users, {items:,} items and {pairs:,} pairs removed")


def _check(min_rating: float | None, users: int, items: int, core: int) -> None:
    if min_rating is not None and not np.isfinite(min_rating):
        raise OptionError(f"min_rating is {min_rating}: give a number, or leave it out.")
    for name, value in (("min_user_pairs", users), ("min_item_pairs", items), ("core", core)):
        if value < 0:
            raise OptionError(f"{name} is {value}: give 0 or more.")


@kernel
def count_pairs(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    users_stay: Mask,
    items_stay: Mask,
) -> Any:
    """Pairs of each user and of each item among those that stay."""
    user_counts = np.zeros(len(users_stay), dtype=np.int64)
    item_counts = np.zeros(len(items_stay), dtype=np.int64)
    for user in range(len(users_stay)):
        if users_stay[user]:
            for pair in range(indptr[user], indptr[user + 1]):
                item = indices[pair]
                if items_stay[item]:
                    user_counts[user] += 1
                    item_counts[item] += 1
    return user_counts, item_counts
