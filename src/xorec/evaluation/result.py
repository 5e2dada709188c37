"""Evaluation: what `evaluate` found out, for every user and in sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.data.ids import Ids
from xorec.evaluation.metrics.base import Floats, Ints, Measure
from xorec.evaluation.metrics.registry import ITEM_METRICS, USER_METRICS
from xorec.evaluation.significance import Interval, bootstrap_interval

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
        sizes = f"{self.n_users:,} users, {int(self.test_counts.sum()):,} test items"
        first = [f"{name}={value:.4f}" for name, value in list(self.metrics.items())[:3]]
        return f"Evaluation({', '.join([sizes, *first])})"

    def _repr_html_(self) -> str:
        """The table that a notebook shows: a row for each metric, a column for each cut-off."""
        from html import escape

        cuts = list(dict.fromkeys(name.partition("@")[2] for name in self.metrics))
        cuts = [cut for cut in cuts if cut.isdigit()]
        names = dict.fromkeys(name.partition("@")[0] for name in self.metrics)
        heads = "".join(f"<th>@{cut}</th>" for cut in cuts)
        rows = (
            f"<tr><th>{escape(name)}</th>"
            + "".join(f"<td>{self.metrics[f'{name}@{cut}']:.4f}</td>" for cut in cuts)
            + "</tr>"
            for name in names
        )
        about = f"{self.n_users:,} users, {int(self.test_counts.sum()):,} test items"
        caption = "; ".join([about, *self.notes])
        return (
            f"<table><caption>{escape(caption)}</caption><tr><th>metric</th>{heads}</tr>"
            f"{''.join(rows)}</table>"
        )

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
        return {
            "users": self.n_users,
            "test_items": int(self.test_counts.sum()),
            **self.metrics,
        }


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
