"""Full-ranking evaluation against `implicit.evaluation.ranking_metrics_at_k`, on the same vectors.

    python benchmarks/evaluation.py --data ../shared/data/yelp2018 --threads 2 --repeats 5 --json

Runs are interleaved and medians reported. implicit computes four metrics at one K; xorec computes
all of its metrics, those over random tie orders too, at four ks, and once at that one K. Then the
rankings are handed to ir-measures, an independent implementation, and every user's metrics held
against it. Needs the extra `peers`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

from xorec.core.options import RunOptions
from xorec.core.threads import available_threads
from xorec.data.interactions import Interactions
from xorec.data.io.read import read
from xorec.data.split import split
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.protocol import KS, Evaluation, evaluate
from xorec.evaluation.rankings import block_size
from xorec.lab.bench.harness import interleaved, median
from xorec.representations.vectors import Vectors
from xorec.search.top_k import top_k

K = 20
MEASURES = ("ndcg", "recall", "precision", "user_hr", "map", "mrr")


def main() -> None:
    arguments = parse()
    parts = split(read(arguments.data), method=arguments.split)
    vectors = make_vectors(parts.train, arguments.dimensions, arguments.seed)
    rows = race(vectors, parts.train, parts.test, arguments.threads, arguments.repeats)
    result = {
        "data": {
            "path": str(arguments.data),
            "users": parts.train.n_users,
            "items": parts.train.n_items,
            "test_pairs": parts.test.n_pairs,
        },
        "dimensions": arguments.dimensions,
        "rows": rows,
        "check": check(vectors, parts.train, parts.test, arguments.check_users),
    }
    print(json.dumps(result, indent=1) if arguments.json else table(result))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="a data set with a split")
    parser.add_argument("--split", default="given", help="given, random, ... (xorec.split)")
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--threads", type=int, default=available_threads())
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--check-users", type=int, default=3000, help="users for ir-measures")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def make_vectors(train: Interactions, dimensions: int, seed: int) -> Vectors:
    """Truncated SVD of the training matrix: scores as a real model has them, seen items high."""
    start = np.random.default_rng(seed).standard_normal(min(train.n_users, train.n_items))
    left, values, right = svds(train.matrix(), k=dimensions, v0=start, tol=1e-2)
    scaled = np.ascontiguousarray(left * values, dtype=np.float32)
    return Vectors(scaled, np.ascontiguousarray(right.T, dtype=np.float32))


def race(
    vectors: Vectors, train: Interactions, test: Interactions, threads: int, repeats: int
) -> list[dict[str, Any]]:
    """Seconds and peak memory of every contestant, interleaved; the first round is not counted."""
    options = RunOptions(threads=threads)
    implicit = implicit_evaluation(vectors, train, test, threads)
    contestants: list[tuple[str, tuple[int, ...], Callable[[], object]]] = [
        ("xorec", KS, lambda: evaluate(vectors, train, test, options=options)),
        ("xorec", (K,), lambda: evaluate(vectors, train, test, ks=(K,), options=options)),
        ("implicit, BLAS on 1 thread", (K,), lambda: implicit(1)),
        ("implicit, BLAS on all threads", (K,), lambda: implicit(threads)),
    ]
    turns = {f"{name} {ks}": partial(measure, run) for name, ks, run in contestants}
    for turn in turns.values():
        turn()  # not counted
    runs = list(interleaved(turns, repeats).values())
    rows: list[dict[str, Any]] = []
    for (method, ks, _), figures_of in zip(contestants, runs, strict=True):
        seconds, cpu, peaks = zip(*figures_of, strict=True)
        rows.append(
            {
                "method": method,
                "ks": list(ks),
                "threads": threads,
                "seconds": median(seconds),
                "fastest": min(seconds),
                "slowest": max(seconds),
                "cpu_seconds": median(cpu),
                "peak_mb": max(peaks),
            }
        )
    peer = min(row["seconds"] for row in rows[2:])
    return [{**row, "times_faster": peer / row["seconds"]} for row in rows]


def implicit_evaluation(
    vectors: Vectors, train: Interactions, test: Interactions, threads: int
) -> Callable[[int], object]:
    """implicit's own evaluation of the same vectors, given the number of BLAS threads."""
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    with threadpool_limits(1, user_api="blas"):
        model = AlternatingLeastSquares(factors=vectors.user_vectors.shape[1])
    model.user_factors, model.item_factors = vectors.user_vectors, vectors.item_vectors
    seen, wanted = (
        csr_matrix(
            (
                np.ones(part.n_pairs, np.float32),
                part.indices.astype(np.int32),
                part.indptr.astype(np.int32),
            ),
            shape=(part.n_users, part.n_items),
        )
        for part in (train, test)
    )

    def run(blas_threads: int) -> object:
        with threadpool_limits(blas_threads, user_api="blas"):
            return ranking_metrics_at_k(
                model, seen, wanted, K=K, show_progress=False, num_threads=threads
            )

    return run


def measure(run: Callable[[], object]) -> tuple[float, float, float]:
    """(seconds, CPU seconds, MB above the start at the highest: sampled every 5 ms)."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    done, peak, before = threading.Event(), [0], resident()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, cpu = time.perf_counter(), time.process_time()
    try:
        run()
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
    finally:
        done.set()
        watcher.join()
    return took, cpu, max(peak[0] - before, 0) / 1e6


def resident() -> int:
    """Bytes of memory in use by this process (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def check(
    vectors: Vectors, train: Interactions, test: Interactions, n_users: int
) -> dict[str, Any]:
    """The largest difference of any user's metric from ir-measures, on the same rankings."""
    import ir_measures as ir

    found = evaluate(vectors, train, test)
    users = found.users[:n_users]
    run = {str(at): shown for at, shown in enumerate(rankings(vectors, train, users))}
    qrels = {str(at): {str(i): 1 for i in test.of_user(int(u))} for at, u in enumerate(users)}
    peers = (ir.nDCG, ir.R, ir.P, ir.Success, ir.AP, ir.RR)
    names = {
        peer @ k: f"{name}@{k}" for k in KS for name, peer in zip(MEASURES, peers, strict=True)
    }
    worst = 0.0
    for value in ir.iter_calc(list(names), qrels, run):
        ours = our_value(found, names[value.measure], int(value.query_id))
        worst = max(worst, abs(ours - value.value))
    return {"users": len(users), "largest_difference_from_ir_measures": worst}


def rankings(
    vectors: Vectors, train: Interactions, users: npt.NDArray[np.int64]
) -> Iterator[dict[str, float]]:
    """For each user the items shown, best first, in the blocks of `evaluate`: the same scores."""
    tie = tie_rank(train.items, train.item_counts, 0)
    size = block_size(train.n_items)
    for start in range(0, len(users), size):
        block = users[start : start + size]
        seen = np.concatenate([train.of_user(int(user)) for user in block])
        indptr = np.concatenate([[0], np.cumsum(train.user_counts[block])])
        with threadpool_limits(1, user_api="blas"):
            scores = vectors.scores(block)
        for items, _ in top_k(scores, max(KS), tie, (indptr, seen)):
            yield {str(item): -float(place) for place, item in enumerate(items)}


def our_value(found: Evaluation, name: str, at: int) -> float:
    """Our metric of one user; AP by their convention, divided by all relevant items."""
    value = float(found.per_user[name][at])
    if name.startswith("map@"):
        count = int(found.test_counts[at])
        value *= min(int(name.removeprefix("map@")), count) / count
    return value


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{'':30}{'ks':>13}{'seconds':>9}{'CPU':>7}{'faster':>8}{'peak MB':>9}"]
    for row in result["rows"]:
        ks = ",".join(map(str, row["ks"]))
        lines.append(
            f"{row['method']:30}{ks:>13}{row['seconds']:9.2f}{row['cpu_seconds']:7.2f}"
            f"{row['times_faster']:7.2f}x{row['peak_mb']:9.0f}"
        )
    check = result["check"]
    worst = check["largest_difference_from_ir_measures"]
    lines.append(f"largest difference from ir-measures, {check['users']} users: {worst:.1e}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
