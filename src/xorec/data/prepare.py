"""prepare: filters pairs, and notes what was removed. align: pairs by the rows of other ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import kernel
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.read import ReadOptions, as_interactions

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]


def prepare(
    data: Any,
    *,
    min_rating: float | None = None,
    min_user_pairs: int = 0,
    min_item_pairs: int = 0,
    core: int = 0,
    **reading: Unpack[ReadOptions],
) -> Interactions:
    """Filter the pairs, in this order; users and items without pairs go.

    data: Interactions, or what `read` takes: a frame, a SciPy matrix, rows of pairs, a path.
    reading: how `read` reads it: user_column, ...
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
    check_filters(min_rating, min_user_pairs, min_item_pairs, core)
    pairs = as_interactions(data, **reading)
    pairs.require_pairs()
    if min_rating is not None:
        pairs = _by_rating(pairs, min_rating)
    if min_user_pairs > 1 or min_item_pairs > 1:
        pairs = _by_counts(pairs, (min_user_pairs, min_item_pairs), repeat=False)
    if core > 1:
        pairs = _by_counts(pairs, (core, core), repeat=True)
    return pairs.compact()


def _by_rating(data: Interactions, min_rating: float) -> Interactions:
    from xorec.data.io.values import rating_note

    if data.ratings is None:
        raise no_ratings(min_rating)
    keep = data.ratings >= np.float32(min_rating)
    if not keep.any():
        raise none_rated(min_rating, data.ratings.min(), data.ratings.max())
    outdated = rating_note(data.ratings)  # it proposes a threshold
    data = replace(data, notes=tuple(note for note in data.notes if note != outdated))
    return _keep(data, keep, below_rating(min_rating))


def no_ratings(min_rating: float) -> DataError:
    """The error for a threshold where the data has no ratings."""
    return DataError(
        f"min_rating is {min_rating} but the data has no ratings: name their column with "
        "rating_column (--rating-column), or leave min_rating out."
    )


def none_rated(min_rating: float, low: Any, high: Any) -> DataError:
    """The error where all ratings are below the threshold."""
    return DataError(
        f"no pair is rated {min_rating:g} or more: the ratings go from "
        f"{low:g} to {high:g}; lower min_rating."
    )


def below_rating(min_rating: float) -> str:
    """The name of the filter by ratings in notes."""
    return f"ratings below {min_rating:g}"


def _by_counts(data: Interactions, least: tuple[int, int], *, repeat: bool) -> Interactions:
    """Remove users and items with too few pairs: once, or until none is left."""
    counts = PairCounts(data.user_counts, data.item_counts)

    def count(users_stay: Mask, items_stay: Mask) -> PairCounts:
        return PairCounts(*count_pairs(data.indptr, data.indices, users_stay, items_stay))

    stay = with_enough_pairs(counts, least, count, repeat=repeat)
    keep = stay.users[data.user_rows] & stay.items[data.indices]
    if not keep.any():
        raise counts.nothing_left(stay.what)
    return _keep(data, keep, stay.what)


class PairCounts(NamedTuple):
    """How many pairs each user and each item has."""

    users: Counts
    items: Counts

    def nothing_left(self, what: str) -> DataError:
        """The error of a filter that is too strict. what: its name."""
        return DataError(
            f"nothing is left after {what}: of {len(self.users):,} users the busiest has "
            f"{self.users.max():,} pairs, of {len(self.items):,} items the most popular "
            f"{self.items.max():,}; ask for fewer."
        )

    def removed_note(self, what: str, left: PairCounts) -> str:
        """The note on a filter. what: its name."""
        users = np.count_nonzero((self.users > 0) & (left.users == 0))
        items = np.count_nonzero((self.items > 0) & (left.items == 0))
        pairs = int(self.users.sum() - left.users.sum())
        return f"{what}: {users:,} users, {items:,} items and {pairs:,} pairs removed"


class Stay(NamedTuple):
    """The users and items that stay, the pairs that they have left, and the filter's name."""

    users: Mask
    items: Mask
    left: PairCounts
    what: str


def with_enough_pairs(
    counts: PairCounts,
    least: tuple[int, int],
    count: Callable[[Mask, Mask], PairCounts],
    *,
    repeat: bool,
) -> Stay:
    """Which users and items have enough pairs.

    least: pairs of a user, of an item. count: the pairs of those that stay. repeat: until none of
    these has too few, else once.
    """
    min_user_pairs, min_item_pairs = least
    users_stay = np.ones(len(counts.users), dtype=np.bool_)
    items_stay = np.ones(len(counts.items), dtype=np.bool_)
    user_counts, item_counts, rounds = counts.users, counts.items, 0
    while True:
        gone = (users_stay & (user_counts < min_user_pairs)).any()
        gone |= (items_stay & (item_counts < min_item_pairs)).any()
        if not gone or (rounds and not repeat):
            break
        rounds += 1
        users_stay &= user_counts >= min_user_pairs
        items_stay &= item_counts >= min_item_pairs
        user_counts, item_counts = count(users_stay, items_stay)
    what = f"users under {min_user_pairs} and items under {min_item_pairs} pairs, once"
    if repeat:
        what = f"{min_user_pairs}-core ({rounds} round{'' if rounds == 1 else 's'})"
    return Stay(users_stay, items_stay, PairCounts(user_counts, item_counts), what)


def _keep(data: Interactions, keep: Mask, what: str) -> Interactions:
    """The pairs to keep, and a note of what went."""
    kept = data.select(keep)
    before, left = (PairCounts(one.user_counts, one.item_counts) for one in (data, kept))
    return kept.noted(before.removed_note(what, left))


def check_filters(
    min_rating: float | None, min_user_pairs: int, min_item_pairs: int, core: int
) -> None:
    """Refuse a threshold that is no number or negative."""
    if min_rating is not None and not np.isfinite(min_rating):
        raise OptionError(f"min_rating is {min_rating}: give a number, or leave it out.")
    counts = {"min_user_pairs": min_user_pairs, "min_item_pairs": min_item_pairs, "core": core}
    for name, value in counts.items():
        if value < 0:
            raise OptionError(f"{name} is {value}: give 0 or more.")


@kernel
def count_pairs(indptr: Counts, indices: Rows, users_stay: Mask, items_stay: Mask) -> Any:
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


def align(data: Interactions, users: Ids, items: Ids, what: str, where: str) -> Interactions:
    """The same pairs by the rows of `users` and `items`; a note says how many are not there.

    what, where: names of the data and of the origin of the ids, for messages.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("bob", "milk")])
    >>> test = Interactions.from_pairs([("bob", "tea"), ("eve", "tea")])
    >>> aligned = align(test, train.users, train.items, "the test part", "the training part")
    >>> aligned
    Interactions(2 users x 2 items, 1 pairs)
    >>> aligned.notes
    ('1 pairs of the test part left out: 1 of 2 users and 1 of 1 items are in the training part',)
    """
    if data.users == users and data.items == items:
        return data
    data.require_pairs(what)
    user_rows, item_rows = users.find_many(data.users), items.find_many(data.items)
    matches = []
    both = (("users", user_rows, users, data.users), ("items", item_rows, items, data.items))
    for name, rows, there, here in both:
        matched = int(np.count_nonzero(rows >= 0))
        matches.append(f"{matched:,} of {len(rows):,} {name}")
        if not matched:
            like = f"{there[0]!r} there" if len(there) else "there are none there"
            raise DataError(
                f"none of the {len(rows):,} {name} of {what} is in {where}: ids look like {like} "
                f"and {here[0]!r} here; read both in the same way."
            )
    found = (user_rows[data.user_rows] >= 0) & (item_rows[data.indices] >= 0)
    if not found.any():
        raise DataError(
            f"no pair of {what} has both its user and its item in {where}: "
            f"{' and '.join(matches)} are there."
        )
    kept = data.select(found)
    aligned = Interactions.from_rows(
        users,
        items,
        user_rows[kept.user_rows],
        item_rows[kept.indices],
        times=kept.times,
        ratings=kept.ratings,
        parts=kept.parts,
        categories=_categories_of(data, items),
        notes=kept.notes,
    )
    missing = data.n_pairs - kept.n_pairs
    if not missing:
        return aligned
    are_there = f"{' and '.join(matches)} are in {where}"
    return aligned.noted(f"{missing:,} pairs of {what} left out: {are_there}")


def _categories_of(data: Interactions, items: Ids) -> Categories | None:
    """The categories of these items; those that the data does not have get none."""
    if data.categories is None:
        return None
    rows, indptr = data.items.find_many(items), data.categories.indptr
    nothing = len(indptr) - 1  # a row behind the last
    with_nothing = replace(data.categories, indptr=np.append(indptr, indptr[-1]))
    return with_nothing.select(np.where(rows < 0, nothing, rows))
