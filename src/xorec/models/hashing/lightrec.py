"""LightRec (Lian et al. 2020): items as sums of codewords, one of each codebook; users in floats.

Item vectors of another model (`start`) are frozen; an encoder turns each into codes k_1..k_B, and
score(u, i) = u.q_i with q_i = sum_b C_b[k_b]. Adam learns users, codebooks and the encoder's
matrices; the loss is BPR's, with decay and a term that holds the scores near those of the start
(`distill_weight`).

The loss is the mean of softplus(u.q_j - u.q_i) + decay/2 (|u|^2 + |q_i|^2 + |q_j|^2) over the
triplets of a batch, + distill_weight times the error of the scores

    1/2 sum_i w_i mean_u (u.q_i - u0.v_i)^2 over all users and items, sum w = 1,

whose gradients only need matrices of D x D.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Part, expect
from xorec.models.factorization.bpr import BPR, BPRConfig, BPRGradientStep
from xorec.models.hashing.lightrec_codebooks import (
    Array,
    ItemEncoder,
    code_shape,
    item_weights,
    residual_codebooks,
    whitening,
)
from xorec.models.new_rows import with_room
from xorec.models.pretraining import FromBPR, PretrainedModel
from xorec.representations.base import Bytes, Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.vectors import Floats, Vectors
from xorec.training.config import EpochConfig, Float, Space
from xorec.training.epochs import Arrays, EpochTrainer
from xorec.training.passes import Pass
from xorec.training.rows import Gradients
from xorec.training.table_steps import Moments, adam


@dataclass(frozen=True, eq=False)
class StartVectors:
    """Whitened vectors of `start`: users U0 (n, D), items V (m, D); item weights w (m,)."""

    users: Array
    items: Array
    weights: Array

    def gradients(self, users: Array, items: Array) -> tuple[float, Array, Array]:
        """The error of the scores (see above), and its gradients at users and items."""
        U0, V, U, Q, w = self.users, self.items, users, items, self.weights[:, None]
        n = U.dtype.type(len(U))
        target = V @ (U0.T @ U / n)
        at_items = Q @ (U.T @ U / n) - target
        at_users = (U @ (Q.T @ (w * Q)) - U0 @ (V.T @ (w * Q))) / n
        error = np.sum(w * (Q * (at_items - target) + V * (V @ (U0.T @ U0 / n))))
        return float(error) / 2, at_users, w * at_items


_LEARNED = ("users", "codebooks", "transforms")


def start_arrays(users: Array, codebooks: Array) -> Arrays:
    """The initial arrays of a fit: parameters (transforms M = I), Adam's moments and steps."""
    books, _, size = codebooks.shape
    transforms = np.repeat(np.eye(size, dtype=np.float32)[None], books, axis=0)
    learned = dict(zip(_LEARNED, (users.copy(), codebooks, transforms), strict=True))
    moments = {
        f"{name}_{moment}": np.zeros_like(array)
        for name, array in learned.items()
        for moment in ("first", "second")
    }
    return {**learned, **moments, "steps": np.zeros(1, dtype=np.int64)}


class BatchLearner:
    """Sums the gradients of a batch, then updates the arrays of a fit in place."""

    def __init__(
        self, arrays: Arrays, teacher: StartVectors, config: LightRecConfig, pool: ThreadPool
    ) -> None:
        self._arrays, self._teacher, self._config, self._pool = arrays, teacher, config, pool
        self.users: Array = arrays["users"]
        self._encoder = ItemEncoder(arrays["codebooks"], arrays["transforms"], config.temperature)
        self.user_gradients, self.item_gradients = (
            Gradients(np.zeros_like(rows), np.zeros(len(rows), rows.dtype))
            for rows in (teacher.users, teacher.items)
        )
        self.codes, self.items = self._encoder.encode(teacher.items, pool)

    def step(self, triplets: int) -> BPRGradientStep:
        """The kernel step that adds up the gradients of BPR's mean loss over so many triplets."""
        vectors, share = (self.users, self.items), np.float32(1 / triplets)
        return BPRGradientStep(self.user_gradients, self.item_gradients, *vectors, share)

    def learn(self, rate: float) -> float:
        """One step of Adam with the gradients of a batch; returns the error of the scores."""
        users, items = self.user_gradients, self.item_gradients
        shrink = self.users.dtype.type(self._config.decay / users.counts.sum())
        error, at_users, at_items = self._teacher.gradients(self.users, self.items)
        weight = self.users.dtype.type(self._config.distill_weight)
        users.sums[...] += weight * at_users
        items.sums[...] += weight * at_items
        items.sums[...] += shrink * items.counts[:, None] * self.items
        at_words, at_transforms = self._encoder.gradients(
            self._teacher.items, self.codes, items.sums, self._pool
        )
        self._arrays["steps"] += 1
        self._adam_step("users", users.sums, shrink * users.counts, rate)
        self._adam_step("codebooks", at_words, None, rate)
        self._adam_step("transforms", at_transforms, None, rate / self.users.shape[1])
        for array in (*users, *items):
            array.fill(0)
        self.codes, self.items = self._encoder.encode(self._teacher.items, self._pool)
        return error

    def _adam_step(self, name: str, gradients: Array, shrink: Array | None, rate: float) -> None:
        arrays, size = self._arrays, gradients.shape[-1]
        given = (arrays[name], gradients, arrays[f"{name}_first"], arrays[f"{name}_second"])
        rows, gradients, first, second = (array.reshape(-1, size) for array in given)
        shrink = np.zeros(len(rows), rows.dtype) if shrink is None else shrink
        moments = Moments(first, second, arrays["steps"][0])
        step = partial(adam, rows, gradients, shrink, moments, np.float32(rate))
        self._pool.map_ranges(len(rows), step)


class LightRecConfig(EpochConfig):
    """Settings of LightRec; `epochs` are those of the codes, `start` has those of the vectors."""

    renamed: ClassVar[dict[str, str]] = {"distill": "distill_weight"}

    epochs: int = Field(8, ge=1, description="passes over the training pairs, at most")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    codebook_bits: int = Field(
        0, ge=0, le=8, description="bits of a codebook's numbers; 0: the most, up to 8, that divide"
    )
    learning_rate: float = Field(
        3e-3, gt=0, le=1, description="Adam's step size in the first epoch"
    )
    decay: float = Field(1e-3, ge=0, description="weight of the squared norms, per triplet")
    distill_weight: float = Field(
        100.0, ge=0, description="weight of the squared error of the scores"
    )
    popularity: float = Field(
        1.5, ge=0, le=3, description="the errors of an item weigh as its users**popularity"
    )
    temperature: float = Field(0.9, gt=0, description="softness of the choice, for the gradient")
    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    steps: int = Field(6, ge=1, description="steps of an epoch; each encodes every item")
    start: FromBPR = Field({}, description="settings of the model it starts from; `model` names it")

    @model_validator(mode="after")
    def _scores_are_dot_products(self) -> Self:
        if self.start.model in ("cml", "sml"):
            raise ValueError(f"{self.start.model} ranks by distance: take another start")
        return self

    def rate(self, epoch: int) -> float:
        """The step size of an epoch, the same however many are to come."""
        return self.learning_rate / (1 + epoch / 2)


class LightRec(PretrainedModel[LightRecConfig]):
    """Items in codebooks, users in floats, learned with the pairwise logistic loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> model = LightRec(epochs=1, start={"epochs": 1}).fit(train)
    >>> model.representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "lightrec"
    Config = LightRecConfig
    weighting = "used by `start`; then pairs are sampled in proportion to them"
    space: ClassVar[Space] = {
        "learning_rate": Float(1e-3, 1e-2, log=True),
        "distill_weight": Float(10.0, 1000.0, log=True),
        "popularity": Float(1.0, 2.0),
        "temperature": Float(0.3, 2.0, log=True),
    }

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._shape = code_shape(self.config.bits, self.config.codebook_bits)

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        config = self.config
        start = self._pretrain(train, validation, options)
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, config.alpha)
        batch = -(-train.n_pairs // config.steps)
        with options.thread_pool() as pool:
            turn, back = whitening(start.user_vectors)
            vectors = (start.user_vectors @ back, start.item_vectors @ turn)
            teacher = StartVectors(*vectors, item_weights(train.item_counts, config.popularity))
            codebooks = residual_codebooks(
                teacher.items, teacher.weights, *self._shape, options.seed
            )

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                learner = BatchLearner(arrays, teacher, config, pool)
                size = (config.negatives, batch, options.seed, epoch)
                run = Pass(train, sampler, *size, pool, least_blocks=1)
                errors: list[float] = []
                rate = config.rate(epoch)
                loss = run.run(
                    lambda block, pairs: learner.step(pairs * config.negatives),
                    lambda pairs: errors.append(learner.learn(rate)),
                )
                return {"loss": loss, "error": float(np.mean(errors))}

            represent = partial(_represent, teacher.items, (turn, back), pool)
            state = trainer.run(start_arrays(teacher.users, codebooks), step, represent)
            return represent(state.arrays)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: BPR's step for users alone, the quantised items as they are."""
        representation = expect(representation, Codebooks)
        return self._bpr().fold_in_items(representation.item_vectors, history)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """BPR learns vectors of new rows; items become the codewords nearest to theirs."""
        representation = expect(representation, Codebooks)
        known = Vectors(representation.user_vectors, representation.item_vectors)
        size = representation.query_length
        learned = self._bpr(dimensions=size).update(known, update).representation_
        assert isinstance(learned, Vectors)
        codes = with_room(representation.item_codes, update.train.n_items)
        codes[update.items] = nearest_words(
            learned.item_vectors[update.items], representation.codebooks
        )
        return Codebooks(learned.user_vectors, codes, representation.codebooks)

    def _bpr(self, **settings: Any) -> BPR:
        start = self.config.start
        shared = start.model_dump(exclude={"model"}) if isinstance(start, BPRConfig) else {}
        return BPR(**{**shared, **settings})


def nearest_words(vectors: Floats, codebooks: Floats) -> Bytes:
    """Codes (n, B) of vectors (n, D): of each codebook, the word nearest to the residual."""
    rest, codes = vectors.copy(), np.empty((len(vectors), len(codebooks)), dtype=np.uint8)
    for book, words in enumerate(codebooks):
        nearness = 2 * rest @ words.T - (words**2).sum(axis=1)
        codes[:, book] = nearness.argmax(axis=1)
        rest -= words[codes[:, book]]
    return codes


def _represent(
    vectors: Floats, unwhiten: tuple[Floats, Floats], pool: ThreadPool, arrays: Arrays
) -> Codebooks:
    """The representation of the arrays, without the whitening of `start`'s vectors."""
    turn, back = unwhiten
    encoder = ItemEncoder(arrays["codebooks"], arrays["transforms"], 1.0)
    codes, _ = encoder.encode(vectors, pool)
    return Codebooks(arrays["users"] @ turn, codes, arrays["codebooks"] @ back)
