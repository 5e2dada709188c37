"""The field, tuned: methods side by side as `xorec reproduce` compares them, one row each.

    python benchmarks/field.py --data ml-1m --methods bpr,als,siml --dimensions 64 --out field/ml-1m
    python benchmarks/field.py --data ml-1m --methods dcf,dpr,dsiml,dsiml-float --bits 32,20,64 \\
        --trials 4 --against dsiml --config benchmarks/settings/hashing-ml-1m.toml --out field/codes

Choices and tests are those of rq1 and rq2 (docs/reproduce.md), kept in --out. Beyond the report:
any methods together, the 95 % interval of NDCG@10, the seconds of the trials, `like` in a table of
--config (a method that shares another one's choice, and what it has besides), and --last: settings
that only the last fit has (EASE over all items, say). Settings of codes are chosen at the first of
--bits. p: the paired test of NDCG@10 against --against, at the same length. Single queries of each
rule of ranking are timed by `rules.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from xorec.cli.settings import read_config
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.comparison import Comparison
from xorec.lab.reproduce.dataset_run import DatasetRun, evaluation_of
from xorec.lab.reproduce.plan import Winner, lengths_of, make_plan
from xorec.lab.reproduce.question import run_all

MAIN = "ndcg@10"
Row = dict[str, Any]


def choose(
    dataset: DatasetRun, methods: list[str], like: dict[str, Row], last: dict[str, Row]
) -> list[Winner]:
    """The settings of every method: chosen on validation, and what the last fit has besides."""
    found = []
    for method in methods:
        extra = dict(like.get(method, {}))
        source = extra.pop("like", method)
        for bits in lengths_of(source, dataset.plan):
            choice = dataset.choose(source, bits)
            settings = {**choice.settings, **extra, **last.get(method, {})}
            found.append(choice.model_copy(update={"method": method, "settings": settings}))
    return found


def rows_of(comparison: Comparison) -> list[Row]:
    """The rows of the comparison, with intervals and what the choices took."""
    rows = []
    for row, result in zip(comparison.rows(), comparison.results, strict=True):
        interval = evaluation_of(result.tests).interval("ndcg")
        choice = comparison.dataset.choose(result.method, result.bits)
        kept = {name: value for name, value in row.items() if not name.startswith("paper_")}
        more = {
            f"{MAIN}_low": interval.low,
            f"{MAIN}_high": interval.high,
            "bytes": result.tests[0].values["bytes"],
            "trials": choice.trials,
            "seconds_trials": choice.seconds,
            "validation_ndcg@20": choice.validation,
            "default_ndcg@20": choice.default,
            "settings": choice.settings,
        }
        rows.append({**kept, **more})
    return rows


def print_table(rows: list[Row], against: str) -> None:
    """Markdown. HR@k: users with a hit / hits of all test items."""
    heads = ["method", "NDCG@10 [95 %]", "HR@10", "HR@50", "HR@100", "NDCG@20", "Recall@20"]
    heads += ["bits user / item", "shared KB", "fit, s", "trials, s", f"p against {against}"]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        p = row["p"]
        lines.append(
            [
                row["method"],
                f"{row[MAIN]:.4f} [{row[f'{MAIN}_low']:.4f}, {row[f'{MAIN}_high']:.4f}]",
                *(f"{row[f'user_hr@{k}']:.4f} / {row[f'hr@{k}']:.4f}" for k in (10, 50, 100)),
                f"{row['ndcg@20']:.4f}",
                f"{row['recall@20']:.4f}",
                f"{row['user_bits']:,} / {row['item_bits']:,}",
                f"{row['shared_bits'] / 8192:,.0f}",
                f"{row['seconds_fit']:.1f}",
                f"{row['seconds_trials']:.0f} ({row['trials']})",
                "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}",
            ]
        )
    for line in lines:
        print("| " + " | ".join(line) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--methods", required=True, help="names, with commas")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--bits", help="lengths of codes, with commas; vectors if left out")
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True, help="a folder for this data set")
    parser.add_argument("--config", type=Path, help="what does not move, a table for each method")
    parser.add_argument("--last", type=Path, help="the same, for the last fit alone")
    parser.add_argument("--core", type=int, default=0, help="keep users and items with so many")
    parser.add_argument("--against", default="siml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    progress = SILENT if arguments.quiet else TerminalProgress()
    options = RunOptions(seed=arguments.seed, threads=arguments.threads, progress=progress)
    methods = arguments.methods.split(",")
    tables = read_config(arguments.config)
    like = {name: table for name, table in tables.items() if "like" in table}
    lengths = tuple(map(int, arguments.bits.split(","))) if arguments.bits else ()
    plan = make_plan(
        data=({"path": arguments.data, "core": arguments.core},),
        seeds=(arguments.seed,),
        trials=arguments.trials,
        bits=lengths or (64,),
        dimensions=arguments.dimensions,
        settings={**tables, **{name: {"model": table["like"]} for name, table in like.items()}},
    )
    dataset = DatasetRun.open(plan.data[0], plan, Cache(arguments.out), options)
    chosen = choose(dataset, methods, like, read_config(arguments.last))
    plan = plan.model_copy(update={"chosen": tuple(chosen)})
    dataset = DatasetRun(dataset.source, dataset.parts, plan, dataset.cache, options)
    comparison = Comparison(dataset, "field", methods, [arguments.against], lengths)
    run_all(list(comparison.steps()), options)
    rows = rows_of(comparison)
    if arguments.json:
        split = dataset.parts.describe()
        print(json.dumps({"data": arguments.data, "split": split, "rows": rows}))
        return
    print_table(rows, arguments.against)


if __name__ == "__main__":
    main()
