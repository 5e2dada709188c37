"""Negatives: items that a user does not have, drawn without rejection.

The complement of a user's items is numbered, a number below its size (or weight) is drawn from a
counter-based stream (seed, epoch, user, position), and binary search finds the item it belongs to.
So a training positive never comes out, a user who has nearly everything costs no more than any
other, and the draw depends on nothing but its key. A user who has every item gets -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.data.interactions import Interactions
from xorec.errors import OptionError
from xorec.kernels import inlined, kernel
from xorec.rng import below, draw, stream

_TOTAL_WEIGHT = 2**52  # sums of integer weights stay exact in float64


@dataclass(frozen=True, eq=False)
class Negatives:
    """A sampler of negatives for users whose items are `indices[indptr[u]:indptr[u + 1]]`.

    Uniform, or in proportion to popularity**alpha. Weights are integers (never 0, so every item
    can be drawn), which makes the cumulative sums exact.
    """

    indices: npt.NDArray[np.int32]
    indptr: npt.NDArray[np.int64]
    n_items: int
    cumulative: npt.NDArray[np.int64] | None = None
    """Weight of all items before item i, (n_items + 1); None: uniform."""
    taken: npt.NDArray[np.int64] | None = None
    """Weight of the user's own items up to and including this pair, (n_pairs)."""

    @classmethod
    def of(cls, train: Interactions, alpha: float = 0.0) -> Negatives:
        """Negatives with probability proportional to popularity**alpha (0: uniform)."""
        pairs = (train.indices, train.indptr, train.n_items)
        if alpha == 0.0:
            return cls(*pairs)
        if not 0.0 < alpha <= 2.0:
            raise OptionError(f"alpha is {alpha}: the power of popularity is from 0 to 2.")
        popularity = train.item_counts.astype(np.float64) ** alpha
        weights = np.maximum(1, popularity * (_TOTAL_WEIGHT / popularity.sum())).astype(np.int64)
        cumulative = np.concatenate([[0], np.cumsum(weights)])
        own = np.cumsum(weights[train.indices])
        before = np.concatenate([[0], own])[train.indptr[:-1]]
        return cls(*pairs, cumulative, own - np.repeat(before, train.user_counts))

    def draw(
        self,
        out: npt.NDArray[np.int32],
        pairs: npt.NDArray[np.int64],
        users: npt.NDArray[np.int32],
        seed: int,
        epoch: int,
    ) -> None:
        """Fill out (len(pairs), K): K negatives for each pair.

        pairs: positions in `indices`; users: the user of each. Runs without Python's lock, so
        threads may fill parts of one array side by side.
        """
        if self.cumulative is None or self.taken is None:
            _draw_uniform(out, pairs, users, self.indptr, self.indices, self.n_items, seed, epoch)
        else:
            weights = (self.cumulative, self.taken)
            _draw_weighted(out, pairs, users, self.indptr, self.indices, *weights, seed, epoch)

    def draw_all(self, count: int, seed: int, epoch: int) -> npt.NDArray[np.int32]:
        """`count` negatives for every pair, int32 (n_pairs, count)."""
        users = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
        out = np.empty((len(self.indices), count), dtype=np.int32)
        self.draw(out, np.arange(len(self.indices)), users, seed, epoch)
        return out


@inlined
def _uniform(number: Any, indices: Any, lo: Any, hi: Any, n_items: Any) -> Any:
    """The item at a random place of the complement of indices[lo:hi]."""
    place = below(number, n_items - (hi - lo))
    left, right = lo, hi
    while left < right:  # count the user's items that lie before that place
        middle = (left + right) >> 1
        if indices[middle] - (middle - lo) <= place:
            left = middle + 1
        else:
            right = middle
    return place + (left - lo)


@inlined
def _weighted(number: Any, indices: Any, lo: Any, hi: Any, cumulative: Any, taken: Any) -> Any:
    """The item at a random weight of the complement of indices[lo:hi]."""
    n_items = len(cumulative) - 1
    own = taken[hi - 1] if hi > lo else 0
    place = below(number, cumulative[n_items] - own)
    left, right = lo, hi
    while (
        left < right
    ):  # weight of the complement before an own item = cumulative - taken before it
        middle = (left + right) >> 1
        item = indices[middle]
        if cumulative[item + 1] - taken[middle] <= place:
            left = middle + 1
        else:
            right = middle
    if left > lo:
        place += taken[left - 1]
    first, last = 0, n_items
    while first < last:
        middle = (first + last) >> 1
        if cumulative[middle + 1] <= place:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _draw_uniform(
    out: Any, pairs: Any, users: Any, indptr: Any, indices: Any, n_items: Any, seed: Any, epoch: Any
) -> None:
    count = out.shape[1]
    for row in range(len(pairs)):
        user = users[row]
        lo, hi = indptr[user], indptr[user + 1]
        key = stream(seed, epoch, user)
        for k in range(count):
            if hi - lo >= n_items:
                out[row, k] = -1
            else:
                number = draw(key, (pairs[row] - lo) * count + k)
                out[row, k] = _uniform(number, indices, lo, hi, n_items)


@kernel
def _draw_weighted(
    out: Any,
    pairs: Any,
    users: Any,
    indptr: Any,
    indices: Any,
    cumulative: Any,
    taken: Any,
    seed: Any,
    epoch: Any,
) -> None:
    count = out.shape[1]
    n_items = len(cumulative) - 1
    for row in range(len(pairs)):
        user = users[row]
        lo, hi = indptr[user], indptr[user + 1]
        key = stream(seed, epoch, user)
        for k in range(count):
            if hi - lo >= n_items:
                out[row, k] = -1
            else:
                number = draw(key, (pairs[row] - lo) * count + k)
                out[row, k] = _weighted(number, indices, lo, hi, cumulative, taken)
