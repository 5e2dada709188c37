"""Negatives: items that a user does not have, drawn without rejection.

The complement of a user's items is numbered, a number below its size (or weight) is drawn from a
counter-based stream (seed, epoch, user, position), and binary search finds the item it belongs to.
So a user who has nearly everything costs no more than any other, and a draw depends on its key
alone. A user who has every item gets -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.kernels import inlined, kernel
from xorec.core.rng import below, draw, stream
from xorec.data.interactions import Interactions, UserItems
from xorec.data.text import offsets_of

_TOTAL_WEIGHT = 2**52  # sums of integer weights stay exact in float64


class WeightSums(NamedTuple):
    """The two sums of `Negatives`: of all items, and of what each user has."""

    cumulative: npt.NDArray[np.int64]
    taken: npt.NDArray[np.int64]


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
    """Weight of the user's items up to and including this pair, (n_pairs)."""
    first_user: int = 0
    """Of a block of users: the row of its first one among all, for the draws hang on it."""

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
        return cls.weighted(*pairs, offsets_of(weights))

    @classmethod
    def weighted(
        cls,
        indices: npt.NDArray[np.int32],
        indptr: npt.NDArray[np.int64],
        n_items: int,
        cumulative: npt.NDArray[np.int64] | None,
        first_user: int = 0,
    ) -> Negatives:
        """By the weight before each item and of all; None: uniform."""
        if cumulative is None:
            return cls(indices, indptr, n_items, first_user=first_user)
        sums = offsets_of(np.diff(cumulative)[indices])
        taken = sums[1:] - np.repeat(sums[indptr[:-1]], np.diff(indptr))
        return cls(indices, indptr, n_items, cumulative, taken, first_user)

    def draw(
        self,
        out: npt.NDArray[np.int32],
        pairs: npt.NDArray[np.int64],
        users: npt.NDArray[np.int32],
        seed: int,
        epoch: int,
    ) -> None:
        """Fill out (len(pairs), K): K negatives for each pair, without Python's lock.

        pairs: positions in `indices`; users: the user of each.
        """
        positives, key = UserItems(self.indptr, self.indices), (seed, epoch, self.first_user)
        if self.cumulative is None or self.taken is None:
            _draw_uniform(out, pairs, users, positives, self.n_items, key)
        else:
            weights = WeightSums(self.cumulative, self.taken)
            _draw_weighted(out, pairs, users, positives, weights, key)

    def draw_all(self, count: int, seed: int, epoch: int) -> npt.NDArray[np.int32]:
        """`count` negatives for every pair, int32 (n_pairs, count)."""
        users = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
        out = np.empty((len(self.indices), count), dtype=np.int32)
        self.draw(out, np.arange(len(self.indices)), users, seed, epoch)
        return out


@inlined
def _count_before(places: Any, before: Any, items: Any, lo: Any, hi: Any) -> None:
    """How many of the user's items[lo:hi] lie before each place of their complement.

    Binary search for all places in step and without branches: a branch here is guessed wrongly
    half the time, and one search would wait for its own loads.
    """
    left = hi - lo
    while left > 0:
        half = (left + 1) >> 1
        for k in range(len(places)):
            at = before[k] + half
            if at <= hi - lo:
                before[k] = at if items[lo + at - 1] - (at - 1) <= places[k] else before[k]
        left = left >> 1


@inlined
def _weight_before(places: Any, before: Any, items: Any, lo: Any, hi: Any, weights: Any) -> None:
    """The same where items have weights."""
    left = hi - lo
    while left > 0:
        half = (left + 1) >> 1
        for k in range(len(places)):
            at = before[k] + half
            if at <= hi - lo:
                free = weights.cumulative[items[lo + at - 1] + 1] - weights.taken[lo + at - 1]
                before[k] = at if free <= places[k] else before[k]
        left = left >> 1


@inlined
def _items_at(places: Any, found: Any, cumulative: Any) -> None:
    """The item that each weight falls on: how many of the sums cumulative[1:] are no larger."""
    most = len(cumulative) - 1
    left = most
    for k in range(len(places)):
        found[k] = 0
    while left > 0:
        half = (left + 1) >> 1
        for k in range(len(places)):
            at = found[k] + half
            if at <= most:
                found[k] = at if cumulative[at] <= places[k] else found[k]
        left = left >> 1


@inlined
def draw_outside(
    rows: Any, before: Any, items: Any, lo: Any, hi: Any, n_items: Any, key: Any, position: Any
) -> None:
    """Fill rows (K,) with items that are not among items[lo:hi] (ascending, fewer than `n_items`).

    By the numbers of the stream `key` from `position` on; before: room for as many.
    """
    for k in range(len(rows)):
        rows[k] = below(draw(key, position + k), n_items - (hi - lo))
        before[k] = 0
    _count_before(rows, before, items, lo, hi)
    for k in range(len(rows)):
        rows[k] += before[k]


@kernel
def _draw_uniform(
    out: Any, pairs: Any, users: Any, positives: UserItems, n_items: Any, keys: Any
) -> None:
    """keys: (seed, epoch, row of the first user among all)."""
    indptr, (seed, epoch, first_user) = positives.indptr, keys
    count = out.shape[1]
    drawn, before = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for row in range(len(pairs)):
        user = users[row]
        lo, hi = indptr[user], indptr[user + 1]
        if hi - lo >= n_items:
            for k in range(count):
                out[row, k] = -1
            continue
        key, position = stream(seed, epoch, first_user + user), (pairs[row] - lo) * count
        draw_outside(drawn, before, positives.items, lo, hi, n_items, key, position)
        for k in range(count):
            out[row, k] = drawn[k]


@kernel
def _draw_weighted(
    out: Any,
    pairs: Any,
    users: Any,
    positives: UserItems,
    weights: WeightSums,
    keys: Any,
) -> None:
    """keys: (seed, epoch, row of the first user among all)."""
    seed, epoch, first_user = keys
    indptr, cumulative, taken = positives.indptr, weights.cumulative, weights.taken
    count = out.shape[1]
    n_items = len(cumulative) - 1
    places, found = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for row in range(len(pairs)):
        user = users[row]
        lo, hi = indptr[user], indptr[user + 1]
        if hi - lo >= n_items:
            for k in range(count):
                out[row, k] = -1
            continue
        key = stream(seed, epoch, first_user + user)
        users_weight = taken[hi - 1] if hi > lo else 0
        for k in range(count):
            number = draw(key, (pairs[row] - lo) * count + k)
            places[k] = below(number, cumulative[n_items] - users_weight)
            found[k] = 0
        _weight_before(places, found, positives.items, lo, hi, weights)
        for k in range(count):
            if found[k] > 0:
                places[k] += taken[lo + found[k] - 1]
        _items_at(places, found, cumulative)
        for k in range(count):
            out[row, k] = found[k]
