"""One epoch of BPR and SIML beside implicit's BPR: same data, triplets and threads, one run.

    python benchmarks/train.py --data path/to/yelp2018 --threads 2 --json

Seconds are for as many triplets as there are pairs: SIML with its 20 negatives a pair sees 20 times
as many in an epoch, which is taken into account. A round times a short and a long fit of
each side, one after the other, and takes the difference, so set-up does not count; the table has
the medians over the rounds. Each side's peak memory is that of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import TRAIN, Interactions
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.siml import DEFAULTS, SIML

SHORT, LONG = 1, 6


def training_part(path: str) -> Interactions:
    data = load_data(path)
    return data if data.parts is None else data.select(data.parts == TRAIN)


def fit_bpr(train: Interactions, dimensions: int, threads: int, epochs: int) -> None:
    model = BPR(dimensions=dimensions, negatives=1, epochs=epochs)
    model.fit(train, options=RunOptions(threads=threads))


def fit_siml(train: Interactions, dimensions: int, threads: int, epochs: int) -> None:
    model = SIML(**DEFAULTS, dimensions=dimensions, epochs=epochs)
    model.fit(train, options=RunOptions(threads=threads))


def fit_siml_1(train: Interactions, dimensions: int, threads: int, epochs: int) -> None:
    model = SIML(**{**DEFAULTS, "negatives": 1}, dimensions=dimensions, epochs=epochs)
    model.fit(train, options=RunOptions(threads=threads))


def fit_implicit(train: Interactions, dimensions: int, threads: int, epochs: int) -> None:
    from implicit.bpr import BayesianPersonalizedRanking
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(train.matrix())
    model = BayesianPersonalizedRanking(
        factors=dimensions, iterations=epochs, num_threads=threads, random_state=0
    )
    model.fit(matrix, show_progress=False)


SIDES: dict[str, Callable[[Interactions, int, int, int], None]] = {
    "xorec-bpr": fit_bpr,
    "xorec-siml": fit_siml,
    "xorec-siml-1": fit_siml_1,
    "implicit-bpr": fit_implicit,
}


NEGATIVES = {"xorec-siml": DEFAULTS["negatives"]}


def epoch_seconds(method: str, train: Interactions, dimensions: int, threads: int) -> float:
    """Seconds of one epoch: a long fit less a short one."""
    times = []
    for epochs in (SHORT, LONG):
        began = time.perf_counter()
        SIDES[method](train, dimensions, threads, epochs)
        times.append(time.perf_counter() - began)
    return float((times[1] - times[0]) / (LONG - SHORT) / NEGATIVES.get(method, 1))


def peak_megabytes(method: str, arguments: argparse.Namespace) -> float:
    words = ["--data", arguments.data, "--dimensions", str(arguments.dimensions)]
    words += ["--threads", str(arguments.threads), "--peak-of", method]
    return float(subprocess.check_output([sys.executable, __file__, *words], text=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peak-of", choices=SIDES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    train = training_part(arguments.data)
    size = (arguments.dimensions, arguments.threads)
    if arguments.peak_of:
        SIDES[arguments.peak_of](train, *size, 2)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    for method in SIDES:
        SIDES[method](train, *size, 1)  # compile, warm up
    seconds: dict[str, list[float]] = {method: [] for method in SIDES}
    for _ in range(arguments.rounds):
        for method in SIDES:
            seconds[method].append(epoch_seconds(method, train, *size))
    rows: list[dict[str, Any]] = [
        {
            "method": method,
            "threads": arguments.threads,
            "dimensions": arguments.dimensions,
            "triplets_per_second": train.n_pairs / statistics.median(times),
            "seconds_per_epoch": statistics.median(times),
            "fastest": min(times),
            "slowest": max(times),
            "peak_mb": peak_megabytes(method, arguments),
        }
        for method, times in seconds.items()
    ]
    theirs = seconds["implicit-bpr"]
    for row, ours in zip(rows, seconds.values(), strict=True):
        row["times_as_fast"] = statistics.median(t / o for o, t in zip(ours, theirs, strict=True))
    if arguments.json:
        print(json.dumps({"data": arguments.data, "rows": rows}))
        return
    for row in rows:
        print(
            f"{row['method']:13} {row['threads']} threads  {row['seconds_per_epoch']:.3f} s/epoch "
            f"({row['fastest']:.3f} to {row['slowest']:.3f})  "
            f"{row['triplets_per_second'] / 1e6:.2f} M triplets/s  {row['peak_mb']:.0f} MB  "
            f"{row['times_as_fast']:.2f} times as fast"
        )


if __name__ == "__main__":
    main()
