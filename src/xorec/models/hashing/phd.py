"""PHD (Hansen et al. 2021): codes in which the user's bits say which of the item's bits count.

The projected Hamming dissimilarity of a user and an item is the number of bits that the user has
and the item lacks, delta = popcount(z_u AND NOT z_i), z in {0, 1}. s = 1 - 2 delta / r is the dot
product of the +-1 code 2 z_u - 1 with the masked item 2 z_u z_i - 1, over r.

minimise  sum over pairs of  (1 - s_i)^2 + sum over their negatives of (target - s_j)^2

over the chances p = sigma(E) of the bits, which are drawn anew for each block of pairs; the
gradient goes straight through the draw (`phd_kernels`). First the chances themselves stand for the
bits, and by and by the drawn bits do (`softness`). In the end a bit is z = 1[p > 1/2].
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import Words, pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Model
from xorec.models.hashing.phd_kernels import SURE
from xorec.models.hashing.phd_start import turned_rows
from xorec.models.hashing.phd_steps import Rows, Steps, Terms
from xorec.representations.base import Representation
from xorec.representations.masked import MaskedCodes
from xorec.representations.vectors import Floats
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Pass, Triplets
from xorec.training.space import Float, Space

_FOLD_IN_PASSES = 20
_GROW_EPOCHS = 6


class PHDConfig(EpochConfig):
    """Settings of PHD."""

    epochs: int = Field(10, ge=1, description="passes over the training pairs, at most")
    validate_every: int = Field(2, ge=1, description="epochs between two validations")
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    learning_rate: float = Field(10.0, gt=0, le=100, description="length of a row's first step")
    negative_target: float = Field(
        0.3, ge=-1, lt=1, description="what a negative should score; a positive 1"
    )
    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.5, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    noise: float = Field(0.0, ge=0, le=10, description="noise on the first epoch's targets")
    noise_decay: float = Field(0.5, ge=0, le=1, description="what each epoch leaves of the noise")
    kl: float = Field(0.0, ge=0, description="weight of KL(p || 1/2), mean over a row's bits")
    softness: float = Field(
        1.0, ge=0, le=10, description="share of the epochs until bits are drawn; 0: from the first"
    )
    start: Literal["spectral", "random"] = Field(
        "spectral", description="logits from singular vectors, or uniform, as released"
    )
    init_scale: float = Field(1.0, gt=0, le=10, description="size of the first logits")
    block_size: int = Field(32_768, ge=1, description="pairs between two draws of the codes")

    def terms(self, epoch: int, epochs: int) -> Terms:
        """The loss and its steps in one of so many epochs, as the kernels take them."""
        soft = self.softness * (epochs - 1)
        hard = min(1.0, epoch / soft) if soft > 0 else 1.0
        noise = self.noise * self.noise_decay**epoch
        return Terms(self.learning_rate, self.kl, self.negative_target, noise, hard)


class PHD(Model[PHDConfig]):
    """Codes of users and items, ranked by the projected Hamming dissimilarity."""

    name = "phd"
    Config = PHDConfig
    space: ClassVar[Space] = {
        "negative_target": Float(0.1, 0.5),
        "learning_rate": Float(5.0, 16.0, log=True),
        "alpha": Float(0.3, 0.8),
    }
    cost = 2.0

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        with options.thread_pool() as pool:
            step = self._step_of(train, sampler, options.seed, pool, self.config.epochs)
            state = trainer.run(self._start(train, options.seed), step, _codes)
        return _codes(state.arrays)

    def _step_of(
        self, train: Interactions, sampler: Negatives, seed: int, pool: ThreadPool, epochs: int
    ) -> Callable[[int, Arrays], dict[str, float]]:
        """One epoch over the pairs of `train`, in place."""
        size = (self.config.negatives, self.config.block_size, seed)

        def step(epoch: int, arrays: Arrays) -> dict[str, float]:
            terms = self.config.terms(epoch, epochs)
            rows, blocks = Rows.of(arrays, terms, seed, epoch), count(1)
            run = Pass(train, sampler, *size, epoch, pool)
            return {"loss": run.run(lambda t: Steps(t, rows, terms, next(blocks)))}

        return step

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Singular vectors, or uniform numbers of NumPy's own counter-based Philox."""
        size, scale = self.config.bits, np.float32(self.config.init_scale)
        if self.config.start == "spectral":
            users, items = turned_rows(train, size, seed)
            scale *= np.sqrt(np.float32(size))
        else:
            rng = np.random.Generator(np.random.Philox(seed))
            users, items = (
                2 * rng.random((rows, size), dtype=np.float32) - 1
                for rows in (train.n_users, train.n_items)
            )
        return _arrays(scale * users, scale * items)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: the users' step alone, averaged over the last passes."""
        assert isinstance(representation, MaskedCodes)
        positives = np.unique(history).astype(np.int32)
        pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
        sampler = Negatives(positives, np.array([0, len(positives)]), representation.n_items)
        negatives = np.empty((len(positives), self.config.negatives), dtype=np.int32)
        user, total = np.zeros((2, 1, representation.bits), dtype=np.float32)
        arrays = _arrays(user, _sure(representation.item_codes, representation.bits))
        rows = Rows.of(arrays, self.config.terms(0, 1), 0, 0)
        for epoch in range(2 * _FOLD_IN_PASSES):
            sampler.draw(negatives, pairs, owner, 0, epoch)
            terms = self.config.terms(epoch, 2 * _FOLD_IN_PASSES)
            triplets = Triplets(owner, positives, negatives)
            Steps(triplets, rows, terms, epoch).learn_users(slice(None))
            if epoch >= _FOLD_IN_PASSES:
                total += user
        return pack_signs(np.where(total > 0, 1, -1))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update` learn on, all others are sure of their bits and stay.

        A changed user's problem has their own pairs; an item's has everybody's.
        """
        assert isinstance(representation, MaskedCodes)
        train, size = update.train, representation.bits
        users = np.zeros((train.n_users, size), dtype=np.float32)
        items = np.zeros((train.n_items, size), dtype=np.float32)
        users[: representation.n_users] = _sure(representation.user_codes, size)
        items[: representation.n_items] = _sure(representation.item_codes, size)
        users[update.users] /= SURE
        items[update.items] /= SURE
        arrays, sampler = _arrays(users, items), Negatives.of(train, self.config.alpha)
        if not len(update.items):
            train = train.select(np.isin(train.user_rows, update.users))
        step = self._step_of(train, sampler, 0, ThreadPool(1), _GROW_EPOCHS)
        for epoch in range(_GROW_EPOCHS if train.n_pairs else 0):
            step(epoch, arrays)
        return _codes(arrays)


def _arrays(users: Floats, items: Floats) -> Arrays:
    """Logits, and what their rows have spent: nothing yet."""
    return {
        "users": users,
        "items": items,
        "user_spent": np.zeros(len(users), dtype=np.float32),
        "item_spent": np.zeros(len(items), dtype=np.float32),
    }


def _sure(codes: Words, bits: int) -> Floats:
    """Logits whose bits are sure to be these codes."""
    return SURE * unpack_signs(codes, bits).astype(np.float32)


def _codes(arrays: Arrays) -> MaskedCodes:
    return MaskedCodes.from_bits(arrays["users"] > 0, arrays["items"] > 0)
