"""`xorec bench search`: exact search of codes beside faiss and float rankings.

Everything is measured in one process, in rounds in which every method runs once. The answers of
our index are held against brute force before any time is taken.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.core.threads import available_threads
from xorec.lab.bench.data import BenchData, draw_seen, make_data
from xorec.lab.bench.harness import interquartile_range, machine, median
from xorec.lab.bench.methods import EXTRAS, METHODS, Method, missing_modules, thread_limit
from xorec.lab.bench.query_times import CHECKED, Harness, Mode, Timings
from xorec.plots.figures import Figure, Line, Panel, draw
from xorec.plots.pictures import Picture, require_matplotlib

NEAR = 1_000
"""Half of a seen list is from so many nearest items."""
MODES: tuple[Mode, ...] = ("single", "batch")
FAISS_FLAT = "faiss-binary-flat"

_TOLD = ("k", "queries", "seen", "repeats", "threads", "seed")

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
            **{name: rows[0][name] for name in ("codes", "bits")},
            "items": sorted({row["items"] for row in rows}),
            **{name: getattr(self, name) for name in _TOLD},
            "cores": cores,
            "checked": min(CHECKED, self.queries),
            "explain": explained,
            "notes": notes,
            **machine(),
            "load": load,
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
        explained = {f"{one.name}, {data.n_items} items": one.explanation for one in methods}
        explained = {name: text for name, text in explained.items() if text}
        return rows_of(timings, data, k), explained

    def _timings(self, methods: Sequence[Method], data: BenchData) -> list[Timings]:
        """Every method in both modes; ours with seen lists as well, where they are asked for."""
        index = next((method.index for method in methods if method.ours), None)
        lists = None
        if index is not None and min(self.seen, data.n_items // 2):
            lists = draw_seen(data, index, self.seen, NEAR, self.seed, self.threads)
        found = []
        for method in methods:
            with_seen = method.ours and lists is not None
            for exclude in (None, lists) if with_seen else (None,):
                found += [Timings(method, mode, exclude) for mode in MODES]
        return found


def rows_of(timings: Sequence[Timings], data: BenchData, k: int) -> list[Row]:
    """One flat row for each (names: ARCHITECTURE.md)."""
    same = {"items": data.n_items, "bits": data.bits, "k": k, "codes": data.name}
    rows = [
        {
            "method": one.method.name,
            "mode": one.mode,
            **same,
            "us_per_query": median(one.us),
            "recall": one.recall,
            "spread": interquartile_range(one.us),
            "cpu_us_per_query": median(one.cpu_us),
            "seen": one.seen,
            "queries": one.queries,
            "bytes_per_item": one.method.bytes / data.n_items,
            "build_seconds": one.method.build_seconds,
        }
        for one in timings
    ]
    return with_speedups(rows)


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
        faiss, floats = times(row, row_of(peers, FAISS_FLAT)), times(row, best_float(peers))
        result.append({**row, "speedup_faiss_flat": faiss, "speedup_best_float": floats})
        if row["seen"]:
            gain = times(row, row_of(peers, row["method"]))
            result[-1]["seen_cost"] = None if gain is None else 1 / gain
    return result


def row_of(rows: Sequence[Row], method: str) -> Row | None:
    """The first row of a method."""
    return next((row for row in rows if row["method"] == method), None)


def best_float(rows: Sequence[Row]) -> Row | None:
    """The fastest of the float rows."""
    floats = [row for row in rows if row["method"].startswith("float-")]
    return min(floats, key=lambda row: float(row["us_per_query"]), default=None)


def check_plot(path: Path, sizes: Sequence[int]) -> None:
    """Complain before the run, not after it."""
    if path.suffix not in (".svg", ".png"):
        raise OptionError(f"plot is {str(path)!r}: give a file that ends in .svg or .png.")
    if len(set(sizes)) < 2:
        raise OptionError("plot needs two sizes or more: give --sizes 10000,100000,1000000.")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"there is no folder {path.parent} for the plot: make it first.")
    require_matplotlib("a plot")


SERIES = {"xorec": "xorec", "faiss": "faiss IndexBinaryFlat", "float": "best exact float ranking"}


def series(rows: Sequence[Row], mode: str) -> dict[str, list[tuple[int, float]]]:
    """(items, microseconds) of xorec, of faiss flat and of the best float row, in one mode."""
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in SERIES}
    for size in sorted({row["items"] for row in rows}):
        part = [r for r in rows if r["items"] == size and r["mode"] == mode and not r["seen"]]
        found = (row_of(part, "xorec"), row_of(part, FAISS_FLAT), best_float(part))
        for points, row in zip(lines.values(), found, strict=True):
            points += [] if row is None else [(size, row["us_per_query"])]
    return lines


def picture(result: dict[str, Any]) -> Picture:
    """Time against items: single and batch side by side, both axes logarithmic."""
    about, panels = result["data"], []
    titles = {"single": "one query a call", "batch": "all queries in one call"}
    for mode, title in titles.items():
        lines = []
        for name, points in series(result["rows"], mode).items():
            if points:
                items, us = zip(*points, strict=True)
                lines.append(Line(SERIES[name], items, us, highlight=name == "xorec"))
        labels = ("items", "microseconds per query")
        panels.append(Panel(title, *labels, lines, log_x=True, log_y=True))
    threads = f"{about['threads']} thread" + ("s" if about["threads"] > 1 else "")
    title = f"Exact top {about['k']} of {about['bits']}-bit codes ({about['codes']}), {threads}"
    return draw(Figure("search", title, panels))


def _missing_note(module: str, wanted: Sequence[str]) -> str:
    names = ", ".join(name for name in wanted if METHODS[name].module == module)
    package, extra = module.partition(".")[0], EXTRAS[module]
    return f"{package} is not installed, so without {names}: pip install 'xorec[{extra}]'."
