"""What models that learn by passes over triplets share: the fit, and the fold-in of a new user.

A model says with which arrays it starts, what its step over a block is (`training.passes`), how
its arrays are a representation, and where a new user starts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.vector_update import learn_late_rows, start_late_rows
from xorec.representations.base import Representation
from xorec.representations.distances import Distances
from xorec.representations.vectors import Vectors
from xorec.training.checkpoint import Arrays
from xorec.training.config import TripletConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.fold_in import PASSES, fold_in_passes, fold_in_user
from xorec.training.passes import BY_SAMPLING, Pass, StepOf, TripletStep

C = TypeVar("C", bound=TripletConfig)
Floats = npt.NDArray[np.float32]


class TripletModel(Model[C]):
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

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        with options.thread_pool() as pool:
            run_epoch = self.run_epoch(train, options.seed, pool)
            state = trainer.run(self._start(train, options.seed), run_epoch, self._represent)
        return self._represent(state.arrays)

    def run_epoch(
        self, train: Interactions, seed: int, pool: ThreadPool
    ) -> Callable[[int, Arrays], dict[str, float]]:
        """What an epoch does, by its number, to the arrays; it tells the loss."""
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

    def _fold_in(self, history: npt.NDArray[np.integer], items: Any) -> Floats:
        """A new user's row (1, d): the users' step alone, averaged over the last passes.

        items: the table of the items, which stay as they are.
        """
        passes = fold_in_passes(history, len(items[0]), self.config.negatives)
        start = self._new_user(items, np.unique(history))
        return fold_in_user(
            passes, start, lambda epoch, user: self._user_step(user, items, epoch), PASSES
        )

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """Rows that come late learn by the same steps, the others as they are."""
        arrays = self._start(update.train, 0)
        representation = expect(representation, type(self._represent(arrays)))
        assert isinstance(representation, (Vectors, Distances))
        start_late_rows(arrays, representation, update)
        users, items = learn_late_rows(
            self.config,
            arrays,
            update,
            lambda epoch, pool: self._step_of(arrays, epoch, 0, pool),
        )
        arrays["user_vectors"][update.users] = self._averaged(users)
        arrays["item_vectors"][update.items] = self._averaged(items)
        return self._represent(arrays)

    def _averaged(self, vectors: Floats) -> Floats:
        """Means of a row over several passes, as one of the model's own."""
        return vectors

    def _new_user(self, items: Any, history: npt.NDArray[np.integer]) -> Any:
        """The table of one user who has these items, before the first pass of `_fold_in`."""
        raise NotImplementedError

    def _user_step(self, user: Any, items: Any, epoch: int) -> TripletStep:
        """The step of a pass that moves one user."""
        raise NotImplementedError
