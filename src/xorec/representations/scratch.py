"""Scratches: arrays of a number for each item that searches dirty in places and clean again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LINE = 16
"""Items whose sums share a line of the cache."""


class Scratch(NamedTuple):
    """sums (m rounded up to LINE,) and marks (m / LINE,): zeros; lines: room for numbers."""

    sums: npt.NDArray[np.float32]
    marks: npt.NDArray[np.uint8]
    lines: npt.NDArray[np.int32]


class Scratches:
    """As many as ever work at the same time; each is taken by one thread and given back clean.

    To make one takes longer than a search. What an error leaves behind is not given back.

    >>> with Scratches(100).one() as scratch:
    ...     scratch.sums.shape
    (112,)
    """

    def __init__(self, n_items: int) -> None:
        self._lines = -(-n_items // LINE)
        self._free: list[Scratch] = []

    @contextmanager
    def one(self) -> Iterator[Scratch]:
        """A clean scratch, for one thread."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = Scratch(
                np.zeros(self._lines * LINE, dtype=np.float32),
                np.zeros(self._lines, dtype=np.uint8),
                np.empty(self._lines + 1, dtype=np.int32),
            )
        yield scratch
        self._free.append(scratch)
