"""fit: the recipe that serves these data best, learned from all of them."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from xorec.core.errors import DataError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.data.io.read import ReadOptions, as_interactions
from xorec.data.split import hold_out
from xorec.models import model_class
from xorec.models.base import Model
from xorec.recommender.recommender import Recommender
from xorec.selection.race.limits import Budget, Target
from xorec.selection.race.race import RaceResult, race
from xorec.selection.shared_work import vectors_learned_once

VALIDATION = 0.1
"""The share of the pairs that recipes are judged on."""
FEWEST = 20
"""Users to judge by: with fewer, chance would decide."""
WITHOUT_RACE = "slim"
_TIMES = ("seconds_fit", "us_per_query")


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
    >>> len(xorec.fit(visits, trials=2, user_column="who", item_column="what").user_ids)
    60
    """
    goal = Target.parse(target)  # before anything long is read
    data = as_interactions(data, "the data", options.progress, **reading)
    limits = None if budget is None and trials is None else Budget(budget, trials)
    model, found = fit_best(data, None, budget=limits, target=goal, options=options)
    return Recommender.from_model(model, data, seed=options.seed, **about_race(found))


def about_race(found: RaceResult | None) -> dict[str, Any]:
    """What a model file says of the race that chose it: all but times, which differ every time."""
    if found is None:
        return {}
    race = found.to_dict()
    rows = [{name: row[name] for name in row if name not in _TIMES} for row in race["rows"]]
    return {"race": {**race, "rows": rows}, "validation": found.validation()}


def fit_best(
    train: Interactions,
    validation: Interactions | None,
    *,
    budget: Budget | None = None,
    target: Target | None = None,
    options: RunOptions = DEFAULTS,
) -> tuple[Model[Any], RaceResult | None]:
    """The winner of a race, fitted on both parts; and the race, None where there was none.

    validation: None cuts off a tenth: the latest pairs where they have times, else by chance.
    Too few users to judge by: item weights as they are by default.
    """
    both = train if validation is None else train.union(validation, options.thread_count)
    parts = _judged(train, validation, options)
    if parts is None:
        options.progress.note(
            f"too few pairs to judge recipes by: {WITHOUT_RACE} with its default settings."
        )
        return model_class(WITHOUT_RACE)().fit(both, None, options), None
    budget, target = budget or Budget.for_pairs(train.n_pairs), target or Target()
    judged_on = f"{parts[1].n_pairs:,} pairs{parts[2]}"
    options.progress.note(f"no model was named: recipes race for {target} ({budget}).")
    options.progress.note(f"judged on {judged_on}; each line `race:` is a new best.")
    with vectors_learned_once(options) as cached:
        found = race(*parts[:2], budget=budget, target=target, judged_on=judged_on, options=cached)
        options.progress.note(
            f"race: over after {found.count()}; "
            f"{found.winner.model} learns from all {both.n_pairs:,} pairs."
        )
        winner = model_class(found.winner.model)(**found.winner.refit).fit(both, None, cached)
    if (over := budget.spent(len(found.trials))) > 1.05 and budget.trials is None:
        options.progress.note(
            f"the budget was exceeded, {over:.1f} times of it: what had begun was finished."
        )
    return winner, found


def _judged(
    train: Interactions, validation: Interactions | None, options: RunOptions
) -> tuple[Interactions, Interactions, str] | None:
    """What recipes learn from, what they are judged on, and how that was cut; None: too little."""
    how = ""
    if validation is None:
        try:
            parts = hold_out(train, VALIDATION, options.seed)
        except DataError:
            return None
        train, validation = parts.train, parts.test
        how = ", the latest" if parts.settings["method"] == "time" else ", drawn by chance"
    enough = np.count_nonzero(validation.user_counts) >= FEWEST
    return (train, validation, how) if enough else None
