"""How a run is carried out, apart from what is learned: seed, threads, progress, checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from xorec.core.engine import Engine, LocalEngine
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.core.threads import ThreadPool, available_threads


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options that never change the mathematics; the seed alone changes the result.

    seed: the key of every random stream, 0 <= seed < 2**63.
    threads: at most this many; None takes every core that this process may use.
    progress: where progress is shown; silent by default.
    checkpoint: a file that a long fit writes as it goes, so that it can be resumed.
    resume: go on from `checkpoint` if it exists and belongs to this very run.
    cache: a folder for vectors that several fits start from: learned once, then read.
    until: a moment of `core.kernels.compiling.now`; the epoch in which it passes is the last one.
    engine: where blocks of work run (`core.engine`); None: threads of this process.

    >>> options = RunOptions(seed=7, threads=2)
    >>> options.thread_count
    2
    >>> options.block_engine.is_remote, options.remote_engine  # threads of this process
    (False, None)
    >>> RunOptions(threads=0)
    Traceback (most recent call last):
    xorec.core.errors.OptionError: threads is 0: give 1 or more, or leave it out.
    """

    seed: int = 0
    threads: int | None = None
    progress: Progress = SILENT
    checkpoint: Path | None = None
    resume: bool = False
    cache: Path | None = None
    until: float | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed is {self.seed}: give a number from 0 to 2**63 - 1.")
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"threads is {self.threads}: give 1 or more, or leave it out.")

    @property
    def thread_count(self) -> int:
        """The number of threads that this run uses."""
        return self.threads or available_threads()

    def for_stage(self, stage: str) -> RunOptions:
        """The options of a stage, with a checkpoint file of its own.

        >>> RunOptions(checkpoint=Path("run")).for_stage("start").checkpoint.name
        'run.start'
        """
        path = None if self.checkpoint is None else Path(f"{self.checkpoint}.{stage}")
        return replace(self, checkpoint=path)

    @property
    def block_engine(self) -> Engine:
        """`engine`, or as many threads as this run may use."""
        return self.engine or LocalEngine(self.thread_count)

    @property
    def remote_engine(self) -> Engine | None:
        """`engine` where blocks travel to other processes."""
        return self.engine if self.engine is not None and self.engine.is_remote else None

    def thread_pool(self) -> ThreadPool:
        """`thread_count` threads, to be used in a `with` block.

        >>> with RunOptions(threads=2).thread_pool() as pool:
        ...     print(pool.threads)
        2
        """
        return ThreadPool(self.thread_count)


DEFAULTS = RunOptions()
