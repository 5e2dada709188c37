"""What runs in Spark's Python processes: blocks in, blocks out, one at a time (`rows`)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Arrays, BlockFunction, Roles, joined
from xorec.engines.spark.machine import refuse_other_machine
from xorec.engines.spark.packing import map_packed, unpack
from xorec.engines.spark.rows import block_rows, whole_blocks

_MAPPED: dict[str, Arrays] = {}
"""Shared files that this process has mapped, by path, until they are gone."""


@dataclass(frozen=True)
class Task:
    """A block function with all that it needs but the blocks.

    files: (name among Spark's files, None or what its path is called) of all that is shared: arrays
    where there is no such name. gone: names of files that nobody needs any more; driver:
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
            merged |= _mapped(path) if called is None else {called: np.array(path)}
        return merged


@dataclass(frozen=True)
class MapBlocks:
    """For `mapInArrow`: a block in, a block out."""

    task: Task

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for block, arrays, shared in _prepared(self.task, batches):
            function: Any = self.task.function
            yield from block_rows(block, function(arrays, shared, **self.task.settings))


@dataclass(frozen=True)
class SendRoles:
    """For `mapInArrow`: a block in, parts of new blocks out."""

    task: Task

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for block, arrays, shared in _prepared(self.task, batches):
            function: Any = self.task.function
            for target, part in function(arrays, shared, **self.task.settings):
                yield from block_rows(target, part, source=block)


def join_roles(batches: Iterator[Any]) -> Iterator[Any]:
    """For `mapInArrow`: parts in the order of (block, source) in, the new blocks out."""
    for block, parts in groupby(whole_blocks(batches), key=lambda row: row[0]):
        yield from block_rows(block, joined([unpack(data) for _, data in parts]))


def _prepared(task: Task, batches: Iterator[Any]) -> Iterator[tuple[int, Arrays, Arrays]]:
    gc.freeze()  # Spark collects garbage after every task: not among what libraries have made
    refuse_other_machine(task.driver)
    shared = task.shared()
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        for block, data in whole_blocks(batches):
            yield block, unpack(data), shared


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Those with threads, found anew when there are more modules: the search takes a while."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _mapped(path: str) -> Arrays:
    if path not in _MAPPED:
        _MAPPED[path] = map_packed(Path(path))
    return _MAPPED[path]
