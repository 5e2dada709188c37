"""Fold-in against trained codes, and an update by 1 % of the pairs against a fit of everything.

    python benchmarks/update.py --data path/to/amazon-cds --start-epochs 15 --json

DSIML is fitted on 99 % of the training pairs, updated with the rest, and refitted on all; both
are measured on the validation part (a tenth of the training pairs; the test part is not touched).
Fold-in: every validation user from their own training items, items as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from xorec.cli.settings import read_config
from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes


def fold_in(model: DSIML, train: Interactions, test: Interactions) -> dict[str, float]:
    """Recall@20 of folded-in users over that of trained ones, and milliseconds a user."""
    codes = model.representation_
    assert isinstance(codes, Codes)
    users, words = np.flatnonzero(test.user_counts), codes.user_codes.copy()
    model.fold_in(codes, train.of_user(int(users[0])))  # warm up
    began = time.perf_counter()
    for user in users:
        words[user] = model.fold_in(codes, train.of_user(int(user)))
    seconds = time.perf_counter() - began
    trained = evaluate(codes, train, test, ks=(20,))["recall@20"]
    folded = evaluate(Codes(words, codes.item_codes, codes.bits), train, test, ks=(20,))
    return {
        "share_of_trained_recall": folded["recall@20"] / trained,
        "milliseconds": 1000 * seconds / len(users),
    }


def measure(train: Interactions, test: Interactions, settings: dict[str, Any], seed: int) -> Any:
    options = RunOptions(seed=seed)
    keep = np.random.default_rng(seed).random(train.n_pairs) >= 0.01
    first = DSIML(**settings).fit(train.select(keep), None, options)
    before = Recommender.from_model(first, train.select(keep), seed=seed)
    began = time.perf_counter()
    after = before.update(train.select(~keep))
    update_seconds = time.perf_counter() - began
    began = time.perf_counter()
    refitted = DSIML(**settings).fit(train, None, options)
    refit_seconds = time.perf_counter() - began

    def ndcg(representation: Any) -> float:
        return float(evaluate(representation, train, test, ks=(20,))["ndcg@20"])

    return {
        "new_pairs": int((~keep).sum()),
        "ndcg@20": {
            "not updated": ndcg(first.representation_),
            "updated": ndcg(after.representation),
            "refit": ndcg(refitted.representation_),
        },
        "seconds": {"update": update_seconds, "refit": refit_seconds},
        "fold_in": fold_in(refitted, train, test),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--start-epochs", type=int, default=30)
    parser.add_argument("--settings", type=Path, help="TOML or JSON with tables dsiml and siml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data = load_data(arguments.data)
    method: Any = "random" if data.parts is None else "given"
    parts = split(data, method=method, test=0.2, validation=0.1, seed=arguments.seed)
    assert parts.validation is not None
    given = read_config(arguments.settings)
    start = {**given.get("siml", {}), "epochs": arguments.start_epochs}
    settings = {**given.get("dsiml", {}), "start": start}
    found = measure(parts.train, parts.validation, settings, arguments.seed)
    print(json.dumps(found, indent=None if arguments.json else 1))


if __name__ == "__main__":
    main()
