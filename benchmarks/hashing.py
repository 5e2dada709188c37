"""The hashing field, tuned: every method at several lengths, its trials on one validation part.

    python benchmarks/hashing.py --data ml-1m --methods dcf,dpr,dsiml --out hashing/ml-1m \\
        --settings benchmarks/settings/hashing.toml

As `field.py`, with codes. A method is a table of --settings: its `model` (its own name, if none is
given), the settings that do not move, and its start; or `like`, the method whose trials it shares,
and what it has besides. Trials are made at --tune-at bits; the best
settings then learn from all training pairs at every length of --bits, and are tested once. Vectors
that methods start from are learned once and kept in --cache. --table: only print what is there;
--times: when all is quiet, microseconds of single queries, methods in turn. Bits of a user, an
item and of all together (codebooks) are what the method needs, not what fills up words. p: the
paired test of NDCG@10 against --against at the same length.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from field import MAIN, Field, accuracy_cells, cost_cells, p_cell, print_markdown
from xorec.cli.arguments import read_config
from xorec.core.files import replacing
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.split import Method, split
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.significance import compare
from xorec.representations.base import Representation
from xorec.search.index import Index, index_of

QUERIES, ROUNDS = 200, 5


def settings_of(method: str, tables: dict[str, Any], bits: int) -> tuple[str, dict[str, Any]]:
    """(the model of a method, the settings that do not move)."""
    fixed = {**tables.get(method, {}), "bits": bits}
    starts = tables.get("starts", {})
    if "start" in fixed and isinstance(fixed["start"], str):
        fixed["start"] = {"model": fixed["start"], **starts.get(fixed["start"], {})}
    return fixed.pop("model", method), fixed


def run(field: Field, method: str, tables: dict[str, Any], arguments: Any) -> None:
    """Tune one method, then fit and test it at every length; rows go to a file of its own."""
    own = dict(tables.get(method, {}))
    tuned = own.pop("like", method)
    model, fixed = settings_of(tuned, tables, arguments.tune_at)
    facts, best = field.tuned(tuned, model, fixed, arguments.trials, arguments.timeout * 60)
    best |= {} if tuned == method else own
    rows = []
    for bits in arguments.bits:
        row = {**field.tested(model, {**best, "bits": bits}), **facts}
        rows.append({**row, "method": method, "bits": bits})
        field.options.progress.note(f"{method} {bits}: {MAIN} {row[MAIN]:.4f}")
        with replacing(arguments.out / f"{method}.rows") as temporary:
            temporary.write_text(json.dumps(rows))


def kept_rows(arguments: Any) -> list[dict[str, Any]]:
    """The rows of all methods that are done."""
    rows: list[dict[str, Any]] = []
    for method in arguments.methods:
        path = arguments.out / f"{method}.rows"
        rows += json.loads(path.read_text()) if path.exists() else []
    return rows


def add_significance(field: Field, rows: list[dict[str, Any]], against: str) -> None:
    """The interval of the main metric, and p against one method at the same length."""
    others = {row["bits"]: row for row in rows if row["method"] == against}
    for row in rows:
        own = field.evaluation(row)
        interval = own.interval(MAIN)
        row |= {f"{MAIN}_low": interval.low, f"{MAIN}_high": interval.high}
        other = others.get(row["bits"])
        if other is not None and row is not other:
            row["p"] = compare(own, field.evaluation(other), MAIN).p_value


def time_queries(field: Field, rows: list[dict[str, Any]]) -> None:
    """Median microseconds of one query, k = 10, own items left out: methods take turns."""
    seen = field.all
    rank = tie_rank(seen.items, seen.item_counts)
    users = np.linspace(0, seen.n_users - 1, QUERIES).astype(np.int64)
    for bits in sorted({row["bits"] for row in rows}):
        of = [row for row in rows if row["bits"] == bits]
        learned = [field.representation(row) for row in of]
        indexes = [index_of(one, rank) for one in learned]
        times = np.empty((ROUNDS, len(of)))
        for turn in range(ROUNDS + 1):  # the first is to warm up
            for at, one in enumerate(learned):
                times[turn - 1, at] = _median_time(one, indexes[at], seen, users)
        for at, row in enumerate(of):
            row["us"] = float(np.median(times[:, at]))


def _median_time(one: Representation, index: Index, seen: Interactions, users: Any) -> float:
    times = []
    for user in users:
        own = seen.of_user(int(user))
        lists = (np.array([0, len(own)]), own)
        query = one.queries(np.array([user]))
        began = time.perf_counter()
        index.search(query, 10, exclude=lists)
        times.append(time.perf_counter() - began)
    return float(np.median(times) * 1e6)


def print_tables(rows: list[dict[str, Any]], against: str) -> None:
    """Markdown, a table for each length."""
    heads = ["method", "NDCG@10 [95 %]", "HR@10", "HR@50", "HR@100", "bits user / item"]
    heads += ["shared KB", "us a query", "fit, s", "trials, s", f"p against {against}"]
    for bits in sorted({row["bits"] for row in rows}):
        print(f"\n{bits} bits an item\n")
        cells = [
            [
                row["method"],
                *accuracy_cells(row),
                f"{row['user_bits']:,} / {row['item_bits']:,}",
                f"{row['shared_bits'] / 8192:,.0f}",
                f"{row.get('us', row['us_per_query']):.1f}",
                *cost_cells(row),
                p_cell(row),
            ]
            for row in rows
            if row["bits"] == bits
        ]
        print_markdown(heads, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--methods", type=lambda text: text.split(","), required=True)
    parser.add_argument("--bits", type=int, nargs="+", default=[20, 32, 64])
    parser.add_argument("--tune-at", type=int, default=32, help="the length that trials have")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True, help="a folder for this data set")
    parser.add_argument("--settings", type=Path, help="TOML or JSON, a table for each method")
    parser.add_argument("--cache", type=Path, help="a folder for start vectors; else --out/starts")
    parser.add_argument("--timeout", type=float, default=float("inf"), help="minutes of trials")
    parser.add_argument("--against", default="dsiml")
    parser.add_argument("--table", action="store_true", help="print what is there")
    parser.add_argument("--times", action="store_true", help="and time single queries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    progress = SILENT if arguments.quiet else TerminalProgress()
    cache = arguments.cache or arguments.out / "starts"
    options = RunOptions(
        seed=arguments.seed, threads=arguments.threads, progress=progress, cache=cache
    )
    data = load_data(arguments.data)
    kind: Method = "random" if data.parts is None else "given"
    parts = split(data, method=kind, test=0.2, validation=0.1, seed=arguments.seed)
    field = Field(parts, arguments.out, {}, options)
    if not (arguments.table or arguments.times):
        tables = read_config(arguments.settings)
        for method in arguments.methods:
            run(field, method, tables, arguments)
    rows = kept_rows(arguments)
    add_significance(field, rows, arguments.against)
    if arguments.times:
        time_queries(field, rows)
    if arguments.json:
        print(json.dumps({"data": arguments.data, "split": parts.describe(), "rows": rows}))
    else:
        print_tables(rows, arguments.against)


if __name__ == "__main__":
    main()
