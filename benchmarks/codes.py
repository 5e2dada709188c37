"""Codes beside the vectors they come from, on one data set: a markdown table, row by row.

    python benchmarks/codes.py --data debian --cache cache --settings tuned.toml --only dsiml

A given split is kept (validation: a tenth of the training pairs); else a fifth of the pairs is the
test part. The epochs of BPR and SIML, and ALS' settings, are chosen on validation; each row then
learns from all training pairs and is tested once. Vectors and rows are kept in --cache under a
digest of data, split, settings, seed and code, so a run that was stopped goes on. --settings: a
table for each of bpr, siml, als and dsiml, and one for each optimiser of dsiml, TOML or JSON. All
codes start from SIML's vectors of 64 dimensions. Seconds are those of the last fit, its vectors
included.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from codes_bench import MAIN, SHORTLIST, Bench, Maker
from xorec.cli.settings import read_config
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.split import Method, split

BITS = (20, 32, 64, 128)
OPTIMIZERS = ("bqp", "flip", "ste")


def rows_of(bench: Bench) -> dict[str, Maker]:
    """The rows by name, in the order of the table."""
    rows: dict[str, Maker] = {
        name: partial(bench.plain, name) for name in ("popularity", "item-knn")
    }
    rows |= {f"{name} {MAIN}": partial(bench.floats, name) for name in ("bpr", "als", "siml")}
    rows[f"sign(siml) {MAIN}"] = partial(bench.signs, "siml", False)
    for name in ("bpr", "als"):
        rows[f"sign({name}) {MAIN}, turned"] = partial(bench.signs, name, True)
    for bits in BITS:
        rows[f"sign(siml) {bits}, turned"] = partial(bench.signs, "siml", True, bits)
        for one in OPTIMIZERS:
            rows[f"dsiml {one} {bits}"] = partial(bench.dsiml, bits, optimizer=one)
    asymmetric = {"optimizer": "ste", "asymmetric": True}
    rows[f"dsiml ste {MAIN}, float users"] = partial(bench.dsiml, MAIN, **asymmetric)
    rows[f"dsiml ste {MAIN}, best {SHORTLIST} by siml"] = partial(bench.shortlist, "ste")
    return rows


def line(row: dict[str, Any], reference: dict[str, Any] | None) -> str:
    """A row of the markdown table; both values under ties: in expectation / as served."""
    share = "" if reference is None else f"{row['ndcg@20'] / reference['ndcg@20']:.3f}"
    recall, ndcg = (
        f"{row[f'{name}@20_expected']:.4f} / {row[f'{name}@20']:.4f}" for name in ("recall", "ndcg")
    )
    size = f"{row['seconds']:.1f} | {row['bytes']:,}"
    return f"| {row['row']} | {recall} | {ndcg} | {share} | {size} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--settings", type=Path, help="TOML or JSON, a table for each model")
    parser.add_argument("--only", default="", help="rows whose name has one of these, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    progress = SILENT if arguments.quiet else TerminalProgress()
    options = RunOptions(seed=arguments.seed, threads=arguments.threads, progress=progress)
    data = load_data(arguments.data)
    method: Method = "random" if data.parts is None else "given"
    parts = split(data, method=method, test=0.2, validation=0.1, seed=arguments.seed)
    bench = Bench(parts, read_config(arguments.settings), arguments.cache, options)
    wanted = arguments.only.split(",")
    rows = []
    for name, make in rows_of(bench).items():
        if any(word in name for word in wanted):
            options.progress.note(name)
            rows.append(bench.row(name, make))
    if arguments.json:
        print(json.dumps({"data": arguments.data, "split": parts.describe(), "rows": rows}))
        return
    reference = next((row for row in rows if row["row"] == f"siml {MAIN}"), None)
    print("| | Recall@20 (random / serving ties) | NDCG@20 | of SIML's | seconds | bytes |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(line(row, reference))


if __name__ == "__main__":
    main()
