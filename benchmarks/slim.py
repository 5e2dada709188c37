"""SLIM on neighbours against EASE and item-kNN in one run: quality, seconds, bytes.

    python benchmarks/slim.py --data path/to/yelp2018 --json

Each method's settings are chosen on a tenth of the training pairs by NDCG, then it is fitted on all
of them and measured once on the test part. EASE comes along up to --ease-items items.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import Model
from xorec.models.baselines.ease import EASE
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.slim import SLIM

Settings = dict[str, Any]


def grid(**values: tuple[Any, ...]) -> list[Settings]:
    """All combinations."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def methods(items: int, ease_items: int) -> dict[str, tuple[type[Model[Any]], list[Settings]]]:
    """(model, what to choose from) by name."""
    slim = grid(neighbours=(50, 100), l2=(10, 20, 50), growth=(0.1, 0.3), user_exponent=(0.0, 0.3))
    found: dict[str, tuple[type[Model[Any]], list[Settings]]] = {"slim": (SLIM, slim)}
    found["item-knn"] = (ItemKNN, grid(neighbours=(50, 100, 200), shrink=(0.0, 10.0)))
    if items <= ease_items:
        found["ease"] = (EASE, grid(reg=(100.0, 250.0, 500.0, 1000.0)))
    return found


def measure(data: Interactions, arguments: argparse.Namespace) -> list[Settings]:
    """One row a method."""
    k, rows = arguments.k, []
    drawn: Settings = {} if data.parts is not None else {"method": "random", "test": 0.2}
    parts = split(data, validation=0.1, seed=arguments.seed, **drawn)
    whole = split(data, seed=arguments.seed, **drawn)
    assert parts.validation is not None
    for name, (model, choices) in methods(data.n_items, arguments.ease_items).items():
        if arguments.only and name not in arguments.only:
            continue
        values = []
        for settings in choices:
            found = model(**settings).fit(parts.train).representation_
            values.append(evaluate(found, parts.train, parts.validation, ks=(k,))[f"ndcg@{k}"])
        best = choices[int(np.argmax(values))]
        began = time.perf_counter()
        learned = model(**best).fit(whole.train).representation_
        seconds = time.perf_counter() - began
        result = evaluate(learned, whole.train, whole.test, ks=(k,))
        figures = {name: result[f"{name}@{k}"] for name in ("recall", "ndcg")}
        history = whole.train.n_pairs * 4
        row = {"method": name, **figures, "seconds": seconds, "bytes": learned.nbytes - history}
        rows.append({**row, "settings": best})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", required=True, help="a data set's name, a file or a folder")
    parser.add_argument("--core", type=int, default=0, help="pairs of each user and item, at least")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="these methods alone")
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
