"""PHD (Hansen et al. 2021): codes in which the user's bits say which of the item's bits count.

The projected Hamming dissimilarity of a user and an item is the number of bits that the user has
and the item lacks, delta = popcount(z_u AND NOT z_i), z in {0, 1}. s = 1 - 2 delta / r is the dot
product of the +-1 code 2 z_u - 1 with the masked item 2 z_u z_i - 1, over r.

minimise  sum over pairs of  (1 - s_i)^2 + sum over their negatives of (target - s_j)^2

over the chances p = sigma(E) of the bits, which are drawn for each block of pairs; the
gradient goes straight through the draw. First the chances themselves stand for the
bits, later the drawn bits do (`softness`). In the end a bit is z = 1[p > 1/2].

Codes start from the leading singular vectors of the pairs, rotated so that signs lose least: of X =
D_u^-1/2 R D_i^-1/2 of the 0/1 pairs R and the counts D, X ~ U S V' by a few rounds of subspace
iteration; users are the rows of U S^1/2, items those of V S^1/2. Scaling by the counts keeps
popularity from being the only thing that the first directions say.

In a block of pairs gradients are summed, and each row steps once. With the bits z
of a user u and the lacks a = 1 - z of an item c, r bits:

    s_c = 1 - (2/r) sum_f z_uf a_cf,     ds/dz_uf = -(2/r) a_cf,     ds/dz_cf = (2/r) z_uf

and the gradient at the logit E behind a bit is the one at z times p (1 - p), p = sigma(E): straight
through the draw. A bit is z = p + hardness (1[p > uniform] - p): of mean p whatever `hardness` is,
the chance itself at 0, a drawn bit at 1.

A negative of -1 is none. Nothing is written but `new`, `kept` and rows that were taken for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import empty_apart
from xorec.core.bits import Words, pack_signs, unpack_signs
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import draw, stream
from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, expect
from xorec.models.triplet_model import PASSES, TripletModel, fold_in_passes, fold_in_user
from xorec.representations.base import Representation
from xorec.representations.codes import MaskedCodes
from xorec.representations.vectors import Floats
from xorec.training.config import Float, Space, TripletConfig
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows
from xorec.training.epochs import Arrays
from xorec.training.passes import StepOf, Triplets, TripletStep, UserResult
from xorec.training.rows import Gradients, prefetch_next, take_rows

SURE = np.float32(30)
"""Logits stay within 30, where a bit no longer moves and its draw is certain in float32."""
_TINY = np.float32(1e-8)
_SIXTEEN = np.uint64(65535)
_USERS, _ITEMS, _NOISE = 0x7573657273, 0x6974656D73, 0x6E6F697365
"""These keep the draws of users, of items and of the noise apart."""


class Users(NamedTuple):
    """Logits (n, r), and the sum of the squared gradients of each row so far (n,)."""

    logits: Any
    grad_sq_sum: Any


class Items(NamedTuple):
    """The same of items, the chances of their bits when they were drawn, and what the drawn bits
    lack of 1 (m, r)."""

    logits: Any
    grad_sq_sum: Any
    chances: Any
    lacks: Any


class PHDLossParams(NamedTuple):
    """The loss, its steps, and the draws; turn: the number of the block among all."""

    rate: Any
    kl: Any
    target: Any
    noise: Any
    hardness: Any
    seed: Any = 0
    turn: Any = 0


class PHDPairGradients(NamedTuple):
    """gradients (P, K + 1): dL/ds, of the positive first; losses (P,); bits (R, r) of the users."""

    gradients: Any
    losses: Any
    bits: Any


@inlined
def _draw_bits(
    logits: Any, row: Any, key: Any, hardness: Any, chances: Any, at: Any, z: Any
) -> None:
    """chances[at] = p and the bits z[row] of a row; one number of the stream has four uniforms."""
    size = logits.shape[1]
    one = np.float32(1)
    for f in range(0, size, 4):
        number = draw(key, f)
        for g in range(f, min(f + 4, size)):
            chance = one / (one + np.exp(-logits[row, g]))
            uniform = (np.float32(number & _SIXTEEN) + np.float32(0.5)) / np.float32(65536)
            number = number >> np.uint64(16)
            chances[at, g] = chance
            z[row, g] = chance + hardness * (np.float32(chance > uniform) - chance)


@inlined
def _move(
    logits: Any,
    row: Any,
    sums: Any,
    at: Any,
    chances: Any,
    weight: Any,
    grad_sq_sum: Any,
    rate: Any,
) -> None:
    """An Adagrad step against the gradient sums[at] at the bits, which ends as 0.

    weight: that of KL(p || 1/2), whose gradient at p is the logit.
    """
    size = logits.shape[1]
    square = np.float32(0)
    for f in range(size):
        chance = chances[at, f]
        step = (sums[at, f] + weight * logits[row, f]) * chance * (np.float32(1) - chance)
        sums[at, f] = step
        square += step * step
    grad_sq_sum[row] += square
    length = rate / np.sqrt(grad_sq_sum[row] + _TINY)
    for f in range(size):
        logits[row, f] = min(max(logits[row, f] - length * sums[at, f], -SURE), SURE)
        sums[at, f] = np.float32(0)


@inlined
def _normal(number: Any) -> Any:
    """64 random bits as a nearly normal number: the sum of four uniforms, mean 0, variance 1."""
    total = np.float32(-131070)
    for _ in range(4):
        total += np.float32(number & _SIXTEEN)
        number = number >> np.uint64(16)
    return total * np.float32(1.7320508 / 65536)


@inlined
def _add_pair(
    lacks: Any, row: Any, triplets: Any, pair: Any, params: Any, kept: Any, sums: Any, key: Any
) -> Any:
    """The loss of one pair, (1 - s_i)^2 + sum_j (target - s_j)^2, targets with noise of their own.

    The user's bits are kept.bits[row]; kept.gradients[pair] = dL/ds; sums (1, r): the user's
    gradient, which takes in what the pair adds. Returns how many examples it had.
    """
    bits, negatives, i = kept.bits, triplets.negatives, triplets.positives[pair]
    size, count = bits.shape[1], negatives.shape[1]
    one, two = np.float32(1), np.float32(2)
    per = two / np.float32(size)
    loss, examples = np.float32(0), 0
    for k in range(count + 1):
        c = i if k == 0 else negatives[pair, k - 1]
        kept.gradients[pair, k] = np.float32(0)
        if c >= 0:
            examples += 1
            away = np.float32(0)
            for f in range(size):
                away += bits[row, f] * lacks[c, f]
            error = one - per * away - (one if k == 0 else params.target)
            if params.noise > np.float32(0):
                error -= params.noise * _normal(draw(key, i * (count + 1) + k))
            loss += error * error
            kept.gradients[pair, k] = two * error
            gain = per * two * error
            for f in range(size):
                sums[0, f] -= gain * lacks[c, f]
    kept.losses[pair] = loss
    return examples


@fast_kernel
def step_users(users: Any, lacks: Any, triplets: Any, params: Any, new: Any, kept: Any) -> None:
    """Each user of the block: a code is drawn, the pairs add up, the logits take one step.

    users: `Users`; new: those of the triplets, after the step.
    """
    size = lacks.shape[1]
    sums = np.zeros((1, size), dtype=lacks.dtype)
    chances = np.empty((1, size), dtype=lacks.dtype)
    table, examples, row = lacks.ravel(), 0, -1
    seed, turn = params.seed, params.turn
    key = stream(seed ^ _NOISE, turn, 0)
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, triplets.negatives, pair)
        u = triplets.users[pair]
        if pair == 0 or triplets.users[pair - 1] != u:
            examples = 0
            row += 1
            new.grad_sq_sum[row] = users.grad_sq_sum[u]
            for f in range(size):
                new.logits[row, f] = users.logits[u, f]
            key = stream(seed ^ _NOISE, turn, u)
            bits = stream(seed ^ _USERS, turn, u)
            _draw_bits(new.logits, row, bits, params.hardness, chances, 0, kept.bits)
        examples += _add_pair(lacks, row, triplets, pair, params, kept, sums, key)
        if pair + 1 == len(triplets.users) or triplets.users[pair + 1] != u:
            weight = params.kl * np.float32(examples) / np.float32(size)
            _move(new.logits, row, sums, 0, chances, weight, new.grad_sq_sum, params.rate)


@fast_kernel
def add_items(local: Any, kept: Any, new: Any) -> None:
    """new.sums[c] += dL/ds (2/r) z_u and new.counts[c] += 1 for the items c of `new`."""
    bits, sums = kept.bits, new.sums
    size, count = bits.shape[1], local.negatives.shape[1]
    per = np.float32(2) / np.float32(size)
    table = sums.ravel()
    for pair in range(len(local.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u = local.users[pair]
        for k in range(count + 1):
            c = local.positives[pair] if k == 0 else local.negatives[pair, k - 1]
            if c >= 0:
                new.counts[c] += np.float32(1)
                gain = per * kept.gradients[pair, k]
                for f in range(size):
                    sums[c, f] += gain * bits[u, f]


@fast_kernel
def step_items(ids: Any, rows: Any, gradients: Any, params: Any) -> None:
    """Each item takes its step, and a new code is drawn; rows: `Items`, those of `ids`."""
    for row in range(len(ids)):
        weight = params.kl * gradients.counts[row] / np.float32(rows.logits.shape[1])
        _move(
            rows.logits, row, gradients.sums, row, rows.chances, weight,
            rows.grad_sq_sum, params.rate,
        )  # fmt: skip
        _draw_item(rows, row, stream(params.seed ^ _ITEMS, params.turn, ids[row]), params.hardness)


@fast_kernel
def draw_items(rows: Any, hardness: Any, seed: Any, turn: Any) -> None:
    """The chances of all items' bits, and the codes that an epoch begins with."""
    for row in range(len(rows.logits)):
        _draw_item(rows, row, stream(seed ^ _ITEMS, turn, row), hardness)


@inlined
def _draw_item(rows: Any, row: Any, key: Any, hardness: Any) -> None:
    _draw_bits(rows.logits, row, key, hardness, rows.chances, row, rows.lacks)
    for f in range(rows.logits.shape[1]):
        rows.lacks[row, f] = np.float32(1) - rows.lacks[row, f]


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
    with one_blas_thread():
        users, items = (unit_rows(rows) for rows in singular_rows(train, size, seed))
        rotation = learn_rotation(users, items, seed=seed)
        return users @ rotation, items @ rotation


_UPDATE_EPOCHS = 6


class PHDConfig(TripletConfig):
    """Settings of PHD."""

    epochs: int = Field(10, ge=1, description="passes over the training pairs, at most")
    validate_every: int = Field(2, ge=1, description="epochs between two validations")
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    learning_rate: float = Field(10.0, gt=0, le=100, description="initial Adagrad step")
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
        description="share of epochs until bits are fully drawn; 0: from the first",
    )
    start: Literal["spectral", "random"] = Field(
        "spectral", description="first logits: singular vectors, or uniform as in the authors' code"
    )
    init_scale: float = Field(1.0, gt=0, le=10, description="size of the first logits")
    block_size: int = Field(
        32_768, ge=1, description="pairs per block; codes are drawn again for each"
    )

    def params(self, epoch: int, epochs: int) -> PHDLossParams:
        """The loss and its steps in one of so many epochs, as the kernels take them."""
        soft = self.softness * (epochs - 1)
        hard = min(1.0, epoch / soft) if soft > 0 else 1.0
        noise = self.noise * self.noise_decay**epoch
        numbers = (self.learning_rate, self.kl, self.negative_target, noise, hard)
        return PHDLossParams(*map(np.float32, numbers))


class PHD(TripletModel[PHDConfig]):
    """Codes of users and items, ranked by the projected Hamming dissimilarity.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
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
        params = self.config.params(epoch, epochs)._replace(seed=seed, turn=epoch << 24)
        users, items = tables(arrays, params)
        return lambda block, pairs: PHDStep(
            users, items, params._replace(turn=params.turn + block + 1)
        )

    def _represent(self, arrays: Arrays) -> MaskedCodes:
        return MaskedCodes.from_bits(arrays["users"] > 0, arrays["items"] > 0)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: the users' step alone, averaged over the last passes."""
        representation = expect(representation, MaskedCodes)
        sure = _sure(representation.item_codes, representation.bits)
        _, items = tables(_arrays(sure[:0], sure), self.config.params(0, 1))
        user = Users(np.zeros_like(sure[:1]), np.zeros(1, dtype=np.float32))

        def step_of(epoch: int, user: Users) -> PHDStep:
            return PHDStep(user, items, self.config.params(epoch, 2 * PASSES)._replace(turn=epoch))

        passes = fold_in_passes(history, len(sure), self.config.negatives)
        return pack_signs(np.where(fold_in_user(passes, user, step_of) > 0, 1, -1))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update` learn on, all others are sure of their bits and stay.

        A changed user's problem has their own pairs; an item's has those of all users.
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


def tables(arrays: Arrays, params: PHDLossParams) -> tuple[Users, Items]:
    """The tables of an epoch over these arrays; the items' first codes are drawn."""
    users = Users(arrays["users"], arrays["user_grad_sq_sum"])
    logits = arrays["items"]
    drawn = (np.empty_like(logits), np.empty_like(logits))
    items = Items(logits, arrays["item_grad_sq_sum"], *drawn)
    draw_items(items, params.hardness, params.seed, params.turn)
    return users, items


@dataclass(frozen=True, eq=False)
class PHDStep(TripletStep):
    """PHD's step over one block: every row steps once."""

    params: PHDLossParams

    def keep(self, pairs: int, negatives: int, users: int) -> PHDPairGradients:
        shapes = ((pairs, negatives + 1), (pairs,), (users, self.items.logits.shape[1]))
        return PHDPairGradients(*(empty_apart(shape, self.items.logits.dtype) for shape in shapes))

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items.lacks, triplets, self.params, new, kept)

    def start_items(self, items: npt.NDArray[np.int64]) -> tuple[Items, Gradients]:
        """The items' rows, and the gradients that come together."""
        rows = take_rows(self.items, items)
        return rows, Gradients(np.zeros_like(rows.logits), np.zeros_like(rows.grad_sq_sum))

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        add_items(local, result.kept, new[1])

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        rows, gradients = new
        step_items(items, rows, gradients, self.params)
        return rows
