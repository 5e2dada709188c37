"""Reading a large CSV: `xorec.read` beside polars' own `read_csv` of the same columns.

    python benchmarks/read_csv.py --rows 10000000 --repeats 5 --json

The file is made first (seeded, users and items by a power law, whole-number or text ids). Each
run has a process of its own, so that its peak memory is its own; the methods take turns, and
medians are reported. Peak memory is the largest resident size less that after the imports, and
counts the pages of the file that are mapped. polars only parses; xorec numbers the ids, sorts the
pairs and merges repeated ones as well.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xorec.lab.bench.harness import interleaved, median

COLUMNS = ("user", "item", "rating", "timestamp")
METHODS = ("xorec", "polars-read-csv")


def make_file(path: Path, rows: int, ids: str, seed: int) -> None:
    """Write `rows` interactions of rows/50 users with rows/100 items, a few of them repeated."""
    import polars as pl

    random = np.random.default_rng(seed)
    with path.open("wb") as file:
        for start in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - start)
            users = (max(rows // 50, 1) * random.random(size) ** 2).astype(np.int64)
            items = (max(rows // 100, 1) * random.random(size) ** 3).astype(np.int64)
            batch = pl.DataFrame(
                {
                    "user": users,
                    "item": items,
                    "rating": random.integers(1, 6, size),
                    "timestamp": random.integers(10**9, 16 * 10**8, size),
                }
            )
            if ids == "text":  # as long as those of the Amazon reviews
                batch = batch.with_columns(
                    pl.format("A{}", pl.col("user").cast(pl.String).str.zfill(13)).alias("user"),
                    pl.format("B{}", pl.col("item").cast(pl.String).str.zfill(9)).alias("item"),
                )
            batch.write_csv(file, include_header=start == 0)


def run_here(method: str, path: Path) -> dict[str, float]:
    """One run in this process: seconds, processor seconds, and the update of the peak, in MB."""
    import polars as pl

    from xorec.data.io.read import read

    with tempfile.TemporaryDirectory() as folder:  # compiled kernels are loaded before the clock
        small = Path(folder) / "small.csv"
        make_file(small, 1000, "number", 0)
        read(small)
        pl.read_csv(small, columns=list(COLUMNS))
    before = _peak_mb()
    start, processor = time.perf_counter(), time.process_time()
    if method == "xorec":
        pairs = read(path).n_pairs
    else:
        pairs = len(pl.read_csv(path, columns=list(COLUMNS)))
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor,
        "peak_mb": _peak_mb() - before,
        "pairs": pairs,
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_apart(method: str, path: Path) -> dict[str, float]:
    """One run in a process of its own."""
    command = [sys.executable, __file__, "--run", method, "--file", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def compare(path: Path, rows: int, ids: str, repeats: int) -> list[dict[str, Any]]:
    """Both methods in turn, `repeats` times; medians, and ratios to polars."""
    turns = {method: partial(run_apart, method, path) for method in METHODS}
    runs = interleaved(turns, repeats)
    table: list[dict[str, Any]] = []
    for method in METHODS:
        middle = {name: median([run[name] for run in runs[method]]) for name in runs[method][0]}
        table.append(
            {
                "method": method,
                "ids": ids,
                "rows": rows,
                "rows_per_second": round(rows / middle["seconds"]),
                **{name: round(value, 2) for name, value in middle.items()},
            }
        )
    for row in table:
        for name in ("seconds", "processor_seconds", "peak_mb"):
            row[f"{name}_ratio"] = round(row[name] / table[-1][name], 2)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ids", choices=["number", "text", "both"], default="both")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", choices=METHODS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run_here(arguments.run, arguments.file)))
        return
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for ids in ("number", "text") if arguments.ids == "both" else (arguments.ids,):
            path = Path(folder) / f"{ids}.csv"
            make_file(path, arguments.rows, ids, arguments.seed)
            table += compare(path, arguments.rows, ids, arguments.repeats)
            path.unlink()
    if arguments.json:
        print(json.dumps({"rows": table}, indent=1))
        return
    print(f"{'method':<16}{'ids':<8}{'rows/s':>12}{'seconds':>9}{'ratio':>7}{'MB':>7}{'ratio':>7}")
    for row in table:
        print(
            f"{row['method']:<16}{row['ids']:<8}{row['rows_per_second']:>12,}{row['seconds']:>9.2f}"
            f"{row['seconds_ratio']:>7.2f}{row['peak_mb']:>7.0f}{row['peak_mb_ratio']:>7.2f}"
        )


if __name__ == "__main__":
    main()
