"""What all benches share: rounds with a turn for every contestant, medians, ratios, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.progress import SILENT, Progress

T = TypeVar("T")


class Turn(NamedTuple):
    """What one turn took, by the clock and of the processor."""

    seconds: float
    cpu_seconds: float


def timed(run: Callable[[], object]) -> Turn:
    """One call."""
    began, cpu = time.perf_counter(), time.process_time()
    run()
    return Turn(time.perf_counter() - began, time.process_time() - cpu)


def interleaved(
    turns: Mapping[str, Callable[[], T]],
    rounds: int,
    progress: Progress = SILENT,
    label: str = "time",
) -> dict[str, list[T]]:
    """What the turns of each contestant give, one a round.

    Each round has an order of its own, so that all share what else the machine does.

    >>> interleaved({"one": lambda: 1, "two": lambda: 2}, 3)
    {'one': [1, 1, 1], 'two': [2, 2, 2]}
    """
    found: dict[str, list[T]] = {name: [] for name in turns}
    names = list(turns)
    with progress.task(label, total=rounds * len(names)) as task:
        for number in range(rounds):
            for at in np.random.default_rng(number).permutation(len(names)):
                found[names[at]].append(turns[names[at]]())
                task.advance(method=names[at])
    return found


def median(values: Sequence[float] | npt.NDArray[np.float64]) -> float:
    return float(np.median(values))


def interquartile_range(values: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """What lies between the quartiles."""
    low, high = np.percentile(values, [25, 75])
    return float(high - low)


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as fast ours is: the median of the rounds' ratios.

    >>> ratio([2.0, 9.0, 4.0], [1.0, 1.0, 2.0])
    2.0
    """
    return median(np.divide(theirs, ours))


def peak_megabytes(run: Callable[..., object], *arguments: Any) -> float:
    """The most memory that a process of its own has had after this call."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_run_and_weigh, (run, arguments))


def _run_and_weigh(run: Callable[..., object], arguments: tuple[Any, ...]) -> float:
    run(*arguments)
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> dict[str, Any]:
    """The processor, its load, and the versions of everything that is measured."""
    from llvmlite.binding import get_host_cpu_name

    from xorec import __version__

    found: dict[str, Any] = {"load": os.getloadavg()[0], "cpu": get_host_cpu_name()}
    found["xorec"] = __version__
    for package in ("numpy", "numba", "faiss-cpu", "torch", "implicit"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
