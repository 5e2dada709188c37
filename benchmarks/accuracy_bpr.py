"""BPR on a data set with a given split: tuned on a validation part, tested once.

    python benchmarks/accuracy_bpr.py --data path/to/yelp2018 --config settings.toml --json

Each setting is fitted on the training pairs less a tenth, which is the validation part; the one
with the best NDCG@20 there, with its best number of epochs, is fitted again on all training pairs
and evaluated on the test part. --grid takes settings as JSON lists, for example
'{"learning_rate": [0.05, 0.1], "negatives": [4, 8]}'.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from typing import Any

from xorec.core.options import RunOptions
from xorec.core.progress import TerminalProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import fit_with_validation
from xorec.models.factorization.bpr import BPR

METRICS = ("recall@20", "ndcg@20", "recall@20_expected", "hr@10", "user_hr@10", "ndcg@10")


def best_setting(
    settings: list[dict[str, Any]], parts: Any, options: RunOptions
) -> tuple[dict[str, Any], float]:
    """The setting with the best validation NDCG@20, if there is a choice."""
    if len(settings) == 1:
        return settings[0], float("nan")
    scored = []
    for setting in settings:
        began = time.perf_counter()
        model = BPR(**setting).fit(parts.train, parts.validation, options)
        value = max(row.get("validation_ndcg@20", 0.0) for row in model.history_)
        seconds = time.perf_counter() - began
        options.progress.note(
            f"{value:.4f} after {model.epochs_} epochs, {seconds:.0f} s: {setting}"
        )
        scored.append((value, setting))
    value, setting = max(scored, key=lambda one: one[0])
    return setting, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--grid", type=json.loads, default={})
    parser.add_argument("--validation", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    options = RunOptions(
        seed=arguments.seed, threads=arguments.threads, progress=TerminalProgress()
    )
    data = load_data(arguments.data)
    parts = split(data, method="given", validation=arguments.validation, seed=arguments.seed)
    values = [v if isinstance(v, list) else [v] for v in arguments.grid.values()]
    settings = [
        dict(zip(arguments.grid, chosen, strict=True)) for chosen in itertools.product(*values)
    ]
    chosen, _ = best_setting(settings, parts, options)
    began = time.perf_counter()
    model = fit_with_validation(BPR(**chosen), parts.train, parts.validation, options)
    seconds = time.perf_counter() - began
    assert parts.validation is not None
    seen = parts.train.union(parts.validation)
    result = evaluate(model.representation_, seen, parts.test, options=options)
    row = {"model": "bpr", "config": model.config.model_dump(), "seconds_fit": seconds}
    row |= {name: result[name] for name in METRICS}
    if arguments.json:
        print(json.dumps({"data": arguments.data, "split": parts.describe(), "rows": [row]}))
    else:
        for name, value in row.items():
            print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
