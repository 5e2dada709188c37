"""align: pairs by the rows of other ids, for parts that were read one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xorec.core.errors import DataError
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions


def align(data: Interactions, users: Ids, items: Ids, what: str, where: str) -> Interactions:
    """The same pairs by the rows of `users` and `items`; a note says how many are not there.

    what, where: what the data is, and where the ids are from, for messages.

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
    for name, rows, there, here in (
        ("users", user_rows, users, data.users),
        ("items", item_rows, items, data.items),
    ):
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
    note = f"{missing:,} pairs of {what} left out: {' and '.join(matches)} are in {where}"
    return replace(aligned, notes=(*aligned.notes, note))


def _categories_of(data: Interactions, items: Ids) -> Categories | None:
    """The categories of these items; those that the data does not have get none."""
    if data.categories is None:
        return None
    rows, indptr = data.items.find_many(items), data.categories.indptr
    nothing = len(indptr) - 1  # a row behind the last
    with_nothing = replace(data.categories, indptr=np.append(indptr, indptr[-1]))
    return with_nothing.select(np.where(rows < 0, nothing, rows))
