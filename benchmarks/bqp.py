"""BQP solvers on problems such as training makes, beside SCIP and Xpress in the same run.

    python benchmarks/bqp.py --bits 20,32,64 --peers xpress,scip --json

Our kernels run on one thread, as the sweeps call them; runs are interleaved and the median of the
repeats is reported. The peers take the first few problems only (they are slow), on as many threads
as they like, each stopped at the time limit; "times_faster" compares the same problems, and is too
small where a peer was stopped. The gap is a share of the way from the mean value over all codes
down to the optimum, which the exact solver proves. The peers need the extra `solvers`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.testing.block_problems import BlockProblems
from xorec.training.discrete.bqp.exact import exact_range
from xorec.training.discrete.bqp.local_search import Stack, descend_range, tabu_range

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.external_solvers import make_external_solver

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]
Problems = tuple[Floats, Floats, Codes]
STARTS = 8
NODES = 100_000_000
SHARED = {20: 8, 32: 4, 64: 2}
"""Bits: how many problems of each kind the peers take."""


def main() -> None:
    arguments = parse()
    rows: list[dict[str, Any]] = []
    for bits in arguments.bits:
        for codes in ("random", "clustered"):
            for temperature in (float(bits), 3.0):
                kind = BlockProblems(bits=bits, codes=codes, temperature=temperature)
                n = max(12, arguments.problems * 20 // bits)
                found = compare(kind.draw(n, arguments.seed), arguments)
                facts = {"bits": bits, "codes": codes, "temperature": temperature}
                rows += [{**facts, **row} for row in found]
                if not arguments.json:
                    print("\n".join(line({**facts, **row}) for row in found), flush=True)
    if arguments.json:
        print(json.dumps({"rows": rows}, indent=1))


def parse() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--bits", type=numbers, default=[20, 32, 64])
    parser.add_argument("--problems", type=int, default=200, help="of each kind, at 20 bits")
    parser.add_argument("--peers", default="xpress,xpress-cvxpy,scip", help="or none")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds, of a peer")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def compare(problems: Problems, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One row for each of our methods and each peer, on one kind of problem."""
    ours, optimum, nodes, proven = race(problems, arguments.repeats)
    shared = min(SHARED.get(problems[2].shape[1], 1), len(nodes))
    names = [name for name in arguments.peers.split(",") if name and name != "none"]
    peers = {name: run_peer(name, problems, shared, arguments.time_limit) for name in names}
    rows: list[dict[str, Any]] = []
    for method, (times, codes) in ours.items():
        row = quality(problems, codes, optimum) | {
            "method": method,
            "us_per_problem": statistics.mean(times) * 1e6,
            "slowest_us": max(times) * 1e6 if method == "exact" else None,
            "proven": float(proven.mean()) if method == "exact" else 0.0,
            "nodes": float(nodes.mean()) if method == "exact" else None,
        }
        own = statistics.mean(times[:shared])
        row["times_faster"] = {
            name: statistics.mean(seconds) / own for name, (seconds, _, _, _) in peers.items()
        }
        rows.append(row)
    for name, (seconds, codes, peer_nodes, peer_proven) in peers.items():
        rows.append(
            quality(problems, codes, optimum)
            | {
                "method": name,
                "us_per_problem": statistics.mean(seconds) * 1e6,
                "slowest_us": max(seconds) * 1e6,
                "proven": statistics.mean(peer_proven),
                "nodes": statistics.mean(peer_nodes) or None,
            }
        )
    return rows


def race(
    problems: Problems, repeats: int
) -> tuple[dict[str, tuple[list[float], Codes]], Floats, Floats, npt.NDArray[np.bool_]]:
    """({method: (seconds of each problem, codes)}, optima, nodes, proven)."""
    A, c, start = problems
    n, d = start.shape
    stacks = {
        name: Stack(A, c, start.copy(), np.zeros(n, np.int64), np.zeros(n, np.bool_))
        for name in ("descent", "tabu", "exact")
    }
    work: dict[str, Callable[[int, int], None]] = {
        "descent": lambda b, e: descend_range(stacks["descent"], b, e),
        "tabu": lambda b, e: tabu_range(stacks["tabu"], STARTS, d, 0, b, e),
        "exact": lambda b, e: exact_range(stacks["exact"], 0, NODES, b, e),
    }
    pieces = {"descent": [(0, n)], "tabu": [(0, n)], "exact": [(at, at + 1) for at in range(n)]}
    runs: dict[str, list[list[float]]] = {name: [] for name in work}
    for turn in range(repeats + 1):
        for name, run in work.items():
            stacks[name].Z[:] = start
            took = [timed(run, begin, end) for begin, end in pieces[name]]
            if turn:  # the first round may compile
                runs[name].append(took * (n // len(took)))
    times = {
        name: np.median(np.array(all_runs), axis=0).tolist() for name, all_runs in runs.items()
    }
    return (
        {name: (times[name], stacks[name].Z) for name in work},
        values(A, c, stacks["exact"].Z),
        stacks["exact"].steps.astype(np.float64),
        stacks["exact"].proven,
    )


def timed(run: Callable[[int, int], None], begin: int, end: int) -> float:
    """Seconds for each problem."""
    start = time.perf_counter()
    run(begin, end)
    return (time.perf_counter() - start) / (end - begin)


def run_peer(
    name: str, problems: Problems, shared: int, time_limit: float
) -> tuple[list[float], Codes, list[int], list[bool]]:
    """(seconds, codes, nodes, proven) of the first problems."""
    A, c, start = problems
    solver = make_external_solver(name, time_limit=time_limit)
    solver.solve(np.eye(2), np.ones(2))  # load the package
    seconds, codes, nodes, proven = [], [], [], []
    for row in range(shared):
        began = time.perf_counter()
        found = solver.solve(A[row], c[row], start[row])
        seconds.append(time.perf_counter() - began)
        codes.append(found.z)
        nodes.append(found.steps)
        proven.append(found.proven)
    return seconds, np.array(codes), nodes, proven


def quality(problems: Problems, codes: Codes, optimum: Floats) -> dict[str, Any]:
    """Share at the optimum and mean gap of the first len(codes) problems."""
    A, c = problems[0][: len(codes)], problems[1][: len(codes)]
    optimum = optimum[: len(codes)]
    span = np.trace(A, axis1=1, axis2=2) - optimum  # the mean value over all codes is the trace
    gap = (values(A, c, codes) - optimum) / span
    return {
        "problems": len(codes),
        "at_optimum": float((gap < 1e-9).mean()),
        "mean_gap": float(np.maximum(gap, 0.0).mean()),
    }


def values(A: Floats, c: Floats, Z: Codes) -> Floats:
    """z'Az + c'z of each problem."""
    z = Z.astype(np.float64)
    found: Floats = np.einsum("ni,nij,nj->n", z, A, z) + np.einsum("ni,ni->n", c, z)
    return found


def line(row: dict[str, Any]) -> str:
    """One row for people."""
    faster = ", ".join(f"{x:,.0f}x {name}" for name, x in row.get("times_faster", {}).items())
    nodes = "" if row["nodes"] is None else f"{row['nodes']:,.0f} nodes"
    return (
        f"{row['bits']:3} {row['codes']:9} tau {row['temperature']:<4g} {row['method']:12} "
        f"{row['us_per_problem']:13,.1f} us  optimum {row['at_optimum']:4.0%}  "
        f"gap {row['mean_gap']:.1e}  proven {row['proven']:4.0%}  {nodes:>16}  {faster}"
    )


if __name__ == "__main__":
    main()
