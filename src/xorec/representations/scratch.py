"""Scratches: arrays that a search for sums of weights dirties and cleans again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LINE = 16
"""Sums of which the largest is looked at first."""
STRIDE = 32
"""Numbers of `Scratch.ranks` that are looked over at once."""


class Scratch(NamedTuple):
    """Room for the sums of the items that the lists of one history name, side by side.

    ranks (2 (m / 64 + 1) rounded up to STRIDE,): pairs of a word, with a bit for each of 64 items,
    and of how many bits are set before it. sums (m rounded up to LINE,): of the items whose bits
    are set, in their order. All zeros: see `neighbours_kernels.add_postings`.
    """

    ranks: npt.NDArray[np.uint64]
    sums: npt.NDArray[np.float32]


class Scratches:
    """As many as ever work at the same time; each is taken by one thread and given back clean.

    To make one takes longer than a search. What an error leaves behind is not given back.

    >>> with Scratches(100).one() as scratch:
    ...     scratch.sums.shape, scratch.ranks.shape
    ((112,), (32,))
    """

    def __init__(self, n_items: int) -> None:
        self._n_items = n_items
        self._free: list[Scratch] = []

    @contextmanager
    def one(self) -> Iterator[Scratch]:
        """A clean scratch, for one thread."""
        scratch = self.take()
        yield scratch
        self.give_back(scratch)

    def take(self) -> Scratch:
        """A clean scratch; whoever takes it gives it back clean."""
        try:
            return self._free.pop()
        except IndexError:
            numbers = 2 * (-(-self._n_items // 64) + 1)
            return Scratch(
                np.zeros(-(-numbers // STRIDE) * STRIDE, dtype=np.uint64),
                np.zeros(-(-self._n_items // LINE) * LINE, dtype=np.float32),
            )

    def give_back(self, scratch: Scratch) -> None:
        """What `take` gave, clean again."""
        self._free.append(scratch)
