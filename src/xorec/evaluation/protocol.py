"""evaluate: full ranking of all items for every test user, seen items out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError, OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Progress
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.read import as_interactions
from xorec.data.prepare import align
from xorec.data.tie_rank import TieRank
from xorec.data.tie_rank import tie_rank as make_tie_rank
from xorec.evaluation.result import Evaluation, per_user_values, totals
from xorec.representations.base import Representation

KS = (10, 20, 50, 100)


def evaluate(
    model: Any,
    train: Any,
    test: Any,
    *,
    ks: Sequence[int] = KS,
    exclude: Any = None,
    tie_rank: TieRank | None = None,
    options: RunOptions = DEFAULTS,
    by_category: bool = False,
) -> Evaluation:
    """Rank all items for every user with test items and measure how well the test items rank.

    model: a fitted model, a Recommender, or a representation. train, test, exclude: Interactions,
    or what `xorec.read` takes: a frame, a SciPy matrix, rows of pairs, a path. Parts with other ids
    are brought to the rows of the model; test pairs that it cannot rank are left out, and `notes`
    of the result says how many.

    Items of `train`, and of `exclude` (the validation part, say), are out of the ranking; a test
    item among them counts as missed. Equal scores rank by `tie_rank` (by default popularity in
    `train`, then a hash of the id); the "_expected" metrics are over random tie orders instead.
    `by_category` adds NDCG for each category of items (`evaluation/categories.py` defines it).

    >>> import xorec
    >>> pairs = [(user, item) for user in range(6) for item in range(6) if (user + item) % 2 == 0]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), seed=3)
    >>> model = xorec.Popularity().fit(parts.train)
    >>> found = evaluate(model, parts.train, parts.test, ks=(1, 3))
    >>> found
    Evaluation(4 users, 4 test items, ndcg@1=0.2500, recall@1=0.2500, hr@1=0.2500)
    >>> found.per_user["recall@3"].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    from xorec.evaluation.blocks import Rankings
    from xorec.evaluation.categories import category_rows

    subject = _subject(model)
    cuts = _cuts(ks)
    (train, test, exclude), notes = _parts(subject, (train, test, exclude), options.progress)
    representation = subject.representation
    tie_rank = subject.tie_rank if tie_rank is None else tie_rank
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
    return Evaluation(rankings.users, counts, per_user, metrics, rows, notes, train.users)


class _Subject(NamedTuple):
    """What is evaluated; ids and tie ranks where it knows them."""

    representation: Representation
    ids: tuple[Ids, Ids] | None
    tie_rank: TieRank | None


def _subject(model: Any) -> _Subject:
    """A model and a recommender are known by what they have: the rooms above are not imported."""
    if hasattr(model, "representation") and not isinstance(model, type):
        ids = (model.user_ids, model.item_ids)
        return _Subject(model.representation, ids, getattr(model, "tie_rank", None))
    if not hasattr(model, "n_users"):
        raise OptionError(
            f"a {type(model).__name__} cannot be evaluated: give a fitted model, a Recommender or "
            "a representation."
        )
    return _Subject(model, None, None)


def _cuts(ks: Sequence[int]) -> tuple[int, ...]:
    """The ks, ascending and distinct."""
    if not isinstance(ks, Sequence) or not ks:
        raise OptionError(f"ks is {ks!r}: give a list of at least one k, for example ks=(10, 20).")
    return tuple(sorted({positive_int(k) for k in ks}))


def _parts(
    subject: _Subject, given: tuple[Any, Any, Any], progress: Progress
) -> tuple[tuple[Interactions, Interactions, Interactions | None], tuple[str, ...]]:
    """The parts by the rows of what is evaluated, and notes of what has no row there."""
    notes: list[str] = []
    train, test, exclude = given
    train = as_interactions(train, "the training part", progress)
    where = "the training part" if subject.ids is None else "the model"
    users, items = subject.ids or (train.users, train.items)

    def aligned(part: Any, name: str) -> Interactions:
        read = as_interactions(part, name, progress)
        found = align(read, users, items, name, where)
        notes.extend(found.notes[len(read.notes) :])
        return found

    train = aligned(train, "the training part")
    shape = (subject.representation.n_users, subject.representation.n_items)
    if shape != (train.n_users, train.n_items):
        raise DataError(
            f"the representation has {shape[0]} users x {shape[1]} items but the training part has "
            f"{train.n_users} x {train.n_items}: cut all parts from one data set."
        )
    tested = aligned(test, "the test part")
    tested.require_pairs("the test part")
    excluded = None if exclude is None else aligned(exclude, "the excluded part")
    return (train, tested, excluded), tuple(notes)
