"""SIML as it comes and BPR with settings of its own on one data set, each tested once.

    python benchmarks/siml_bpr.py --data path/to/anime_history.dat --trials 6 --json

Each fit finds its epochs (SIML its open settings, too) on a tenth of the training pairs, then
learns from all of them and is evaluated once on the test part: that of the data, or a random fifth.
BPR with --trials N: of its defaults and N - 1 points that fill its space, the best on validation;
a point that diverges is left out. --core K keeps users and items with K pairs or more, --patience
is for both models, the most epochs for each: an epoch of SIML takes several of BPR's.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import LineProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.prepare import prepare
from xorec.data.split import Split, split
from xorec.evaluation.protocol import evaluate
from xorec.models import model_class
from xorec.models.base import Model
from xorec.selection.tuning.rounds import even_point
from xorec.selection.tuning.tuning import space_of

METRICS = ("ndcg@20", "recall@20", "ndcg@10")
Row = dict[str, Any]
Tried = tuple[Row, Model[Any]]


def fitted(name: str, settings: Row, parts: Split, options: RunOptions) -> Model[Any]:
    """The model with its epochs (and open settings) found on validation."""
    model: Model[Any] = model_class(name)(**settings)
    return model.fit(parts.train, parts.validation, options)


def tried(name: str, trials: int, common: Row, parts: Split, options: RunOptions) -> list[Tried]:
    """The defaults and points that fill the space with their figures on validation, best first."""
    space = space_of(name, common)
    points: list[Row] = [{}, *(even_point(space, at, options.seed) for at in range(1, trials))]
    found: list[Tried] = []
    for point in points:
        try:
            model = fitted(name, {**common, **point}, parts, options)
        except XorecError as error:
            options.progress.note(f"{name} {point}: {error}")  # it diverged
            continue
        found.append((on(parts.train, parts.validation, model, options), model))
        options.progress.note(f"{name} {point}: {json.dumps(found[-1][0])}")
    return sorted(found, key=lambda one: -one[0]["ndcg@20"])


def on(seen: Any, part: Any, model: Model[Any], options: RunOptions) -> Row:
    """The metrics on a part of the split."""
    result = evaluate(model.representation_, seen, part, ks=(10, 20), options=options)
    return {name: result[name] for name in METRICS}


def row(name: str, found: list[Tried], parts: Split, options: RunOptions) -> Row:
    """The best point on validation, and once on test after a fit on all training pairs.

    Where that fit diverges, the next best point takes its place.
    """
    assert parts.validation is not None
    seen = parts.train.union(parts.validation)
    for validation, model in found:
        try:
            again: Model[Any] = type(model)(**model.refit_settings()).fit(seen, None, options)
        except XorecError as error:
            options.progress.note(f"{name}, all pairs: {error}")
            continue
        test = on(seen, parts.test, again, options)
        figures = {"model": name, "finished": len(found), "validation": validation, "test": test}
        return {**figures, "config": again.config.model_dump()}
    raise SystemExit(f"{name}: every point diverged")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--trials", type=int, default=4, help="of BPR")
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--siml-epochs", type=int, default=100)
    parser.add_argument("--bpr-epochs", type=int, default=100)
    parser.add_argument("--patience", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    options = RunOptions(seed=given.seed, threads=given.threads, progress=LineProgress())
    data = load_data(given.data)
    if given.core:
        data = prepare(data, core=given.core)
    parts = split(data, validation=0.1, seed=given.seed)
    rows = []
    for name, trials in (("siml", 1), ("bpr", given.trials)):
        began = time.perf_counter()
        common = {name: getattr(given, name) for name in ("dimensions", "patience")}
        common["epochs"] = getattr(given, f"{name}_epochs")
        found = tried(name, trials, common, parts, options)
        rows.append(row(name, found, parts, options))
        rows[-1] |= {"trials": trials, "seconds": time.perf_counter() - began}
        options.progress.note(json.dumps(rows[-1]))
    if given.json:
        print(json.dumps({"data": given.data, "split": parts.describe(), "rows": rows}))
        return
    for one in rows:
        values = [f"{one[part][name]:.4f}" for part in ("validation", "test") for name in METRICS]
        print(f"{one['model']:5}", *values, f"{one['seconds']:.0f} s")


if __name__ == "__main__":
    main()
