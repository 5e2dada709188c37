"""What bits keep of SIML, by length, on one data set; the test part once for each row.

    python benchmarks/bits.py --data path/to/yelp2018 --start epochs=20 --start alpha=0.5
    python benchmarks/bits.py --data ml-1m --rows "siml,64" --seed 1 --set teacher_list_length=50

Every row learns from nine tenths of the training part; the last tenth tells when SIML's epochs end
and chooses its weight of popularity. Items of both are not listed again. SIML is learned once, with
the settings --start (those left out are raced); all codes start from its vectors. Vectors and rows
are kept in --cache: a run that was stopped goes on (--again forgets the rows). "before": without
slim's lists and offsets, as codes were learned before 0.2. CPU: seconds of the codes' own fit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from xorec.core.files import write_text
from xorec.core.options import RunOptions
from xorec.core.source_digest import source_digest
from xorec.data.datasets.catalog import load_data
from xorec.data.prepare import prepare
from xorec.data.split import Split, as_split
from xorec.evaluation.protocol import evaluate
from xorec.models.pretraining import pretrain
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import popularity_bias
from xorec.models.siml.siml_race import WEIGHTS
from xorec.representations.vectors import Vectors

METRICS = ("ndcg@10", "ndcg@20", "recall@20")

BEFORE = {"teacher_list_length": 0, "distill_weight": 4.0, "temperature": 4.0, "offset": 0.0}
ROWS: dict[str, dict[str, Any]] = {
    "siml": {},
    "20 before": {"bits": 20, **BEFORE, "learning_rate": (20 / 64) ** 0.5},
    "20": {"bits": 20},
    "32": {"bits": 32},
    "64 before": {"bits": 64, **BEFORE},
    "64": {"bits": 64},
    "128": {"bits": 128},
    "64 float users": {"bits": 64, "asymmetric": True},
}


def settings_of(texts: list[str]) -> dict[str, Any]:
    """name=value, the value as JSON or as it is."""
    found = {}
    for name, _, value in (text.partition("=") for text in texts):
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def siml(start: Any, parts: Split, options: RunOptions) -> Vectors:
    """SIML's vectors, with the weight of popularity that the validation part likes best."""
    assert parts.validation is not None
    learned = pretrain(start, parts.train, parts.validation, options)
    best, found = -1.0, None
    for weight in WEIGHTS:
        bias = popularity_bias(parts.train, weight) if weight else None
        tried = Vectors(learned.user_vectors, learned.item_vectors, bias)
        value = evaluate(tried, parts.train, parts.validation, ks=(20,), options=options)["ndcg@20"]
        if value > best:
            best, found = value, tried
    assert found is not None
    return found


def measure(settings: dict[str, Any], parts: Split, options: RunOptions) -> dict[str, Any]:
    """Fit and test one row: SIML, or codes."""
    model = DSIML(**settings)
    vectors = siml(model.config.start, parts, options)
    began, clock = time.process_time(), time.perf_counter()
    if "bits" in settings:
        model.fit(parts.train, parts.validation, options)
    spent = {"cpu": time.process_time() - began, "seconds": time.perf_counter() - clock}
    assert parts.validation is not None
    seen = parts.train.union(parts.validation)
    ranks = model.representation_ if "bits" in settings else vectors
    found = evaluate(ranks, seen, parts.test, ks=(10, 20), options=options)
    return {**{metric: found[metric] for metric in METRICS}, **spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a file, a folder, or the name of a data set")
    parser.add_argument("--core", type=int, default=0, help="users and items of so many pairs only")
    parser.add_argument("--rows", default=",".join(ROWS), help="with commas")
    parser.add_argument("--set", action="append", default=[], help="setting=value of all codes")
    parser.add_argument("--start", action="append", default=[], help="setting=value of SIML")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    data = load_data(asked.data)
    data = prepare(data, core=asked.core) if asked.core else data
    parts = as_split(data, seed=asked.seed)
    asked.cache.mkdir(parents=True, exist_ok=True)
    options = RunOptions(seed=asked.seed, threads=asked.threads, cache=asked.cache)
    more, start = settings_of(asked.set), settings_of(asked.start)
    print("| row | NDCG@10 | NDCG@20 | of siml | Recall@20 | CPU s |\n|---|---|---|---|---|---|")
    rows: dict[str, dict[str, Any]] = {}
    for name in asked.rows.split(","):
        settings = {**ROWS[name], **({} if name == "siml" else more), "start": start}
        key = [parts.train.digest(), parts.describe(), settings, asked.seed, source_digest()]
        digest = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=10)
        path = asked.cache / f"row-{digest.hexdigest()}.json"
        if asked.again or not path.exists():
            write_text(path, json.dumps(measure(settings, parts, options)))
        row = rows[name] = json.loads(path.read_text())
        share = f"{row['ndcg@20'] / rows['siml']['ndcg@20']:.3f}" if "siml" in rows else ""
        print(
            f"| {name} | {row['ndcg@10']:.4f} | {row['ndcg@20']:.4f} | {share} "
            f"| {row['recall@20']:.4f} | {row['cpu']:.0f} |",
            flush=True,
        )
    if asked.json:
        print(
            json.dumps(
                {"data": asked.data, "seed": asked.seed, "set": more, "start": start, "rows": rows}
            )
        )


if __name__ == "__main__":
    main()
