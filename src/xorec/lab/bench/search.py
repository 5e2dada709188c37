"""`xorec bench search`: exact search of codes beside faiss and float rankings.

Everything is measured in one process, in rounds in which every method runs once. The answers of
our index are held against brute force before any time is taken.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.core.threads import available_threads
from xorec.lab.bench.data import BenchData, make_data
from xorec.lab.bench.method import Method
from xorec.lab.bench.methods import EXTRAS, METHODS, missing_modules, thread_limit
from xorec.lab.bench.seen_lists import draw_seen
from xorec.lab.bench.timing import CHECKED, Harness, Mode, Timings, interquartile_range

NEAR = 1_000
"""Half of a seen list is from so many nearest items."""
MODES: tuple[Mode, ...] = ("single", "batch")
FAISS_FLAT = "faiss-binary-flat"

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SearchBench:
    """What to measure. methods: names of METHODS, `all`, or none for the usual ones.

    seen: the length of the seen lists, 0 for no rows with them. budget: seconds for one method in
    one round; a slow method answers fewer queries then.

    >>> bench = SearchBench(sizes=(500,), queries=8, repeats=1, budget=0.01, methods=("xorec",))
    >>> [(row["method"], row["mode"], row["seen"], row["recall"]) for row in bench.run()["rows"]]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('xorec', 'single', 0, 1.0), ('xorec', 'batch', 0, 1.0),
     ('xorec', 'single', 100, 1.0), ('xorec', 'batch', 100, 1.0)]
    """

    sizes: tuple[int, ...] = (1_000_000,)
    bits: int | None = None
    k: int = 10
    codes: str = "low-rank"
    queries: int = 1_000
    seen: int = 100
    repeats: int = 5
    threads: int = 1
    seed: int = 0
    methods: tuple[str, ...] = ()
    budget: float = 1.0

    def __post_init__(self) -> None:
        for size in self.sizes:
            positive_int(size, "items")
        for name in ("k", "queries", "repeats", "threads"):
            positive_int(getattr(self, name), name)
        if self.bits is not None and not 1 <= self.bits <= 1024:
            raise OptionError(f"bits is {self.bits}: give a number from 1 to 1024.")
        if self.seen < 0 or self.seed < 0:
            raise OptionError(f"seen is {self.seen}, seed is {self.seed}: give 0 or more.")
        if not self.budget > 0:
            raise OptionError(f"budget is {self.budget}: give more than 0 seconds.")
        unknown = [name for name in self.methods if name not in (*METHODS, "all")]
        if unknown:
            raise OptionError(
                f"there is no method {unknown[0]!r}: give all, or some of {', '.join(METHODS)}."
            )

    def run(self, progress: Progress = SILENT) -> dict[str, Any]:
        """{"data": .., "rows": [..]}: everything that was measured."""
        wanted = self._wanted()
        missing = missing_modules(METHODS[name].module for name in wanted)
        notes = [_missing_note(module, wanted) for module in sorted(missing)]
        installed = [name for name in wanted if METHODS[name].module not in missing]
        if not installed:
            raise OptionError(f"nothing can be measured: {' '.join(notes)}")
        rows: list[Row] = []
        explained: dict[str, str] = {}
        load, cores = os.getloadavg()[0], available_threads()
        if load > cores / 2:
            notes.append(f"a busy machine: load {load:.1f} on {cores} cores before the run.")
        for note in notes:
            progress.note(note)
        with thread_limit(self.threads, [METHODS[name].module for name in installed]):
            for size in self.sizes:
                names, left_out = self._fitting(installed, size)
                for note in left_out:
                    progress.note(note)
                result = self._one_size(size, names, progress)
                rows += result[0]
                explained |= result[1]
                notes += left_out
                if rows[-1]["items"] < size:  # a model file that has no more
                    break
        about = {
            "codes": rows[0]["codes"],
            "items": sorted({row["items"] for row in rows}),
            "bits": rows[0]["bits"],
            "k": self.k,
            "queries": self.queries,
            "seen": self.seen,
            "repeats": self.repeats,
            "threads": self.threads,
            "seed": self.seed,
            "load": load,
            "cores": cores,
            "checked": min(CHECKED, self.queries),
            "explain": explained,
            "notes": notes,
            **machine(),
        }
        return {"data": about, "rows": rows}

    def _wanted(self) -> list[str]:
        if "all" in self.methods:
            return list(METHODS)
        usual = [name for name, one in METHODS.items() if one.usual]
        return [name for name in METHODS if name in self.methods] or usual

    def _fitting(self, names: Sequence[str], size: int) -> tuple[list[str], list[str]]:
        """Without the methods that take too long or too much memory, unless they were named."""
        limits = {name: METHODS[name].fewer_than for name in names if name not in self.methods}
        dropped = [name for name, limit in limits.items() if limit is not None and size >= limit]
        notes = [
            f"{size:,} items: {name} is left out ({METHODS[name].reason}); name it in --methods "
            "to have it."
            for name in dropped
        ]
        return [name for name in names if name not in dropped], notes

    def _one_size(
        self, size: int, names: Sequence[str], progress: Progress
    ) -> tuple[list[Row], dict[str, str]]:
        vectors = any(name.startswith("float-") for name in names)
        with progress.task(f"{size:,} items: data"):
            data = make_data(self.codes, size, self.bits, self.queries, self.seed, vectors)
        k = min(self.k, data.n_items)
        label = f"{data.n_items:,} items"
        harness = Harness(self.repeats, self.budget, self.threads, progress, label)
        methods = harness.build({name: METHODS[name].build for name in names}, data, k)
        timings = self._timings(methods, data)
        harness.measure(timings, data, k)
        explained = {
            f"{method.name}, {data.n_items} items": method.explanation
            for method in methods
            if method.explanation
        }
        return rows_of(timings, data, k), explained

    def _timings(self, methods: Sequence[Method], data: BenchData) -> list[Timings]:
        """Every method in both modes; ours with seen lists as well, where they are asked for."""
        index = next((method.index for method in methods if method.ours), None)
        lists = None
        if index is not None and min(self.seen, data.n_items // 2):
            lists = draw_seen(data, index, self.seen, NEAR, self.seed, self.threads)
        found = []
        for method in methods:
            found += [Timings(method, mode) for mode in MODES]
            if method.ours and lists is not None:
                found += [Timings(method, mode, lists) for mode in MODES]
        return found


def rows_of(timings: Sequence[Timings], data: BenchData, k: int) -> list[Row]:
    """One flat row for each (names: ARCHITECTURE.md)."""
    return with_speedups(
        [
            {
                "method": one.method.name,
                "mode": one.mode,
                "items": data.n_items,
                "bits": data.bits,
                "k": k,
                "us_per_query": float(np.median(one.us)),
                "recall": one.recall,
                "spread": interquartile_range(one.us),
                "cpu_us_per_query": float(np.median(one.cpu_us)),
                "codes": data.name,
                "seen": one.seen,
                "queries": one.queries,
                "bytes_per_item": one.method.bytes / data.n_items,
                "build_seconds": one.method.build_seconds,
            }
            for one in timings
        ]
    )


def with_speedups(rows: Sequence[Row]) -> list[Row]:
    """Rows of one size with how many times as fast they are as faiss, and as the best float row.

    Both are of the same mode and without seen lists; None where they did not run. A row with seen
    lists also has `seen_cost`: its time over that of the same method without.
    """

    def times(row: Row, other: Row | None) -> float | None:
        return None if other is None else float(other["us_per_query"] / row["us_per_query"])

    result = []
    for row in rows:
        peers = [one for one in rows if one["mode"] == row["mode"] and not one["seen"]]
        more = {
            "speedup_faiss_flat": times(row, row_of(peers, FAISS_FLAT)),
            "speedup_best_float": times(row, best_float(peers)),
        }
        if row["seen"]:
            cost = times(row, row_of(peers, row["method"]))
            more["seen_cost"] = None if cost is None else 1 / cost
        result.append({**row, **more})
    return result


def row_of(rows: Sequence[Row], method: str) -> Row | None:
    """The first row of a method."""
    return next((row for row in rows if row["method"] == method), None)


def best_float(rows: Sequence[Row]) -> Row | None:
    """The fastest of the float rows."""
    floats = [row for row in rows if row["method"].startswith("float-")]
    return min(floats, key=lambda row: float(row["us_per_query"]), default=None)


def machine() -> dict[str, Any]:
    """The processor, and the versions of everything that was measured."""
    from llvmlite.binding import get_host_cpu_name

    from xorec import __version__

    found: dict[str, Any] = {"cpu": get_host_cpu_name(), "xorec": __version__}
    for package in ("numpy", "numba", "faiss-cpu", "torch", "implicit"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _missing_note(module: str, wanted: Sequence[str]) -> str:
    names = ", ".join(name for name in wanted if METHODS[name].module == module)
    package, extra = module.partition(".")[0], EXTRAS[module]
    return f"{package} is not installed, so without {names}: pip install 'xorec[{extra}]'."
