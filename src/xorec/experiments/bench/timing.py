"""How long one method takes in one mode: calibrated to a budget, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.experiments.bench.data import Rows
from xorec.experiments.bench.method import Method
from xorec.experiments.bench.seen_lists import lists_of
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


class Turn(NamedTuple):
    """Seconds of one pass over the queries: by the clock, and of the processor."""

    seconds: float
    cpu_seconds: float


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
        return [
            (
                np.ascontiguousarray(self.method.queries[part]),
                None if self.exclude is None else lists_of(self.exclude, part),
            )
            for part in parts
        ]

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
        available, queries = len(self.method.queries), FEWEST[self.mode]
        queries = min(queries, available)
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


def interquartile_range(values: npt.NDArray[np.float64]) -> float:
    """What lies between the quartiles."""
    low, high = np.percentile(values, [25, 75])
    return float(high - low)
