"""A batch of queries in parts, each of which one thread takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool

LONG_LIST = 1_024
"""Longer answers are ranked by counting or selecting, not by insertion into a sorted list."""
FIRST_QUERIES = 16
"""Single queries that an index answers in plain NumPy before one waits for kernels: a few
milliseconds each for a million items."""
_FIRST = np.zeros(1, dtype=np.int64)
Numbers = npt.NDArray[np.int64]


class Nearest(NamedTuple):
    """Where kernels write the best items of queries: keys (B, k), ascending, and counts (B,).

    A key has the distance (or the score, turned round) above the item's tie position, so keys are
    distinct and their order is the ranking, ties and all. Behind counts[b] keys mean nothing.
    """

    keys: Words
    counts: Numbers


def empty_nearest(queries: int, k: int) -> Nearest:
    """Room for the answers of so many queries."""
    return Nearest(np.empty((queries, k), dtype=np.uint64), np.zeros(queries, dtype=np.int64))


def numbers_of(queries: int) -> Numbers:
    """The numbers of all queries of a batch."""
    return _FIRST if queries == 1 else np.arange(queries)


def map_parts(
    pool: ThreadPool, numbers: Numbers, size: int, work: Callable[[Numbers], object]
) -> None:
    """work(part) for consecutive parts of `numbers`, at most `size` long, as even as can be."""
    if len(numbers) <= 1:
        if len(numbers):
            work(numbers)
        return
    pieces = max(-(-len(numbers) // size), min(len(numbers), pool.threads))
    parts = np.array_split(numbers, pieces)
    pool.map(len(parts), lambda at: work(parts[at]))
