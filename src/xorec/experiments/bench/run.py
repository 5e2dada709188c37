"""Exact search of codes beside faiss and float rankings: what `xorec bench search` runs.

Everything is measured in one process, in rounds in which every method runs once. The answers of
our index are held against brute force before any time is taken.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.core.threads import available_threads
from xorec.experiments.bench import methods as hamming
from xorec.experiments.bench import vectors as floats
from xorec.experiments.bench.check import CHECKED, check_answers
from xorec.experiments.bench.data import NEAR, SearchData, make_data, seen_lists
from xorec.experiments.bench.timing import Mode, Run, measure, rows_of, thread_limit
from xorec.search.hits import Exclude

MOST_FOR_HNSW = 1_000_000
MANY_VECTORS = 5_000_000
MODES: tuple[Mode, ...] = ("single", "batch")

BUILDERS: dict[str, hamming.Build] = {
    "xorec": hamming.xorec("xorec", "auto"),
    "xorec-scan": hamming.xorec("xorec-scan", "scan"),
    "xorec-mih": hamming.xorec("xorec-mih", "mih"),
    "faiss-binary-flat": hamming.faiss_flat,
    "faiss-binary-ivf": hamming.faiss_ivf,
    "faiss-binary-hnsw": hamming.faiss_hnsw,
    "float-numpy": floats.numpy_floats,
    "float-xorec": floats.xorec_floats,
    "float-faiss": floats.faiss_floats,
    "float-torch": floats.torch_floats,
    "float-implicit": floats.implicit_floats,
}
NOT_BY_DEFAULT = ("xorec-scan", "xorec-mih")
SHARING = ("float-numpy", "float-xorec")
"""The float methods that stay where there are MANY_VECTORS: one copy serves both."""
MODULES = {
    **{name: "faiss" for name in BUILDERS if "faiss" in name},
    "float-torch": "torch",
    "float-implicit": "implicit.cpu.topk",
}


@dataclass(frozen=True, kw_only=True)
class SearchBench:
    """What to measure. methods: names of BUILDERS, `all`, or none for the usual ones.

    seen: the length of the seen lists, 0 for no rows with them. budget: seconds for one method in
    one round; a slow method answers fewer queries then.
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
        unknown = [name for name in self.methods if name not in (*BUILDERS, "all")]
        if unknown:
            raise OptionError(
                f"there is no method {unknown[0]!r}: give all, or some of {', '.join(BUILDERS)}."
            )

    def run(self, progress: Progress = SILENT) -> dict[str, Any]:
        """{"data": .., "rows": [..]}: everything that was measured."""
        wanted = self._wanted()
        lacking = hamming.missing([MODULES[name] for name in wanted if name in MODULES])
        notes = [_lacks(module, wanted) for module in sorted(lacking)]
        installed = [name for name in wanted if MODULES.get(name) not in lacking]
        if not installed:
            raise OptionError(f"nothing can be measured: {' '.join(notes)}")
        rows: list[dict[str, Any]] = []
        explained: dict[str, str] = {}
        load, cores = os.getloadavg()[0], available_threads()
        if load > cores / 2:
            notes.append(f"a busy machine: load {load:.1f} on {cores} cores before the run.")
        for note in notes:
            progress.note(note)
        with thread_limit(self.threads, [MODULES.get(name, "") for name in installed]):
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
            return list(BUILDERS)
        usual = [name for name in BUILDERS if name not in NOT_BY_DEFAULT]
        return [name for name in BUILDERS if name in self.methods] or usual

    def _fitting(self, names: Sequence[str], size: int) -> tuple[list[str], list[str]]:
        """Without the methods that take too long or too much memory, unless they were named."""
        dropped: dict[str, str] = {}
        if size > MOST_FOR_HNSW:
            dropped["faiss-binary-hnsw"] = "building takes long"
        if size >= MANY_VECTORS:
            copies = [name for name in names if name.startswith("float-") and name not in SHARING]
            dropped |= dict.fromkeys(copies, "memory")
        dropped = {n: why for n, why in dropped.items() if n in names and n not in self.methods}
        notes = [
            f"{size:,} items: {name} is left out ({why}); name it in --methods to have it."
            for name, why in dropped.items()
        ]
        return [name for name in names if name not in dropped], notes

    def _one_size(
        self, size: int, names: Sequence[str], progress: Progress
    ) -> tuple[list[dict[str, Any]], dict[str, str]]:
        vectors = any(name.startswith("float-") for name in names)
        with progress.task(f"{size:,} items: data"):
            data = make_data(self.codes, size, self.bits, self.queries, self.seed, vectors)
        k = min(self.k, data.n_items)
        if any(name in names for name in ("xorec", "xorec-scan", "xorec-mih")):
            _compile_index(data)
        methods = []
        with progress.task(f"{size:,} items: build", total=len(names)) as task:
            for name in names:
                method = hamming.build(BUILDERS[name], data, k, self.threads)
                methods.append(method)
                task.advance(method=name)
                progress.note(_built(method, data))
        exclude, seen = self._seen_lists(methods, data)
        runs = []
        for method in methods:
            runs += [Run(method, mode) for mode in MODES]
            if method.ours and exclude is not None:
                runs += [Run(method, mode, exclude, seen) for mode in MODES]
        with progress.task(f"{size:,} items: check"):
            check_answers(runs, data, k)
        with progress.task(f"{size:,} items: time", total=len(runs) * (1 + self.repeats)) as task:
            measure(runs, self.repeats, self.budget, task)
        explained = {
            f"{method.name}, {data.n_items} items": method.explanation
            for method in methods
            if method.explanation
        }
        return rows_of(runs, data, k), explained

    def _seen_lists(
        self, methods: Sequence[hamming.Method], data: SearchData
    ) -> tuple[Exclude | None, int]:
        """Seen lists of at most half of all items, where there is a method that takes them."""
        index = next((method.index for method in methods if method.ours), None)
        seen = min(self.seen, data.n_items // 2)
        if index is None or not seen:
            return None, 0
        near = index.search(data.query_codes, min(NEAR, data.n_items), threads=self.threads).items
        return seen_lists(near, data.n_items, seen, self.seed), seen


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


def _compile_index(data: SearchData) -> None:
    """Load the kernels by a small index of each kind, so that building is timed without that."""
    few = min(data.n_items, 2_000)
    rank = data.tie_rank[:few].argsort().argsort().astype(data.tie_rank.dtype)
    small = SearchData(
        data.codes, data.bits, data.item_codes[:few], data.query_codes, rank, None, None
    )
    hamming.hamming_index(small, "scan", 1)
    hamming.hamming_index(small, "mih", 1)


def _lacks(module: str, wanted: Sequence[str]) -> str:
    names = ", ".join(name for name in wanted if MODULES.get(name) == module)
    package, extra = module.partition(".")[0], hamming.EXTRAS[module]
    return f"{package} is not installed, so without {names}: pip install 'xorec[{extra}]'."


def _built(method: hamming.Method, data: SearchData) -> str:
    about = f" ({method.explanation})" if method.explanation else ""
    return (
        f"{data.n_items:,} items: {method.name} built in {method.build_seconds:.1f} s, "
        f"{method.bytes_per_item:.1f} bytes an item{about}"
    )
