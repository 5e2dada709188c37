"""`xorec bench train`: how fast models learn, beside implicit's, on the same pairs and threads.

A turn times a short and a long fit, one after the other, and takes the difference, so that set-up
does not count. Each method's peak memory is that of a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.printable import did_you_mean
from xorec.core.progress import SILENT, Progress
from xorec.core.threads import available_threads
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import TRAIN, Interactions
from xorec.lab.bench.harness import interleaved, machine, median, peak_megabytes, ratio, timed
from xorec.lab.bench.methods import missing_modules
from xorec.models import model_class
from xorec.models.siml.siml import DEFAULTS

SHORT, LONG = 1, 6
"""Epochs of the two fits of a turn."""

Fit = Callable[[Interactions, int, int, int], object]
"""(pairs, dimensions, threads, epochs) -> a fitted model."""


@dataclass(frozen=True)
class TrainMethod:
    """negatives: of a pair in an epoch; 0 where all items are negatives at once."""

    fit: Fit
    negatives: int
    module: str | None = None


def _ours(
    name: str,
    settings: dict[str, Any],
    train: Interactions,
    dimensions: int,
    threads: int,
    epochs: int,
) -> object:
    model = model_class(name)(**settings, dimensions=dimensions, epochs=epochs)
    return model.fit(train, options=RunOptions(threads=threads))


def _implicit(
    module: str, name: str, train: Interactions, dimensions: int, threads: int, epochs: int
) -> object:
    from scipy.sparse import csr_matrix

    sizes = {"factors": dimensions, "iterations": epochs, "num_threads": threads}
    model = getattr(import_module(module), name)(random_state=0, **sizes)
    return model.fit(csr_matrix(train.matrix()), show_progress=False)


BPR = "implicit.bpr", "BayesianPersonalizedRanking"
ALS = "implicit.cpu.als", "AlternatingLeastSquares"


METHODS = {
    "xorec-bpr": TrainMethod(partial(_ours, "bpr", {"negatives": 1}), 1),
    "xorec-siml": TrainMethod(partial(_ours, "siml", DEFAULTS), DEFAULTS["negatives"]),
    "xorec-siml-1": TrainMethod(partial(_ours, "siml", {**DEFAULTS, "negatives": 1}), 1),
    "xorec-als": TrainMethod(partial(_ours, "als", {}), 0),
    "implicit-bpr": TrainMethod(partial(_implicit, *BPR), 1, BPR[0]),
    "implicit-als": TrainMethod(partial(_implicit, *ALS), 0, ALS[0]),
}


@dataclass(frozen=True, kw_only=True)
class TrainBench:
    """What to measure. data: as `xorec.load_data` takes it; its training part where it has one.

    >>> bench = TrainBench(methods=("xorec-bpr",), dimensions=8, rounds=1, memory=False)
    >>> row = bench.run()["rows"][0]
    >>> row["method"], row["negatives"], row["triplets_per_second"] > 0
    ('xorec-bpr', 1, True)
    """

    data: str = "debian"
    methods: tuple[str, ...] = tuple(METHODS)
    dimensions: int = 64
    threads: int | None = None
    rounds: int = 5
    memory: bool = True

    def __post_init__(self) -> None:
        for name in ("dimensions", "rounds"):
            positive_int(getattr(self, name), name)
        for method in self.methods:
            if method not in METHODS:
                raise OptionError(
                    f"there is no method {method!r}: give some of {', '.join(METHODS)}."
                    f"{did_you_mean(method, METHODS)}"
                )

    def run(self, progress: Progress = SILENT) -> dict[str, Any]:
        """{"data": .., "rows": [..]}: a flat row for each method that is installed."""
        train = load_data(self.data, threads=self.threads, progress=progress)
        if train.parts is not None:
            train = train.select(train.parts == TRAIN)
        missing = missing_modules(METHODS[name].module for name in self.methods)
        names = [name for name in self.methods if METHODS[name].module not in missing]
        if missing:
            progress.note("implicit is not installed, so without it: pip install 'xorec[peers]'.")
        if not names:
            raise OptionError("nothing can be measured: pip install 'xorec[peers]'.")
        size = train, self.dimensions, self.threads or available_threads()
        for name in names:
            METHODS[name].fit(*size, 1)  # compiles
        turns = {name: partial(_epoch_seconds, METHODS[name].fit, *size) for name in names}
        seconds = interleaved(turns, self.rounds, progress, "epochs")
        rows = [self._row(name, seconds, size) for name in names]
        about = {"name": self.data, "users": train.n_users, "items": train.n_items}
        about |= {"pairs": train.n_pairs, "rounds": self.rounds, **machine()}
        return {"data": about, "rows": rows}

    def _row(
        self, name: str, seconds: dict[str, list[float]], size: tuple[Interactions, int, int]
    ) -> dict[str, Any]:
        method, (train, dimensions, threads) = METHODS[name], size
        triplets = train.n_pairs * max(1, method.negatives)
        peer = f"implicit-{name.removeprefix('xorec-')}"
        peer = peer if peer in METHODS else "implicit-bpr"
        more = max(1, method.negatives) / max(1, METHODS[peer].negatives)
        faster = ratio(seconds[peer], seconds[name]) * more if peer in seconds else None
        return {
            "method": name,
            "negatives": method.negatives,
            "triplets_per_second": triplets / median(seconds[name]),
            "seconds_per_epoch": median(seconds[name]),
            "fastest": min(seconds[name]),
            "slowest": max(seconds[name]),
            "peak_mb": peak_megabytes(method.fit, *size, 2) if self.memory else None,
            "times_as_fast": faster,
            "dimensions": dimensions,
            "threads": threads,
        }


def _epoch_seconds(fit: Fit, train: Interactions, dimensions: int, threads: int) -> float:
    """Seconds of one epoch: a long fit less a short one."""
    short, long = (
        timed(partial(fit, train, dimensions, threads, epochs)).seconds for epochs in (SHORT, LONG)
    )
    return max(1e-9, (long - short) / (LONG - SHORT))
