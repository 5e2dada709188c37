"""The functions that run in Spark's Python processes: blocks in, blocks out, one at a time.

For the same bytes, code, libraries and CPU must be the same on every machine. Fast kernels add
floats in the order that suits the CPU they were compiled for, and BLAS takes the kernel of its CPU.
So a process that would compute otherwise than the driver refuses its first block, in words that say
what differs.
"""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Arrays, BlockFunction, Roles, joined
from xorec.core.errors import XorecError
from xorec.core.kernels import fast_kernel
from xorec.core.source_digest import source_digest
from xorec.engines.spark.blocks import block_rows, map_packed, unpack, whole_blocks


@cache
def machine_facts() -> dict[str, str]:
    """What this process is, by name; computed once."""
    import numba
    import scipy
    from llvmlite import binding

    return {
        "code": source_digest(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "cpu": numba.config.CPU_NAME or str(binding.get_host_cpu_name()),
        **_sums(),
    }


def refuse_other_machine(driver: dict[str, str]) -> None:
    """Raise where this process differs from the driver's."""
    own = machine_facts()
    other = [name for name in driver if own.get(name) != driver[name]]
    if other:
        told = "; ".join(f"{name}: {own.get(name)} here, {driver[name]} there" for name in other)
        raise XorecError(
            f"this executor would not compute the same bytes as the driver ({told}): install the "
            "same xorec and libraries on all machines; where CPUs differ, set "
            "NUMBA_CPU_NAME=generic and OPENBLAS_CORETYPE to the oldest of them, for the driver "
            "and all executors."
        )


def _sums() -> dict[str, str]:
    """Digests of float sums over fixed numbers, by who has made them."""
    from threadpoolctl import threadpool_limits

    numbers = np.random.Generator(np.random.Philox(21)).standard_normal((257, 65))
    small = numbers.astype(np.float32)
    with threadpool_limits(1, user_api="blas"):
        square = numbers.T @ numbers
        return {
            "sums of kernels": _digest(_dots(small, small)),
            "sums of BLAS": _digest(small.T @ small, square),
            "sums of LAPACK": _digest(*np.linalg.eigh(square)),
            "functions of numpy": _digest(np.exp(small), np.log1p(np.abs(numbers))),
        }


def _digest(*arrays: Any) -> str:
    total = hashlib.blake2b(digest_size=8)
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


@fast_kernel
def _dots(rows: Any, others: Any) -> Any:
    found = np.empty(len(rows), np.float32)
    for row in range(len(rows)):
        total = np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * others[len(rows) - 1 - row, f]
        found[row] = total
    return found


_MAPPED: dict[str, Arrays] = {}
"""Shared files that this process has mapped, by path, until they are gone."""


@dataclass(frozen=True)
class BlockTask:
    """A block function with all that it needs but the blocks.

    files: (name among Spark's files, None or what its path is called) of all that is shared: arrays
    where there is no such name. gone: names of files that are not needed any more; driver:
    `machine_facts` there.
    """

    function: BlockFunction | Roles
    files: tuple[tuple[str, str | None], ...]
    gone: tuple[str, ...]
    settings: dict[str, Any]
    driver: dict[str, str]

    def shared(self) -> Arrays:
        """The shared arrays, mapped, and the paths of shared files."""
        from pyspark import SparkFiles

        for name in self.gone:
            path = SparkFiles.get(name)
            _MAPPED.pop(path, None)
            Path(path).unlink(missing_ok=True)
        merged: dict[str, Any] = {}
        for name, called in self.files:
            path = SparkFiles.get(name)
            if called is None and path not in _MAPPED:
                _MAPPED[path] = map_packed(Path(path))
            merged |= _MAPPED[path] if called is None else {called: np.array(path)}
        return merged


def map_task(task: BlockTask, batches: Iterator[Any]) -> Iterator[Any]:
    """For `mapInArrow`: a block in, a block out."""
    for block, made in _results(task, batches):
        yield from block_rows(block, made)


def send_task(task: BlockTask, batches: Iterator[Any]) -> Iterator[Any]:
    """For `mapInArrow`: a block in, parts of new blocks out."""
    for block, made in _results(task, batches):
        for target, part in made:
            yield from block_rows(target, part, source=block)


def join_roles(batches: Iterator[Any]) -> Iterator[Any]:
    """For `mapInArrow`: parts in the order of (block, source) in, the new blocks out."""
    for block, parts in groupby(whole_blocks(batches), key=lambda row: row[0]):
        yield from block_rows(block, joined([unpack(data) for _, data in parts]))


def _results(task: BlockTask, batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """The number of each block, and what the function of the task makes of it."""
    function: Any = task.function
    gc.freeze()  # Spark collects garbage after every task: not among what libraries have made
    refuse_other_machine(task.driver)
    shared = task.shared()
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        for block, data in whole_blocks(batches):
            yield block, function(unpack(data), shared, **task.settings)


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Those with threads, searched again when there are more modules: the search takes a while."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
