"""fit, as `xorec` exports it: the data is read as `read` would, then recipes race."""

from __future__ import annotations

from typing import Any, Unpack

from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.io.read import ReadOptions, as_interactions
from xorec.experiments.race.fit import fit as fit_by_race
from xorec.experiments.race.target import Target
from xorec.recommender.recommender import Recommender


def fit(
    data: Any,
    *,
    budget: float | None = None,
    trials: int | None = None,
    target: str = "ndcg",
    options: RunOptions = DEFAULTS,
    **reading: Unpack[ReadOptions],
) -> Recommender:
    """The best lists that these data allow: recipes race on a validation part, the best learns all.

    data: Interactions, what `xorec.read` takes, or a name of the catalogue; all of it is learned
    from, so `split` first to keep a test part, and `prepare` to keep high ratings alone. budget:
    minutes; by default as many as fit the data. trials: as budget, for the same result every time.
    target: ndcg, or the best within bytes=16 (an item) or us=50 (a query). reading: what
    `xorec.read` takes beside the data: user_column, item_column, ... What was tried is in
    `metadata["race"]["rows"]`.

    >>> import polars as pl
    >>> import xorec
    >>> pairs = [(user, item) for user in range(60) for item in range(user % 4, 40, 4)]
    >>> xorec.fit(pairs, trials=2).metadata["model"]
    'slim'
    >>> visits = pl.DataFrame(pairs, schema=["who", "what"], orient="row")
    >>> len(xorec.fit(visits, trials=2, user_column="who", item_column="what").users)
    60
    """
    Target.parse(target)  # before anything long is read
    data = as_interactions(data, "the data", options.progress, **reading)
    return fit_by_race(data, budget=budget, trials=trials, target=target, options=options)
