"""What `xorec fit` takes without being told a model, measured once on the test part.

    python benchmarks/best_lists.py --data path/to/yelp2018 --json

Cuts a validation part from the training part, races under the default budget (or --budget
minutes, --trials), learns from both parts, and ranks all items for the users of the test part:
the lists that are served, the same scores over all items without candidates, and the best item
weights of the race alone, with intervals and paired tests.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.options import RunOptions
from xorec.core.progress import LineProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.evaluation.significance import compare
from xorec.models import model_class
from xorec.representations.base import Representation, Rows, Scores
from xorec.representations.two_stage import TwoStage
from xorec.selection.race.fit import fit_best
from xorec.selection.race.limits import Budget
from xorec.selection.serving import serving_cost

KS = (10, 20)
METRICS = ("ndcg@10", "ndcg@20", "recall@20")


class AllItems(Representation):
    """The scores of another representation for every item: no candidates."""

    kind = "all-items"

    def __init__(self, scored: Representation) -> None:
        self._scored, self.n_users, self.n_items = scored, scored.n_users, scored.n_items

    def queries(self, users: Rows) -> Any:
        return self._scored.queries(users)

    def score(self, queries: Any) -> Scores:
        return self._scored.score(queries)

    @property
    def score_description(self) -> str:
        return self._scored.score_description

    def tensors(self) -> Any:
        return self._scored.tensors()

    @classmethod
    def from_tensors(cls, tensors: Any) -> AllItems:
        raise NotImplementedError


def some_users(test: Interactions, count: int) -> Interactions:
    """The test pairs of at most `count` users, evenly spread over their rows."""
    users = np.flatnonzero(test.user_counts)
    keep = np.zeros(test.n_users, dtype=np.bool_)
    keep[users[np.linspace(0, len(users) - 1, min(count, len(users))).astype(int)]] = True
    return test.select(keep[test.user_rows])


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures of one data set."""
    columns = {name: getattr(arguments, name) for name in ("user_column", "item_column")}
    data = load_data(arguments.data, **{k: v for k, v in columns.items() if v})
    if arguments.core:
        data = prepare(data, core=arguments.core)
    parts = split(data, test=0.2, validation=0.1, seed=arguments.seed)
    assert parts.validation is not None
    known = parts.train.union(parts.validation)
    given = arguments.budget is not None or arguments.trials is not None
    with tempfile.TemporaryDirectory() as folder:
        run = {"seed": arguments.seed, "threads": arguments.threads, "cache": Path(folder)}
        options = RunOptions(progress=LineProgress(), **run)
        began = time.perf_counter()
        model, race = fit_best(
            parts.train,
            parts.validation,
            budget=Budget(arguments.budget, arguments.trials) if given else None,
            options=options,
        )
        seconds = time.perf_counter() - began
    assert race is not None
    learned = model.representation_
    quiet = replace(options, progress=RunOptions().progress)
    served = evaluate(learned, known, parts.test, ks=KS, options=quiet)
    low, high = served.interval("ndcg@10").low, served.interval("ndcg@10").high
    best_slim = max((t for t in race.trials if t.model == "slim"), key=lambda t: t.value)
    slim = model_class("slim")(**best_slim.refit).fit(known, None, quiet).representation_
    alone = evaluate(slim, known, parts.test, ks=KS, options=quiet)
    cost = serving_cost(learned, known)
    found: dict[str, Any] = {
        "data": arguments.data,
        "winner": race.winner.label,
        "seconds": seconds,
        "trials": len(race.trials),
        "served": {metric: served[metric] for metric in METRICS},
        "interval": [low, high],
        "slim": {metric: alone[metric] for metric in METRICS},
        "p_against_slim": compare(served, alone, "ndcg@10").p_value,
        "us_per_query": cost.us_per_query,
        "bytes_per_item": cost.bytes_per_item,
        "rows": [trial.row() for trial in race.trials],
    }
    if isinstance(learned, TwoStage):
        sample = some_users(parts.test, arguments.users)
        ours = evaluate(learned, known, sample, ks=KS, options=quiet)
        full = evaluate(AllItems(learned), known, sample, ks=KS, options=quiet)
        share = ours["ndcg@10"] / full["ndcg@10"]
        found |= {"candidates": learned.sources.most, "share_of_full_ranking": share}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="a path, or a name of the catalogue")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--user-column")
    parser.add_argument("--item-column")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--users", type=int, default=3000, help="for the ranking of all items")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    found = measure(parser.parse_args())
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
