"""PHD (Hansen et al. 2021): codes in which the user's bits say which of the item's bits count.

The projected Hamming dissimilarity of a user and an item is the number of bits that the user has
and the item lacks, delta = popcount(z_u AND NOT z_i), z in {0, 1}. s = 1 - 2 delta / r is the dot
product of the +-1 code 2 z_u - 1 with the masked item 2 z_u z_i - 1, over r.

minimise  sum over pairs of  (1 - s_i)^2 + sum over their negatives of (target - s_j)^2

over the chances p = sigma(E) of the bits, which are drawn anew for each block of pairs; the
gradient goes straight through the draw (`phd_kernels`). First the chances themselves stand for the
bits, and by and by the drawn bits do (`softness`). In the end a bit is z = 1[p > 1/2].

A start for codes: the leading singular vectors of the pairs, turned so that signs lose least.

X = D_u^-1/2 R D_i^-1/2 of the 0/1 pairs R and the counts D, X ~ U S V' by a few rounds of subspace
iteration; users are the rows of U S^1/2, items those of V S^1/2. Scaling by the counts keeps
popularity from being the only thing that the first directions say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import empty_apart
from xorec.core.bits import Words, pack_signs, unpack_signs
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, expect
from xorec.models.hashing.phd_kernels import (
    SURE,
    Items,
    Kept,
    Terms,
    Users,
    add_items,
    draw_items,
    step_items,
    step_users,
)
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.representations.masked import MaskedCodes
from xorec.representations.vectors import Floats
from xorec.training.checkpoint import Arrays
from xorec.training.config import Float, Space, TripletConfig
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows
from xorec.training.fold_in import PASSES
from xorec.training.passes import StepOf, Triplets, TripletStep, UserResult
from xorec.training.rows import Gradients, take_rows

_ROUNDS, _SPARE = 4, 8
"""Rounds of the iteration, and directions beside those that are kept."""


def singular_rows(train: Interactions, size: int, seed: int) -> tuple[Floats, Floats]:
    """Rows of users (n, size) and items (m, size) whose dot products are nearly X."""
    users, items = (
        1 / np.sqrt(np.maximum(counts, 1)) for counts in (train.user_counts, train.item_counts)
    )
    X = train.matrix()
    X.data *= users[train.user_rows] * items[train.indices]
    back = X.T.tocsr()
    rng = np.random.Generator(np.random.Philox(seed))
    wide = min(size + _SPARE, *X.shape)
    V = rng.standard_normal((train.n_items, wide), dtype=np.float32)
    for _ in range(_ROUNDS):
        V, _ = np.linalg.qr(back @ (X @ V))
    U, inner = np.linalg.qr(X @ V)
    left, values, right = np.linalg.svd(inner)
    root = np.sqrt(values)
    rows = ((U @ left * root)[:, :size], (V @ right.T * root)[:, :size])
    for side, counts in zip(rows, (train.user_counts, train.item_counts), strict=True):
        side[counts == 0] = 0  # but for the last digit, they are
    return to_dimensions(*rows, size)


def turned_rows(train: Interactions, size: int, seed: int) -> tuple[Floats, Floats]:
    """The same as unit rows, turned (`training.discrete.rotation`); a row without pairs is zero."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        users, items = (unit_rows(rows) for rows in singular_rows(train, size, seed))
        rotation = learn_rotation(users, items, seed=seed)
        return users @ rotation, items @ rotation


_UPDATE_EPOCHS = 6


class PHDConfig(TripletConfig):
    """Settings of PHD."""

    epochs: int = Field(10, ge=1, description="passes over the training pairs, at most")
    validate_every: int = Field(2, ge=1, description="epochs between two validations")
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    learning_rate: float = Field(10.0, gt=0, le=100, description="length of a row's first step")
    negative_target: float = Field(
        0.3, ge=-1, lt=1, description="score that negatives are trained to have; positives: 1"
    )
    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.5, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    noise: float = Field(
        0.0, ge=0, le=10, description="standard deviation of the noise on the first epoch's targets"
    )
    noise_decay: float = Field(
        0.5, ge=0, le=1, description="factor by which the noise shrinks each epoch"
    )
    kl: float = Field(0.0, ge=0, description="weight of KL(p || 1/2), mean over a row's bits")
    softness: float = Field(
        1.0,
        ge=0,
        le=10,
        description="share of the epochs until codes are fully random bits; 0: from the first",
    )
    start: Literal["spectral", "random"] = Field(
        "spectral",
        description="first logits: from singular vectors, or uniform as in the authors' code",
    )
    init_scale: float = Field(1.0, gt=0, le=10, description="size of the first logits")
    block_size: int = Field(
        32_768, ge=1, description="pairs per block: codes are drawn anew for each block"
    )

    def terms(self, epoch: int, epochs: int) -> Terms:
        """The loss and its steps in one of so many epochs, as the kernels take them."""
        soft = self.softness * (epochs - 1)
        hard = min(1.0, epoch / soft) if soft > 0 else 1.0
        noise = self.noise * self.noise_decay**epoch
        return Terms(self.learning_rate, self.kl, self.negative_target, noise, hard)


class PHD(TripletModel[PHDConfig]):
    """Codes of users and items, ranked by the projected Hamming dissimilarity.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> PHD(bits=8, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "phd"
    Config = PHDConfig
    space: ClassVar[Space] = {
        "negative_target": Float(0.1, 0.5),
        "learning_rate": Float(5.0, 16.0, log=True),
        "alpha": Float(0.3, 0.8),
    }
    cost = 2.0

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

    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        return self._steps(arrays, epoch, self.config.epochs, seed)

    def _steps(self, arrays: Arrays, epoch: int, epochs: int, seed: int) -> StepOf:
        """The steps of one of so many epochs."""
        terms = self.config.terms(epoch, epochs)._replace(seed=seed, turn=epoch << 24)
        users, items = tables(arrays, terms)
        return lambda block, pairs: PHDStep(
            users, items, terms._replace(turn=terms.turn + block + 1)
        )

    def _represent(self, arrays: Arrays) -> MaskedCodes:
        return MaskedCodes.from_bits(arrays["users"] > 0, arrays["items"] > 0)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: the users' step alone, averaged over the last passes."""
        representation = expect(representation, MaskedCodes)
        sure = _sure(representation.item_codes, representation.bits)
        _, items = tables(_arrays(sure[:0], sure), self.config.terms(0, 1))
        return pack_signs(np.where(self._fold_in(history, items) > 0, 1, -1))

    def _new_user(self, items: Any, history: npt.NDArray[np.integer]) -> Users:
        zeros = np.zeros((1, items.logits.shape[1]), dtype=np.float32)
        return Users(zeros, np.zeros(1, dtype=np.float32))

    def _user_step(self, user: Any, items: Any, epoch: int) -> TripletStep:
        return PHDStep(user, items, self.config.terms(epoch, 2 * PASSES)._replace(turn=epoch))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update` learn on, all others are sure of their bits and stay.

        A changed user's problem has their own pairs; an item's has everybody's.
        """
        representation = expect(representation, MaskedCodes)
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
        for epoch in range(_UPDATE_EPOCHS if train.n_pairs else 0):
            step_of = self._steps(arrays, epoch, _UPDATE_EPOCHS, 0)
            self._pass(train, sampler, 0, epoch, ThreadPool(1)).run(step_of)
        return self._represent(arrays)


def _arrays(users: Floats, items: Floats) -> Arrays:
    """Logits, and the sums of their squared gradients: nothing yet."""
    return {
        "users": users,
        "items": items,
        "user_grad_sq_sum": np.zeros(len(users), dtype=np.float32),
        "item_grad_sq_sum": np.zeros(len(items), dtype=np.float32),
    }


def _sure(codes: Words, bits: int) -> Floats:
    """Logits whose bits are sure to be these codes."""
    return SURE * unpack_signs(codes, bits).astype(np.float32)


def tables(arrays: Arrays, terms: Terms) -> tuple[Users, Items]:
    """The tables of an epoch over these arrays; the items' first codes are drawn."""
    users = Users(arrays["users"], arrays["user_grad_sq_sum"])
    logits = arrays["items"]
    drawn = (np.empty_like(logits), np.empty_like(logits))
    items = Items(logits, arrays["item_grad_sq_sum"], *drawn)
    draw_items(items, terms.cast(logits.dtype).hardness, terms.seed, terms.turn)
    return users, items


class Moving(NamedTuple):
    """Items of a block: their rows, and the gradients that have come together so far."""

    rows: Items
    gradients: Gradients


@dataclass(frozen=True, eq=False)
class PHDStep(TripletStep):
    """PHD's step over one block: every row steps once; names as in `phd_kernels`."""

    terms: Terms

    def _terms(self) -> Terms:
        return self.terms.cast(self.items.logits.dtype)

    def keep(self, pairs: int, negatives: int, users: int) -> Kept:
        shapes = ((pairs, negatives + 1), (pairs,), (users, self.items.logits.shape[1]))
        return Kept(*(empty_apart(shape, self.items.logits.dtype) for shape in shapes))

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items.lacks, triplets, self._terms(), new, kept)

    def start_items(self, items: npt.NDArray[np.int64]) -> Moving:
        rows = take_rows(self.items, items)
        return Moving(rows, Gradients(np.zeros_like(rows.logits), np.zeros_like(rows.grad_sq_sum)))

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        add_items(local, result.kept, new.gradients)

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        step_items(items, new.rows, new.gradients, self._terms())
        return new.rows
