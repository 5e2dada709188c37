"""What models that learn by passes over triplets share: the fit, and the fold-in of a new user.

A model says with which arrays it starts, what its step over a block is (`training.passes`), how
its arrays are a representation, and where a new user starts.

A new user's row is learned by the users' step alone, the items as they are (`fold_in_user`). Rows
of an update learn by the model's own step, in passes in which no other row moves, from the middle
of what they are paired with; the mean over the second half of the passes is kept. A changed user's
problem has their own pairs; an item's has the pairs of all users, because those who lack it push it
away.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, EpochModel, EpochStep, expect, expect_size
from xorec.representations.base import Representation
from xorec.representations.vectors import Distances, Floats, Vectors
from xorec.training.config import TripletConfig
from xorec.training.epochs import Arrays
from xorec.training.passes import BY_SAMPLING, Moving, Pass, StepOf, Triplets, TripletStep
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


def adagrad_rows(arrays: Arrays) -> tuple[Rows, Rows]:
    """The tables of users and items over the arrays of a fit."""
    users, items = (
        Rows.of(arrays[f"{kind}_vectors"], arrays[f"{kind}_grad_sq_sum"])
        for kind in ("user", "item")
    )
    return users, items


def fold_in_user(
    passes: Iterable[Triplets],
    user: T,
    step_of: Callable[[int, T], TripletStep],
    averaged: int = PASSES,
) -> Floats:
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


UPDATE_PASSES = 10
"""That are averaged; as many go before."""
FEW_USERS = 3
"""With so many users an item starts at half of the usual length."""


def start_new_rows(arrays: Arrays, before: Vectors | Distances, update: DataUpdate) -> None:
    """Known rows as they were; a new user among their items, then an item among its users."""
    users, items = arrays["user_vectors"], arrays["item_vectors"]
    expect_size("dimensions", before.user_vectors.shape[1], users.shape[1])
    users[: before.n_users], items[: before.n_items] = before.user_vectors, before.item_vectors
    pairs, new = update.train.matrix(), update.users[update.users >= before.n_users]
    users[new] = _pointing(pairs[new][:, : before.n_items] @ before.item_vectors) * _length(
        before.user_vectors
    )
    counts = update.train.item_counts[update.items, None].astype(np.float32)
    towards = pairs[:, update.items].T @ users - counts * before.user_vectors.mean(axis=0)
    trust = counts / (counts + FEW_USERS)
    items[update.items] = _pointing(towards) * trust * _length(before.item_vectors)


def learn_new_rows(
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
        for epoch in range(2 * UPDATE_PASSES if pairs.n_pairs else 0):
            Pass(pairs, sampler, *how, epoch, pool, moving=moving).run(step_of(epoch, pool))
            if epoch >= UPDATE_PASSES:
                users += learned[0][update.users] / np.float32(UPDATE_PASSES)
                items += learned[1][update.items] / np.float32(UPDATE_PASSES)
    return users, items


def _pointing(rows: Floats) -> Floats:
    """Rows of unit length; zero where there is nothing to point at."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _length(rows: Floats) -> np.float32:
    return np.float32(np.linalg.norm(rows, axis=1).mean())


C = TypeVar("C", bound=TripletConfig)


class TripletModel(EpochModel[C]):
    """Learns by passes over triplets (user, positive, negative)."""

    weighting = BY_SAMPLING

    @abstractmethod
    def _start(self, train: Interactions, seed: int) -> Arrays:
        """The arrays that are learned, as they start."""

    @abstractmethod
    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        """The step of each block of an epoch, over these arrays."""

    @abstractmethod
    def _represent(self, arrays: Arrays) -> Representation:
        """What has been learned so far."""

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        """What happens to all rows at the end of an epoch, in place."""

    def _epochs(self, train: Interactions, options: RunOptions, pool: ThreadPool) -> Any:
        run_epoch = self.run_epoch(train, options.seed, pool)
        return self._start(train, options.seed), run_epoch, self._represent

    def run_epoch(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochStep:
        """The step of an epoch."""
        sampler = Negatives.of(train, self.config.alpha)

        def run(epoch: int, arrays: Arrays) -> dict[str, float]:
            step_of = self._step_of(arrays, epoch, seed, pool)
            loss = self._pass(train, sampler, seed, epoch, pool).run(step_of)
            self._after_epoch(train, arrays)
            return {"loss": loss}

        return run

    def _pass(
        self, train: Interactions, sampler: Negatives, seed: int, epoch: int, pool: ThreadPool
    ) -> Pass:
        config = self.config
        return Pass(train, sampler, config.negatives, config.block_size, seed, epoch, pool)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """New rows learn by the same steps, the others as they are."""
        arrays = self._start(update.train, 0)
        representation = expect(representation, type(self._represent(arrays)))
        assert isinstance(representation, (Vectors, Distances))
        start_new_rows(arrays, representation, update)
        users, items = learn_new_rows(
            self.config, arrays, update, lambda epoch, pool: self._step_of(arrays, epoch, 0, pool)
        )
        arrays["user_vectors"][update.users] = self._averaged(users)
        arrays["item_vectors"][update.items] = self._averaged(items)
        return self._represent(arrays)

    def _averaged(self, vectors: Floats) -> Floats:
        """Means of a row over several passes, as one of the model's own."""
        return vectors
