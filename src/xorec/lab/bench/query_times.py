"""How long each method takes, in rounds of turns within a budget; and whether it is exact."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.errors import XorecError
from xorec.core.progress import SILENT, Progress
from xorec.lab.bench.data import BenchData, Rows, lists_of
from xorec.lab.bench.harness import Turn, interleaved
from xorec.lab.bench.methods import Build, Method, Setup, load_kernels
from xorec.search.hits import Exclude

Mode = Literal["single", "batch"]
"""A call for each query, or one for all."""
FEWEST = {"single": 5, "batch": 64}
"""Queries that are timed even when they take longer than the budget."""
WARM_UP = {"single": 2, "batch": 256}
"""Queries that begin a turn off the clock, a tenth of all at least: a method whose scores fill
fresh pages pays dearly for the first."""
SHORTEST = 0.05
"""Seconds of a turn, at least (or the budget): a shorter one is repeated."""

Clock = Callable[[], float]
CHECKED, CHECKED_FLOATS = 50, 20
"""Queries whose answers are looked at."""


@dataclass(eq=False)
class Timings:
    """One method in one mode, with or without seen lists, and how long it took, round by round.

    A round counts whole, not by the median of its calls: on a busy machine a short call mostly
    escapes other work and a long one never does, and ratios of medians would flatter the short.
    queries: how many were measured, evenly spaced over all.
    """

    method: Method
    mode: Mode
    exclude: Exclude | None = None
    recall: float = 1.0
    queries: int = 0
    turns: list[Turn] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """The length of the longest seen list."""
        return 0 if self.exclude is None else int(np.diff(self.exclude[0]).max(initial=0))

    @property
    def label(self) -> str:
        return f"{self.method.name}, {self.mode}" + (f", {self.seen} seen" if self.seen else "")

    def requests(self, rows: Rows) -> list[tuple[npt.NDArray[Any], Exclude | None]]:
        """What these queries ask for, laid out: call by call, or in one call."""
        parts = rows.reshape(-1, 1) if self.mode == "single" else [rows]
        queries = [np.ascontiguousarray(self.method.queries[part]) for part in parts]
        seen = [None if self.exclude is None else lists_of(self.exclude, part) for part in parts]
        return list(zip(queries, seen, strict=True))

    def answers(self, rows: Rows) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Items, distances or scores, and counts of these queries."""
        found = [self.method.search(*request) for request in self.requests(rows)]
        items = np.concatenate([part[0] for part in found])
        values = np.concatenate([part[1] for part in found])
        counts = [part[2] for part in found if part[2] is not None]
        return items, values, np.concatenate(counts) if counts else (items >= 0).sum(axis=1)

    def time_queries(self, queries: int, shortest: float, clock: Clock = time.perf_counter) -> Turn:
        """Of so many queries, evenly spaced; the mean of several passes where one is short."""
        search, requests = self.method.search, self.requests(self._spread(queries))
        cpu, began, passes = time.process_time(), clock(), 0
        while True:
            for request in requests:
                search(*request)
            passes += 1
            seconds = clock() - began
            if seconds >= shortest:
                return Turn(seconds / passes, (time.process_time() - cpu) / passes)

    def calibrate(self, budget: float, clock: Clock = time.perf_counter) -> None:
        """Warm up, then take as many queries as fit into `budget` seconds: trials of more and
        more, then a rule of three."""
        available = len(self.method.queries)
        queries = min(FEWEST[self.mode], available)
        self.time_queries(queries, 0.0, clock)
        while True:
            seconds = max(self.time_queries(queries, 0.0, clock).seconds, 1e-9)
            if seconds >= budget / 10 or queries == available:
                break
            queries = min(available, 4 * queries)
        fitting = round(queries * budget / seconds)
        self.queries = min(available, max(FEWEST[self.mode], fitting))

    def take_turn(self, budget: float, clock: Clock = time.perf_counter) -> None:
        """Warm up, and measure once."""
        warm_up = max(WARM_UP[self.mode], self.queries // 10 if self.mode == "batch" else 0)
        self.time_queries(min(self.queries, warm_up), 0.0, clock)
        self.turns.append(self.time_queries(self.queries, min(SHORTEST, budget), clock))

    def _spread(self, queries: int) -> Rows:
        return np.arange(queries) * len(self.method.queries) // queries

    @property
    def us(self) -> npt.NDArray[np.float64]:
        """Microseconds per query of each round."""
        return np.array([turn.seconds for turn in self.turns]) / self.queries * 1e6

    @property
    def cpu_us(self) -> npt.NDArray[np.float64]:
        """The same of the processor: all threads together."""
        return np.array([turn.cpu_seconds for turn in self.turns]) / self.queries * 1e6


@dataclass(frozen=True)
class Harness:
    """rounds: each runs every method once. budget: seconds of a method in a round; one that would
    take longer for all queries answers fewer. label: what the bars call the data."""

    rounds: int
    budget: float
    threads: int = 1
    progress: Progress = SILENT
    label: str = ""
    clock: Clock = time.perf_counter

    def build(
        self, builds: Mapping[str, Build], data: BenchData, k: int, seen: Exclude | None = None
    ) -> list[Method]:
        """Every method, with the time that building took. seen: lists that queries come with."""
        if any(name.startswith("xorec") for name in builds):
            load_kernels(data)
        methods = []
        with self.progress.task(f"{self.label}: build", total=len(builds)) as task:
            for name, build in builds.items():
                began = time.perf_counter()
                method = build(Setup(name, data, k, self.threads, seen))
                seconds = time.perf_counter() - began
                methods.append(replace(method, build_seconds=seconds))
                about = f" ({method.explanation})" if method.explanation else ""
                self.progress.note(
                    f"{self.label}: {name} built in {seconds:.1f} s, "
                    f"{method.bytes / data.n_items:.1f} bytes an item{about}"
                )
                task.advance(method=name)
        return methods

    def measure(
        self, timings: Sequence[Timings], data: BenchData, k: int, checked: int = CHECKED
    ) -> None:
        """Check the answers of some queries, then take the times."""
        with self.progress.task(f"{self.label}: check"):
            check_answers(timings, data, k, checked)
        self.time(timings)

    def time(self, timings: Sequence[Timings]) -> None:
        """As many queries of each as fit the budget, then rounds in turn."""
        with self.progress.task(f"{self.label}: calibrate", total=len(timings)) as task:
            for one in timings:
                one.calibrate(self.budget, self.clock)
                task.advance(method=one.label)
        turns = {one.label: partial(one.take_turn, self.budget, self.clock) for one in timings}
        interleaved(turns, self.rounds, self.progress, f"{self.label}: time")


Integers = npt.NDArray[np.integer]
Nearest = list[tuple[Integers, Integers]]
"""Items and distances of each query."""
BLOCK = 1 << 18
EXACT_FLOATS = ("float-blas",)
"""Float methods that must be exact; of others the recall is told."""


class NotExactError(XorecError):
    """An exact method gave an answer that the oracle does not: its times mean nothing."""


def check_answers(
    timings: Sequence[Timings], data: BenchData, k: int, queries: int = CHECKED
) -> None:
    """Recall of every method; NotExactError where an exact one differs from brute force."""
    rows = data.spread(min(queries, data.n_queries))
    few = data.spread(min(queries, CHECKED_FLOATS, data.n_queries))
    truths: dict[bool, Nearest] = {}
    for one in timings:
        if one.method.floats:
            items = one.answers(few)[0]
            one.recall = float_recall(data, k, few, items, one.exclude)
            if one.method.name in EXACT_FLOATS and one.recall < 1:
                raise NotExactError(
                    f"{one.label} is not exact: queries {few.tolist()} got items "
                    f"{items.tolist()}, and brute force finds better ones, or some were seen. "
                    "This is a bug of xorec: please report it with the command."
                )
            continue
        filtered = one.exclude is not None and one.method.ours
        if filtered not in truths:
            truths[filtered] = oracle(data, k, rows, one.exclude if filtered else None)
        items, distances, counts = one.answers(rows)
        if one.method.ours:
            check_exact(one.label, truths[filtered], items, distances, counts)
        one.recall = hamming_recall(data, rows, truths[filtered], items)


def hamming_distances(item_codes: Words, query: Words) -> npt.NDArray[np.int32]:
    """The distance of every item to one query (words,)."""
    distances = np.empty(len(item_codes), dtype=np.int32)
    for begin in range(0, len(item_codes), BLOCK):
        differ = np.bitwise_count(item_codes[begin : begin + BLOCK] ^ query)
        distances[begin : begin + BLOCK] = differ.sum(axis=1, dtype=np.int32)
    return distances


def oracle(data: BenchData, k: int, rows: Rows, exclude: Exclude | None = None) -> Nearest:
    """The `k` nearest items of these queries by distance, then tie rank; fewer where seen."""
    found: Nearest = []
    for row in rows:
        distances = hamming_distances(data.item_codes, data.query_codes[row])
        if exclude is not None:
            distances[_seen_by(exclude, row)] = data.bits + 1
        kth = min(data.bits, np.partition(distances, k - 1)[k - 1])
        candidates = np.flatnonzero(distances <= kth)
        order = np.lexsort((data.tie_rank[candidates], distances[candidates]))[:k]
        found.append((candidates[order], distances[candidates[order]]))
    return found


def check_exact(
    label: str, truth: Nearest, items: Integers, distances: Integers, counts: Integers
) -> None:
    """Raise unless items, distances, order and counts are those of the oracle."""
    for query, right in enumerate(truth):
        got = [one[query, : counts[query]].tolist() for one in (items, distances)]
        wanted = [one.tolist() for one in right]
        if got != wanted:
            raise NotExactError(
                f"{label} is not exact: query {query} got items {got[0]} at distances {got[1]}, "
                f"but brute force says {wanted[0]} at {wanted[1]}. This is a bug of xorec: "
                "please report it with the command."
            )


def hamming_recall(data: BenchData, rows: Rows, truth: Nearest, items: Integers) -> float:
    """The share of the returned items that are no farther than the true k-th; -1 is a miss."""
    found, wanted = 0, 0
    for row, returned, (_, distances) in zip(rows, items, truth, strict=True):
        distinct = np.unique(returned[returned >= 0])
        differ = np.bitwise_count(data.item_codes[distinct] ^ data.query_codes[row]).sum(axis=1)
        found += int(np.count_nonzero(differ <= distances[-1])) if len(distances) else 0
        wanted += len(distances)
    return found / wanted if wanted else 1.0


def float_recall(
    data: BenchData, k: int, rows: Rows, items: Integers, exclude: Exclude | None = None
) -> float:
    """The share of the returned items, seen ones and repeats left out, that score no less than the
    true k-th, up to rounding."""
    of_items, of_queries = data.vectors
    found, wanted = 0, 0
    for row, returned in zip(rows, items, strict=True):
        scores = of_items @ of_queries[row]
        if exclude is not None:
            scores[_seen_by(exclude, row)] = -np.inf
        allowed = scores[np.isfinite(scores)]
        count = min(k, len(allowed))
        if not count:
            continue
        kth = np.partition(allowed, len(allowed) - count)[len(allowed) - count]
        slack = 1e-5 * float(np.abs(allowed).max())
        distinct = np.unique(returned[:count][returned[:count] >= 0])
        found += int(np.count_nonzero(scores[distinct] >= kth - slack))
        wanted += count
    return found / wanted if wanted else 1.0


def _seen_by(exclude: Exclude, query: int) -> Integers:
    indptr, indices = exclude
    return indices[indptr[query] : indptr[query + 1]]
