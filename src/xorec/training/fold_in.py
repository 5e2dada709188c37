"""Folding in: the row of a new user, learned by the users' step alone, the items as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.data.negatives import Negatives
from xorec.training.passes import Triplets, TripletStep
from xorec.training.rows import Rows

PASSES = 20
"""That are averaged; as many go before."""
T = TypeVar("T", bound=tuple[npt.NDArray[np.float32], ...])


def history_rows(history: npt.NDArray[np.integer], n_items: int) -> npt.NDArray[np.int32]:
    """The rows of a new user's items, ascending, each once; refused where there are no such items.

    >>> history_rows(np.array([7, 3, 7]), n_items=8)
    array([3, 7], dtype=int32)
    """
    rows = np.unique(history)
    if not len(rows) or rows[0] < 0 or rows[-1] >= n_items:
        raise DataError(f"a history is of rows 0 to {n_items - 1}, at least one: it has {rows}.")
    return rows.astype(np.int32)


def fold_in_passes(
    history: npt.NDArray[np.integer], n_items: int, negatives: int, passes: int = 2 * PASSES
) -> Iterator[Triplets]:
    """The pairs of a new user who has the items `history`, with fresh negatives in each pass."""
    positives = np.unique(history).astype(np.int32)
    pairs, users = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
    sampler = Negatives(positives, np.array([0, len(positives)]), n_items)
    for epoch in range(passes):
        drawn = np.empty((len(positives), negatives), dtype=np.int32)
        sampler.draw(drawn, pairs, users, 0, epoch)
        yield Triplets(users, positives, drawn)


def mean_user(items: npt.NDArray[np.float32], history: npt.NDArray[np.integer]) -> Rows:
    """A new user in the middle of their items."""
    return Rows.of(items[history].mean(axis=0, keepdims=True), np.zeros(1, dtype=np.float32))


def fold_in_user(
    passes: Iterable[Triplets], user: T, step_of: Callable[[int, T], TripletStep], averaged: int
) -> npt.NDArray[np.float32]:
    """The new user's vector (1, d): the mean after each of the last `averaged` of twice as many.

    user: the table of one row to start from; step_of(pass, table): the step of a pass.
    """
    total = np.zeros_like(user[0])
    for epoch, triplets in enumerate(passes):
        if len(triplets.users):
            user = step_of(epoch, user).step_users(triplets).rows
        if epoch >= averaged:
            total += user[0]
    return np.asarray(total / np.float32(averaged))
