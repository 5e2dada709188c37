"""SLIM on neighbours, EASE and item-kNN with equal trials in one run: quality, seconds, bytes.

    python benchmarks/slim.py --data path/to/ml-1m --trials 12 -k 10 --json

Each method's settings are searched by `tune` with as many trials as every other's, on a tenth of
the training pairs; then it is fitted on all of them and measured once on the test part. EASE comes
along up to --ease-items items. p: the paired test of a method's NDCG against SLIM's.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.evaluation.significance import compare
from xorec.models import model_class
from xorec.selection.tuning.tuning import tune

Row = dict[str, Any]
METHODS = ("slim", "ease", "item-knn")


def measure(data: Interactions, arguments: argparse.Namespace) -> list[Row]:
    """One row a method."""
    k, options = arguments.k, RunOptions(seed=arguments.seed, threads=arguments.threads)
    drawn: Row = {} if data.parts is not None else {"method": "random", "test": 0.2}
    parts = split(data, validation=0.1, seed=arguments.seed, **drawn)
    assert parts.validation is not None
    known = parts.train.union(parts.validation)
    rows: list[Row] = []
    results = {}
    for name in arguments.only or METHODS:
        if name == "ease" and data.n_items > arguments.ease_items:
            continue
        metric = f"ndcg@{k}"
        found = tune(name, parts, trials=arguments.trials, metric=metric, options=options)
        began = time.perf_counter()
        learned = model_class(name)(**found.settings).fit(known, None, options).representation_
        seconds = time.perf_counter() - began
        results[name] = evaluate(learned, known, parts.test, ks=(k, 20), options=options)
        test = {one: results[name][one] for one in (metric, "ndcg@20", "recall@20")}
        row = {"method": name, "validation": found.best.value, **test}
        row |= {"seconds": seconds, "seconds_of_trials": found.seconds}
        row |= {"bytes_per_item": learned.item_nbytes / data.n_items, "settings": found.settings}
        if "slim" in results and name != "slim":
            row["p"] = compare(results[name], results["slim"], metric).p_value
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", required=True, help="a data set's name, a file or a folder")
    parser.add_argument("--core", type=int, default=0, help="pairs of each user and item, at least")
    parser.add_argument("--trials", type=int, default=12, help="of each method")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", nargs="*", choices=METHODS, help="these methods alone")
    parser.add_argument("--ease-items", type=int, default=16_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    path = Path(arguments.data)
    data = load_data(str(path / "interactions.parquet") if path.is_dir() else arguments.data)
    rows = measure(prepare(data, core=arguments.core) if arguments.core else data, arguments)
    if arguments.json:
        print(json.dumps({"data": arguments.data, "k": arguments.k, "rows": rows}))
        return
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
