"""How a run is carried out, apart from what is learned: seed, threads, progress, checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from xorec.errors import OptionError
from xorec.progress import SILENT, Progress


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options that never change the mathematics; the seed alone changes the result.

    seed: the key of every random stream, 0 <= seed < 2**63.
    threads: at most this many; None takes every core that this process may use.
    progress: where progress is shown; silent by default.
    checkpoint: a file that a long fit writes as it goes, so that it can be resumed.
    resume: go on from `checkpoint` if it exists and belongs to this very run.
    """

    seed: int = 0
    threads: int | None = None
    progress: Progress = SILENT
    checkpoint: Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed is {self.seed}: give a number from 0 to 2**63 - 1.")
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"threads is {self.threads}: give 1 or more, or leave it out.")

    @property
    def thread_count(self) -> int:
        """The number of threads that this run uses."""
        return self.threads or available_threads()

    @contextmanager
    def numba_threads(self) -> Iterator[int]:
        """Run numba's parallel kernels on `thread_count` threads inside the block."""
        import numba

        before = numba.get_num_threads()
        count = min(self.thread_count, numba.config.NUMBA_NUM_THREADS)
        numba.set_num_threads(count)
        try:
            yield count
        finally:
            numba.set_num_threads(before)


DEFAULTS = RunOptions()


def available_threads() -> int:
    """The cores that this process may run on (respects taskset and cgroup cpusets)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
