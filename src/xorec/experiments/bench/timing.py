"""The clock of `xorec bench search`: rounds in which every method runs once, and their rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.progress import Task
from xorec.experiments.bench.data import SearchData, part_of
from xorec.experiments.bench.methods import Method
from xorec.search.hits import Exclude

Mode = Literal["single", "batch"]
FEWEST = {"single": 5, "batch": 64}
"""Queries that are timed even when they take longer than the budget."""
_TRIAL = 32
_FIRST = 2

FAISS_FLAT = "faiss-binary-flat"


@dataclass(eq=False)
class Run:
    """One method in one mode. seconds, cpu_seconds: of all queries, for each round.

    A round counts whole, not by the median of its calls: on a busy machine a short call mostly
    escapes other work and a long one never does, and ratios of medians would flatter the short.
    """

    method: Method
    mode: Mode
    exclude: Exclude | None = None
    seen: int = 0
    recall: float = 1.0
    queries: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.method.name}, {self.mode}" + (f", {self.seen} seen" if self.seen else "")

    def requests(self, queries: int) -> list[tuple[npt.NDArray[Any], Exclude | None]]:
        """What the first `queries` queries ask for: call by call, or in one call."""
        size = 1 if self.mode == "single" else queries
        bounds = [(begin, begin + size) for begin in range(0, queries, size)]
        return [
            (
                self.method.queries[begin:end],
                None if self.exclude is None else part_of(self.exclude, begin, end),
            )
            for begin, end in bounds
        ]

    def answers(self, queries: int) -> tuple[npt.NDArray[Any], ...]:
        """Items, distances or scores, and counts of the first `queries` queries."""
        found = [self.method.search(*request) for request in self.requests(queries)]
        items = np.concatenate([part[0] for part in found])
        values = np.concatenate([part[1] for part in found])
        counts = [part[2] for part in found if part[2] is not None]
        return items, values, np.concatenate(counts) if counts else (items >= 0).sum(axis=1)

    def time(self, queries: int) -> tuple[float, float]:
        """Seconds of the first `queries` queries: by the clock, and of the processor."""
        search, requests = self.method.search, self.requests(queries)
        cpu, began = time.process_time(), time.perf_counter()
        for request in requests:
            search(*request)
        return time.perf_counter() - began, time.process_time() - cpu

    def calibrate(self, budget: float) -> None:
        """Warm up, then take as many queries as fit into `budget` seconds."""
        available = len(self.method.queries)
        trial = min(available, FEWEST["single"] if self.mode == "single" else _TRIAL)
        self.time(trial)
        each = self.time(trial)[0] / trial
        self.queries = min(available, max(FEWEST[self.mode], int(budget / each)))

    @property
    def us(self) -> npt.NDArray[np.float64]:
        """Microseconds per query of each round."""
        return np.array(self.seconds) / self.queries * 1e6

    @property
    def spread(self) -> float:
        """The interquartile range of the rounds, in microseconds per query."""
        low, high = np.percentile(self.us, [25, 75])
        return float(high - low)


def measure(runs: Sequence[Run], repeats: int, budget: float, task: Task) -> None:
    """`repeats` rounds in which every run has its turn, so that all share the machine's moods.

    Each round has an order of its own, and every turn begins off the clock: two single queries, or
    the whole batch once, for a method whose scores fill fresh pages pays dearly for the first.
    """
    for run in runs:
        run.calibrate(budget)
        task.advance(method=run.label)
    for turn in range(repeats):
        for at in np.random.default_rng(turn).permutation(len(runs)):
            run = runs[at]
            run.time(run.queries if run.mode == "batch" else min(run.queries, _FIRST))
            seconds, cpu = run.time(run.queries)
            run.seconds.append(seconds)
            run.cpu_seconds.append(cpu)
            task.advance(method=run.label)


def rows_of(runs: Sequence[Run], data: SearchData, k: int) -> list[dict[str, Any]]:
    """One flat row a run (names: ARCHITECTURE.md)."""
    rows: list[dict[str, Any]] = [
        {
            "method": run.method.name,
            "mode": run.mode,
            "items": data.n_items,
            "bits": data.bits,
            "k": k,
            "us_per_query": float(np.median(run.us)),
            "recall": run.recall,
            "spread": run.spread,
            "cpu_us_per_query": float(np.median(run.cpu_seconds)) / run.queries * 1e6,
            "codes": data.codes,
            "seen": run.seen,
            "queries": run.queries,
            "bytes_per_item": run.method.bytes_per_item,
            "build_seconds": run.method.build_seconds,
        }
        for run in runs
    ]
    return with_speedups(rows)


def with_speedups(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one size with how many times as fast they are as faiss, and as the best float row.

    Both are of the same mode and without seen lists; None where they did not run. A row with seen
    lists also has `seen_cost`: its time over that of the same method without.
    """

    def times(row: dict[str, Any], other: dict[str, Any] | None) -> float | None:
        return None if other is None else other["us_per_query"] / row["us_per_query"]

    result = []
    for row in rows:
        rivals = [one for one in rows if one["mode"] == row["mode"] and not one["seen"]]
        flat = next((one for one in rivals if one["method"] == FAISS_FLAT), None)
        more = {
            "speedup_faiss_flat": times(row, flat),
            "speedup_best_float": times(row, best_float(rivals)),
        }
        if row["seen"]:
            own = next((one for one in rivals if one["method"] == row["method"]), None)
            cost = times(row, own)
            more["seen_cost"] = None if cost is None else 1 / cost
        result.append({**row, **more})
    return result


def best_float(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The fastest of the float rows."""
    floats = [row for row in rows if row["method"].startswith("float-")]
    return min(floats, key=lambda row: float(row["us_per_query"]), default=None)


@contextmanager
def thread_limit(threads: int, modules: Sequence[str]) -> Iterator[None]:
    """At most `threads` threads for BLAS, OpenMP and these modules, which are imported."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        if "faiss" in modules:
            import faiss

            faiss.omp_set_num_threads(threads)
        if "torch" not in modules:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
