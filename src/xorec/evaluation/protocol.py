"""evaluate: full ranking of all items for every test user, seen items out; and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError, OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.printable import html_table
from xorec.core.progress import Progress
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.read import as_interactions
from xorec.data.prepare import align
from xorec.data.tie_rank import TieRank
from xorec.data.tie_rank import tie_rank as make_tie_rank
from xorec.evaluation.metrics import ITEM_METRICS, USER_METRICS
from xorec.evaluation.metrics.base import Floats, Ints, Measure
from xorec.evaluation.significance import Interval, bootstrap_interval
from xorec.representations.base import Representation

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The metrics of one representation on one test part.

    users: rows of the users with test items, (n,). test_counts: how many each of them has.
    per_user: "ndcg@10", "recall@10", "user_hr@10", "precision@10", "mrr@10", "map@10", "hits@10",
    each with its "_expected" twin (over random tie orders): float64 (n,).
    metrics: the means of these over users, and "hr@10" (all hits / all test items, "_expected"
    too), "coverage@10", "gini@10". The registry of metrics says what each of them is.
    categories: with `by_category`, a flat row for each category. notes: what had to be left out.
    user_ids: the raw ids by row, where they are known.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(9) for item in range(9) if (user + item) % 3]
    >>> parts = xorec.split(pairs, test=0.2)
    >>> found = xorec.evaluate(xorec.Popularity().fit(parts.train), parts.train, parts.test)
    >>> found.n_users, round(found["recall@10"], 2)
    (8, 1.0)
    >>> found.row()["test_items"]
    11
    >>> found.interval("ndcg@10").low < found["ndcg@10"] < found.interval("ndcg@10").high
    True
    >>> top, bottom = found.parts("hr@10")
    >>> bool(top.sum() / bottom.sum() == found["hr@10"])
    True
    """

    users: npt.NDArray[np.int64]
    test_counts: npt.NDArray[np.int64]
    per_user: dict[str, Floats]
    metrics: dict[str, float]
    categories: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    user_ids: Ids | None = None

    @property
    def n_users(self) -> int:
        """Users with at least one test item."""
        return len(self.users)

    def __repr__(self) -> str:
        first = [f"{name}={value:.4f}" for name, value in list(self.metrics.items())[:3]]
        return f"Evaluation({', '.join([self._sizes(), *first])})"

    def _repr_html_(self) -> str:
        """The table that a notebook shows: a row for each metric, a column for each cut-off."""
        cuts = dict.fromkeys(name.partition("@")[2] for name in self.metrics)
        ks = [cut for cut in cuts if cut.isdigit()]
        names = dict.fromkeys(name.partition("@")[0] for name in self.metrics)
        rows = [[name, *(f"{self.metrics[f'{name}@{k}']:.4f}" for k in ks)] for name in names]
        heads = ["metric", *(f"@{k}" for k in ks)]
        return html_table([heads, *rows], "; ".join([self._sizes(), *self.notes]))

    def _sizes(self) -> str:
        return f"{self.n_users:,} users, {int(self.test_counts.sum()):,} test items"

    def __getitem__(self, metric: str) -> float:
        return self.metrics[metric]

    def parts(self, metric: str) -> tuple[Floats, Floats]:
        """(top, bottom), each (n,), such that the metric is sum(top) / sum(bottom) over users."""
        name, _, cut = metric.partition("@")
        entry = USER_METRICS.get(name)
        if entry is not None and entry.pooled and metric in self.metrics:
            return self.per_user[f"{entry.per_user}@{cut}"], self.test_counts.astype(np.float64)
        if metric not in self.per_user:
            pooled = [f"{one.name}@" for one in USER_METRICS.values() if one.pooled]
            known = ", ".join(name for name in self.metrics if name.startswith(tuple(pooled)))
            raise OptionError(
                f"{metric!r} has no value for each user: take {known} or one of "
                f"{', '.join(self.per_user)}."
            )
        return self.per_user[metric], np.ones(self.n_users)

    def interval(
        self, metric: str, *, level: float = 0.95, samples: int = 1000, seed: int = 0
    ) -> Interval:
        """A bootstrap confidence interval over users; `hr@k` is resampled as the ratio it is."""
        top, bottom = self.parts(metric)
        return bootstrap_interval(top, bottom, level=level, samples=samples, seed=seed)

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row for each user: user, test_items, and every metric of theirs.

        >>> import xorec
        >>> train, test = [("ann", "tea"), ("bob", "tea"), ("bob", "jam")], [("ann", "jam")]
        >>> found = xorec.evaluate(xorec.Popularity().fit(train), train, test, ks=(1,))
        >>> found.to_frame().select("user", "test_items", "ndcg@1").rows()
        [('ann', 1, 1.0)]
        """
        import polars as pl

        users = self.users if self.user_ids is None else self.user_ids.take(self.users.tolist())
        return pl.DataFrame({"user": users, "test_items": self.test_counts, **self.per_user})

    def row(self) -> dict[str, float]:
        """The metrics as one flat row for JSON, with the number of users and test items."""
        test_items = int(self.test_counts.sum())
        return {"users": self.n_users, "test_items": test_items, **self.metrics}


def per_user_values(
    ks: tuple[int, ...], measured: dict[Measure, Floats], test_counts: Ints
) -> dict[str, Floats]:
    """The values of every metric by name; measured: what the kernels gave, (n, K) each."""
    values: dict[str, Floats] = {}
    for slot, k in enumerate(ks):
        for metric in USER_METRICS.values():
            for ending, measure in metric.measures.items():
                raw = np.ascontiguousarray(measured[measure][:, slot])
                values[metric.name_at(k, ending)] = metric.scale(raw, test_counts, k)
    return values


def totals(
    ks: tuple[int, ...],
    per_user: dict[str, Floats],
    test_counts: Ints,
    exposure: npt.NDArray[np.int64],
) -> dict[str, float]:
    """The metrics over all users; exposure (K, m): how often each item is shown."""
    metrics: dict[str, float] = {}
    for slot, k in enumerate(ks):
        for ending in ("", "_expected"):
            for metric in USER_METRICS.values():
                if ending in metric.measures:
                    each = per_user[metric.name_at(k, ending)]
                    value = each.sum() / test_counts.sum() if metric.pooled else each.mean()
                    metrics[f"{metric.name}@{k}{ending}"] = float(value)
        for of_items in ITEM_METRICS.values():
            metrics[f"{of_items.name}@{k}"] = of_items.of(exposure[slot])
    return metrics


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
    from xorec.evaluation.categories import category_rows
    from xorec.evaluation.rankings import Rankings

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
