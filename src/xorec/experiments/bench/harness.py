"""The harness of all benchmarks: build the methods, check their answers, time them in rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xorec.core.progress import SILENT, Progress
from xorec.experiments.bench.check import CHECKED, check_answers
from xorec.experiments.bench.data import BenchData
from xorec.experiments.bench.hamming_methods import load_kernels
from xorec.experiments.bench.method import Build, Method, Setup
from xorec.experiments.bench.timing import Clock, Timings
from xorec.search.hits import Exclude


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
        """Rounds in an order of their own each, so that all share the machine's moods."""
        total = len(timings) * (1 + self.rounds)
        with self.progress.task(f"{self.label}: time", total=total) as task:
            for one in timings:
                one.calibrate(self.budget, self.clock)
                task.advance(method=one.label)
            for number in range(self.rounds):
                for at in np.random.default_rng(number).permutation(len(timings)):
                    timings[at].take_turn(self.budget, self.clock)
                    task.advance(method=timings[at].label)
