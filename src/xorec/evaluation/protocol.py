"""evaluate: full ranking of all items for every test user, seen items out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError, OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import TieRank
from xorec.data.tie_rank import tie_rank as make_tie_rank
from xorec.evaluation.result import Evaluation, per_user_values, totals
from xorec.representations.base import Representation

KS = (10, 20, 50, 100)


def evaluate(
    representation: Representation,
    train: Interactions,
    test: Interactions,
    *,
    ks: Sequence[int] = KS,
    exclude: Interactions | None = None,
    tie_rank: TieRank | None = None,
    options: RunOptions = DEFAULTS,
    by_category: bool = False,
) -> Evaluation:
    """Rank all items for every user with test items and measure how well the test items rank.

    Items of `train`, and of `exclude` (the validation part, say), are out of the ranking; a test
    item among them counts as missed. Equal scores rank by `tie_rank` (by default popularity in
    `train`, then a hash of the id); the "_expected" metrics are over random tie orders instead.
    `by_category` adds NDCG for each category of items (`evaluation/categories.py` defines it).

    >>> import xorec
    >>> pairs = [(user, item) for user in range(6) for item in range(6) if (user + item) % 2 == 0]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), seed=3)
    >>> model = xorec.Popularity().fit(parts.train)
    >>> found = evaluate(model.representation_, parts.train, parts.test, ks=(1, 3))
    >>> found
    Evaluation(4 users, 4 test items, ndcg@1=0.2500, recall@1=0.2500, hr@1=0.2500)
    >>> found.per_user["recall@3"].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    from xorec.evaluation.blocks import Rankings
    from xorec.evaluation.categories import category_rows

    cuts = _check(representation, train, test, ks, exclude)
    categories = test.categories if test.categories is not None else train.categories
    if by_category and categories is None:
        raise DataError("by_category needs item categories, and the data has none: read them in.")
    if tie_rank is None:
        tie_rank = make_tie_rank(train.items, train.item_counts, 0)
    elif tie_rank.shape != (train.n_items,):
        raise DataError(f"tie_rank has shape {tie_rank.shape} but there are {train.n_items} items.")
    elif not np.array_equal(np.sort(tie_rank), np.arange(train.n_items)):
        raise DataError("tie_rank is no permutation: give every item a place of its own, from 0.")
    seen = train if exclude is None else train.union(exclude, options.thread_count)
    rankings = Rankings.prepare(seen, test, cuts, tie_rank)
    exposure = rankings.fill(representation, options)
    counts = rankings.test_counts
    per_user = per_user_values(cuts, rankings.values, counts)
    metrics = totals(cuts, per_user, counts, exposure)
    rows = category_rows(rankings, categories) if by_category and categories is not None else []
    return Evaluation(rankings.users, counts, per_user, metrics, rows)


def _check(
    representation: Representation,
    train: Interactions,
    test: Interactions,
    ks: Sequence[int],
    exclude: Interactions | None,
) -> tuple[int, ...]:
    """Refuse what does not fit together; return the ks, ascending and distinct."""
    if not isinstance(ks, Sequence) or not ks:
        raise OptionError(f"ks is {ks!r}: give a list of at least one k, for example ks=(10, 20).")
    cuts = tuple(sorted({positive_int(k) for k in ks}))
    test.require_pairs("the test part")
    shape = (train.n_users, train.n_items)
    parts: list[tuple[str, Interactions | Representation]]
    parts = [("the test part", test), ("the representation", representation)]
    if exclude is not None:
        parts.append(("the excluded part", exclude))
    for name, part in parts:
        if (part.n_users, part.n_items) != shape:
            raise DataError(
                f"{name} has {part.n_users} users x {part.n_items} items but the training part "
                f"has {shape[0]} x {shape[1]}: cut all parts from one data set."
            )
    return cuts
