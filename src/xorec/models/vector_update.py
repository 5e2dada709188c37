"""Vectors for users and items that come late, the others as they are.

Late rows learn by the model's own step, in passes in which nobody else moves, from the middle of
what they are paired with; the mean over the second half of the passes is kept. A changed user's
problem has their own pairs; an item's has everybody's, because those who lack it push it away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, expect_size
from xorec.representations.distances import Distances
from xorec.representations.vectors import Vectors
from xorec.training.checkpoint import Arrays
from xorec.training.config import TripletConfig
from xorec.training.passes import Moving, Pass, StepOf

PASSES = 10
"""That are averaged; as many go before."""
Floats = npt.NDArray[np.float32]
FEW_USERS = 3
"""With so many users an item starts at half of the usual length."""


def start_late_rows(arrays: Arrays, before: Vectors | Distances, update: DataUpdate) -> None:
    """Known rows as they were; a new user among their items, then an item among its users."""
    users, items = arrays["user_vectors"], arrays["item_vectors"]
    expect_size("dimensions", before.user_vectors.shape[1], users.shape[1])
    users[: before.n_users], items[: before.n_items] = before.user_vectors, before.item_vectors
    pairs, late = update.train.matrix(), update.users[update.users >= before.n_users]
    users[late] = _pointing(pairs[late][:, : before.n_items] @ before.item_vectors) * _length(
        before.user_vectors
    )
    counts = update.train.item_counts[update.items, None].astype(np.float32)
    towards = pairs[:, update.items].T @ users - counts * before.user_vectors.mean(axis=0)
    trust = counts / (counts + FEW_USERS)
    items[update.items] = _pointing(towards) * trust * _length(before.item_vectors)


def learn_late_rows(
    config: TripletConfig,
    arrays: Arrays,
    update: DataUpdate,
    step_of: Callable[[int, ThreadPool], StepOf],
) -> tuple[Floats, Floats]:
    """The vectors of the users and items of `update`. step_of: the steps of an epoch."""
    train, rows = update.train, (update.users, update.items)
    sampler = Negatives.of(train, config.alpha)
    moving = Moving(np.zeros(train.n_users, np.bool_), np.zeros(train.n_items, np.bool_))
    for mask, at in zip(moving, rows, strict=True):
        mask[at] = True
    pairs = train if len(update.items) else train.select(moving.users[train.user_rows])
    learned = arrays["user_vectors"], arrays["item_vectors"]
    users, items = (np.zeros_like(array[at]) for array, at in zip(learned, rows, strict=True))
    how = (config.negatives, config.block_size, 0)
    with ThreadPool(update.threads) as pool:
        for epoch in range(2 * PASSES if pairs.n_pairs else 0):
            Pass(pairs, sampler, *how, epoch, pool, moving=moving).run(step_of(epoch, pool))
            if epoch >= PASSES:
                users += learned[0][update.users] / np.float32(PASSES)
                items += learned[1][update.items] / np.float32(PASSES)
    return users, items


def _pointing(rows: Floats) -> Floats:
    """Rows of unit length; zero where there is nothing to point at."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _length(rows: Floats) -> np.float32:
    return np.float32(np.linalg.norm(rows, axis=1).mean())
