"""SIML: scale-invariant metric learning. Unit vectors, angles that stay small at any density.

BPR's pairwise part on the unit sphere, and an angle at each negative that must stay small however
dense the neighbourhood is (METHOD, section 2).

minimise  sum over (u, i, j) of  l(x) + lambda l(y),  l(t) = log(1 + e^t),  on unit vectors
x = (c_uj - c_ui) / 2,   y = tau (2 gamma^2 (c_uj + c_ij) - (1 + gamma^2) c_ui),  c a cosine.

Each row's steps shrink with the gradients it has had (Adagrad, one number a row): popular items
take many in one block, and plain steps would throw them about. What is kept of a row is its mean
over the epochs, the late ones weighing more (`training.table_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import as_contiguous
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Part, expect
from xorec.models.siml.siml_fold_in import FoldInPasses, fold_in_user
from xorec.models.siml.siml_kernels import (
    ITEMS,
    NO_TEACHER,
    USERS,
    LossParams,
    PairGradients,
    Teacher,
    finish_items,
    step_items,
    step_users,
)
from xorec.models.triplet_model import PASSES, TripletModel, adagrad_rows, history_rows
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.training.config import AUTO, Choice, Float, ModelConfig, Space, TripletConfig, or_auto
from xorec.training.discrete.rotation import unit_rows
from xorec.training.epochs import Arrays
from xorec.training.loss import margin_offset
from xorec.training.passes import StepOf, Triplets, TripletStep, UserResult
from xorec.training.rows import BALL, FREE, SPHERE, Rows, draw_codes
from xorec.training.table_steps import add_to_means, mean_of, start_means

_NORMS = {"sphere": SPHERE, "ball": BALL, "free": FREE}
DEFAULTS: dict[str, Any] = {
    "alpha": 0.5,
    "temperature": 2.5,
    "negatives": 20,
    "form": "npair",
    "popularity": 0.05,
}
"""What may be left to a race, and its values where there is none."""
if TYPE_CHECKING:
    Alpha: TypeAlias = float
    Temperature: TypeAlias = float
    Weight: TypeAlias = float
    Count: TypeAlias = int
    Form: TypeAlias = Literal["triplet", "npair"]
else:
    Alpha = or_auto(float, ge=0, le=2)
    Temperature = or_auto(float, gt=0)
    Weight = or_auto(float, ge=0, le=10)
    Count = or_auto(int, ge=1, le=1000)
    Form = or_auto(Literal["triplet", "npair"])


FOLD_IN_PAIRS = 16
"""The most pairs of a fold-in's pass: more make no better lists (figures: `docs/models.md`)."""


def popularity_bias(train: Interactions, weight: float) -> Floats:
    """weight * log(1 + pairs) of each item, (m,)."""
    return np.asarray(weight * np.log1p(train.item_counts), dtype=np.float32)


class ScaleInvariantLoss(ModelConfig):
    """The settings of the loss."""

    gamma: float = Field(
        1.0,
        ge=0,
        le=10,
        description="tangent of the largest angle at a negative: larger is lenient",
    )
    lambda_: float = Field(1.0, ge=0, description="weight of the scale-invariant part")
    temperature: float = Field(4.0, gt=0, description="steepness of the scale-invariant part")
    margin: Literal["paper", "geometric"] = Field(
        "paper", description="paper: hinge without its constant 1 - 3 gamma^2; geometric: with it"
    )
    form: Literal["triplet", "npair"] = Field(
        "npair",
        description="triplet: each negative has its own loss term; npair: a pair's negatives "
        "share one",
    )

    def loss_params(self) -> LossParams:
        """The loss as the kernels take it, on the unit sphere."""
        return LossParams(
            self.gamma**2,
            self.lambda_,
            self.temperature,
            margin_offset(self.gamma, self.margin),
            self.form == "npair",
        )


class ScaleInvariantConfig(ScaleInvariantLoss, TripletConfig):
    """The settings of the loss and its triplets, which SIML and DSIML share."""


class RacedConfig(ScaleInvariantLoss):
    """The settings that SIML and SIML-GCN leave to the data: `siml_race` chooses what is `auto`."""

    temperature: Temperature = Field(
        AUTO, description="steepness of the scale-invariant part; auto: by a race of short fits"
    )
    form: Form = Field(
        AUTO,
        description="triplet: each negative has its own loss term; npair: a pair's negatives "
        "share one; auto: by a race",
    )
    negatives: Count = Field(
        AUTO, description="negatives per positive, each epoch, 1 to 1000; auto: by a race"
    )
    alpha: Alpha = Field(
        AUTO, description="negatives by popularity**alpha, 0 to 2; 0: uniform; auto: by a race"
    )
    popularity: Weight = Field(
        AUTO, description="score: the cosine + popularity * log(1 + its pairs); auto: by a race"
    )

    def resolved(self) -> Self:
        """`DEFAULTS` in the place of what is left to a race."""
        left = {name: value for name, value in DEFAULTS.items() if getattr(self, name) == AUTO}
        return self.model_copy(update=left) if left else self

    def loss_params(self) -> LossParams:
        return super(RacedConfig, self.resolved()).loss_params()


class SIMLConfig(RacedConfig, ScaleInvariantConfig):
    """Settings of SIML."""

    patience: int = Field(2, ge=1, description="validations without gain before it stops")
    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    norms: Literal["sphere", "ball", "free"] = Field(
        "sphere", description="length of the vectors: 1 (sphere), at most 1 (ball), or any (free)"
    )
    learning_rate: float = Field(1.0, gt=0, le=10, description="initial Adagrad step")
    reg: float = Field(0.0, ge=0, description="L2 penalty of the vectors; only for `norms` free")

    def params(self) -> LossParams:
        """The loss and its steps as the kernels take them."""
        kind = _NORMS[self.norms]
        return self.loss_params()._replace(kind=kind, rate=self.learning_rate, reg=self.reg)


class SIML(TripletModel[SIMLConfig]):
    """Vectors on the unit sphere, learned with the scale-invariant loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> vectors = SIML(dimensions=8, epochs=1).fit(train).representation_
    >>> np.linalg.norm(vectors.item_vectors, axis=1).round(3)
    array([1., 1.], dtype=float32)
    """

    name = "siml"
    Config = SIMLConfig
    space: ClassVar[Space] = {
        "form": Choice(("npair", "triplet")),
        "norms": Choice(("sphere", "ball")),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.0, 8.0, log=True),
        "negatives": Choice((20, 50)),
        "alpha": Choice((0.0, 0.5, 1.0)),
        "popularity": Float(0.0, 0.2),
    }
    cost = 6.0
    learns_vectors = True

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Random directions, users then items, from NumPy's own counter-based Philox."""
        rng = np.random.Generator(np.random.Philox(seed))
        size = self.config.dimensions
        users = rng.standard_normal((train.n_users, size), dtype=np.float32)
        items = rng.standard_normal((train.n_items, size), dtype=np.float32)
        arrays: Arrays = {
            "user_vectors": unit_rows(users),
            "item_vectors": unit_rows(items),
            "user_grad_sq_sum": np.zeros(train.n_users, dtype=np.float32),
            "item_grad_sq_sum": np.zeros(train.n_items, dtype=np.float32),
        }
        start_means(arrays, ("user_vectors", "item_vectors"))
        if weight := self.config.resolved().popularity:
            arrays["item_bias"] = popularity_bias(train, weight)
        return arrays

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        add_to_means(arrays)

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        if self.config != self.config.resolved():
            from xorec.models.siml.siml_race import settle

            self.config = settle(self.config, train, validation, options)
        return super()._learn(train, validation, options)

    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        users, items = adagrad_rows(arrays)
        params = self.config.params()
        return lambda block, pairs: ScaleInvariantStep(users, items, params, block)

    def _represent(self, arrays: Arrays) -> Vectors:
        users, items = (self._kept(arrays, name) for name in ("user_vectors", "item_vectors"))
        return Vectors(users, items, arrays.get("item_bias"))

    def _kept(self, arrays: Arrays, name: str) -> Floats:
        """The means of the epochs; where there were none (an update), the rows to the last bit."""
        mean = mean_of(arrays, name)
        return arrays[name] if mean is None else self._averaged(mean)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        self.config = self.config.resolved()
        if expect(representation, Vectors).item_bias is None:  # files from before there was one
            self.config = self.config.model_copy(update={"popularity": 0.0})
        return super()._update(representation, update)

    def _averaged(self, vectors: Floats) -> Floats:
        return unit_rows(vectors) if self.config.norms == "sphere" else vectors

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the users' step alone, averaged over the last passes."""
        items = as_contiguous(expect(representation, Vectors).item_vectors)
        vector = np.empty((1, items.shape[1]), dtype=np.float32)
        fold_in_user(items, history_rows(history, len(items)), *_fold_in_how(self.config), vector)
        return vector


@lru_cache(maxsize=64)
def _fold_in_how(config: SIMLConfig) -> tuple[LossParams, FoldInPasses]:
    """What a fold-in's kernel is told of the settings; to make it takes as long as one item."""
    passes = FoldInPasses(config.resolved().negatives, 2 * PASSES, PASSES, FOLD_IN_PAIRS)
    return config.params().cast(), passes


@dataclass(frozen=True, eq=False)
class ScaleInvariantStep(TripletStep):
    """The step over one block, of vectors or of codes; names as in `siml_kernels`.

    block: its number in the epoch, for the draws of the items' codes.
    """

    params: LossParams
    block: int = 0
    teacher: Teacher = NO_TEACHER

    def keep(self, pairs: int, negatives: int, users: int) -> PairGradients:
        return PairGradients.empty(pairs, negatives, self.users.vectors.shape[1])

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        params = self.params.cast()
        step_users(self.users, self.items.snapshot, triplets, params, self.teacher, new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        snapshots = (result.rows.snapshot, self.items.snapshot)
        step_items(*snapshots, result.triplets, local, self.params.cast(), result.kept, new)

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        finish_items(items, new, self.params.cast(), self.block)
        return new


def code_rows(
    vectors: Floats,
    grad_sq_sum: Floats,
    params: LossParams,
    pool: ThreadPool,
    *,
    items: bool = False,
) -> Rows:
    """Rows behind codes; the others see what is drawn at the start of an epoch."""
    codes = np.empty_like(vectors)
    params, stream = params.cast(), params.seed ^ (ITEMS if items else USERS)
    how = (params.softness, params.hardness, stream, params.epoch)
    pool.map_ranges(len(vectors), lambda begin, end: draw_codes(vectors, codes, *how, begin, end))
    return Rows(vectors, codes, grad_sq_sum)
