"""Blend: item weights and vectors together, found by codes and weights, in two stages.

score(u, j) = sum over the items i of u of w_ij + weight x (v_u . v_j), w of SLIM, v of SIML. Item
weights know what goes with what a user has, vectors what goes with the user: each ranks well where
the other does not. Codes of the vectors and the lists of the weights find some hundred items, the
score puts them in order. Validation chooses the weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate, Part, expect, expect_part
from xorec.models.baselines.slim import SLIM, SLIMConfig
from xorec.models.new_rows import pointed_direction, updated_codes
from xorec.models.pretraining import FromSIML, PretrainedModel, folding_model, pretraining_model
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.dsiml_ranking import updated_vectors
from xorec.models.triplet_model import history_rows
from xorec.representations.base import Representation, StoredAs
from xorec.representations.codes import Codes
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage, TwoStageQueries
from xorec.representations.vectors import Floats
from xorec.training.config import AUTO, Float, ModelConfig, Space, or_auto
from xorec.training.epochs import validation_sample

if TYPE_CHECKING:
    Weight: TypeAlias = float | Literal["auto"]
else:
    Weight = or_auto(float, ge=0, allow_inf_nan=False, strict=True)

K = 10
"""The list that the weight is chosen for."""
_BLOCK = 512
_STEPS = 2.0 ** np.arange(-5, 5.5, 0.5)
"""Weights that are tried, times the spread of the sums over that of the products."""


def choose_weight(
    learned: TwoStage, train: Interactions, validation: Interactions, options: RunOptions
) -> float:
    """The weight with the best NDCG@10 of the served lists on validation; says which."""
    sample = validation_sample(validation, options.seed)
    parts = candidate_parts(learned, train, sample, options)
    weights = np.concatenate([[0.0], _STEPS * scale_of(parts)])
    values = ndcg_of_weights(parts, weights)
    best = int(np.argmax(smoothed(values)))
    weight = float(f"{weights[best]:.4g}")
    options.progress.note(
        f"blend: item weights + {weight:.3g} x vectors: NDCG@{K} {values[best]:.4f}, "
        f"without vectors {values[0]:.4f}"
    )
    return weight


CandidateParts = list[tuple[Any, Any, Any, Any]]
"""Blocks of users: sums, products (B, s), hits (B, s), and the best DCG of each (B,)."""


def candidate_parts(
    learned: TwoStage, train: Interactions, held: Interactions, options: RunOptions
) -> CandidateParts:
    """What both parts of the score give to each candidate of the users of `held`."""
    from xorec.search.filters import make_filters
    from xorec.search.two_stage import TwoStageIndex

    rank = tie_rank(train.items, train.item_counts)
    index = TwoStageIndex.of(learned, rank, threads=options.thread_count)
    users, parts = np.flatnonzero(held.user_counts), []
    gains = np.cumsum(1 / np.log2(np.arange(2, K + 2)))
    with options.thread_pool() as pool:
        for begin in range(0, len(users), _BLOCK):
            block = users[begin : begin + _BLOCK]
            seen = [train.of_user(user) for user in block]
            exclude = np.cumsum([0, *map(len, seen)]), np.concatenate(seen)
            queries = learned.queries(block)
            filters = make_filters(len(block), exclude, None, train.n_items)
            found = index.find(queries, K, filters, pool)
            products = learned.vector_scores(queries, (found.items, found.counts), pool)
            there = np.arange(found.items.shape[1]) < found.counts[:, None]
            sums = np.where(there, found.sums, np.float32(-np.inf))
            wanted = [held.of_user(user) for user in block]
            hits = [np.isin(*both) for both in zip(found.items, wanted, strict=True)] & there
            ideal = gains[np.minimum(K, held.user_counts[block]) - 1]
            parts.append((sums, products, hits, ideal))
    return parts


def scale_of(parts: CandidateParts) -> float:
    """How much more the sums of candidates spread than their products, on average of users."""
    ratios = []
    for sums, products, _, _ in parts:
        there = np.isfinite(sums)
        spread = [
            (np.std(a[t]), np.std(b[t])) for a, b, t in zip(sums, products, there, strict=True)
        ]
        ratios += [a / b for a, b in spread if a > 0 and b > 0]
    return float(np.median(ratios)) if ratios else 1.0


def ndcg_of_weights(
    parts: CandidateParts, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The mean NDCG@10 of the lists under each weight."""
    discount = 1 / np.log2(np.arange(2, K + 2))
    totals, users = np.zeros(len(weights)), 0
    for sums, products, hits, ideal in parts:
        users += len(sums)
        width = min(K, sums.shape[1])
        for at, weight in enumerate(weights):
            scores = sums + np.float32(weight) * products
            top = np.argpartition(-scores, width - 1, axis=1)[:, :width]
            order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
            top = np.take_along_axis(top, order, axis=1)
            found = np.take_along_axis(hits, top, axis=1)
            totals[at] += float(((found * discount[:width]).sum(axis=1) / ideal).sum())
    return totals / max(1, users)


def smoothed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each value with its neighbours' (1/4, 1/2, 1/4): a lucky one does not win."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)


WITHOUT_VALIDATION = 0.3
"""The weight of the vectors where nothing says which is best."""


class BlendConfig(ModelConfig):
    """Settings of Blend."""

    renamed: ClassVar[dict[str, str]] = {"keep": "vector_dtype"}

    slim: SLIMConfig = Field(
        SLIMConfig.model_validate({"weight_dtype": "int8"}),
        description="settings of slim, which learns the item weights",
    )
    start: FromSIML = Field(
        {}, description="settings of the model of the vectors; `model` names it (siml, bpr, ...)"
    )
    weight: Weight = Field(
        AUTO, description="weight of the vectors relative to the item weights; auto: by validation"
    )
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    optimizer: Literal["none", "ste"] = Field(
        "none",
        description="how bits are learned: none (signs of the rotated vectors), ste (see dsiml)",
    )
    near: int = Field(50, ge=1, le=10_000, description="candidates: nearest to the user's code")
    best: int = Field(200, ge=0, le=10_000, description="candidates: best by item weights")
    per_item: int = Field(
        0,
        ge=0,
        le=1_000,
        description="how many nearest items of each of the user's items are looked up",
    )
    neighbours: int = Field(0, ge=0, le=10_000, description="candidates from `per_item`, in total")
    vector_dtype: StoredAs = Field("int8", description="number format of the stored vectors")

    def resolved(self) -> Self:
        """The weight where no validation part has chosen one."""
        if self.weight != AUTO:
            return self
        return self.model_copy(update={"weight": WITHOUT_VALIDATION})


class Blend(PretrainedModel[BlendConfig]):
    """SLIM's item weights and SIML's vectors, blended; codes and weights find the candidates.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> model = Blend(bits=16, start={"dimensions": 8, "epochs": 1}).fit(train)
    >>> model.representation_.kind
    'two-stage'
    """

    name = "blend"
    triplet_cost = 0.0
    work = "blend"
    runs_on_engine = True
    Config = BlendConfig
    weighting = "in the item weights, and in the vectors where their model uses them"
    space: ClassVar[Space] = {"weight": Float(0.02, 3.0, log=True)}
    cost = 8.0

    weight_ = WITHOUT_VALIDATION

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        config = self.config
        weights = SLIM(**config.slim.model_dump()).fit(train, None, options).representation_
        started = self._pretrain(train, validation, options)
        vectors = started.user_vectors, started.item_vectors
        learned = TwoStage(
            self._codes(*vectors, train, options),
            RankingVectors.of(*vectors, config.vector_dtype),
            expect(weights, Neighbours),
            Sources(config.near, config.best, config.per_item, config.neighbours),
        )
        if config.weight != "auto":
            self.weight_ = config.weight
        elif validation is not None:
            self.weight_ = choose_weight(learned, train, validation, options)
        return learned.with_blend(self.weight_)

    def _codes(
        self, users: Floats, items: Floats, train: Interactions, options: RunOptions
    ) -> Codes:
        settings = {"bits": self.config.bits, "optimizer": self.config.optimizer}
        coder = DSIML.from_vectors(users, items, **settings)
        return expect(coder.fit(train, None, options.for_stage("codes")).representation_, Codes)

    def refit_settings(self) -> dict[str, Any]:
        """The weight and the number of epochs as validation chose them."""
        return {**super().refit_settings(), "weight": self.weight_}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user: their items, the vector that these give, and the code where they point."""
        learned = expect(representation, TwoStage)
        items = history_rows(history, learned.codes.n_items)
        vectors = expect_part(learned.float_vectors, "vectors of items")
        weights = expect_part(learned.weights, "item weights")
        code = pack_signs(pointed_direction(learned.codes, items))
        vector = folding_model(self.config.start).fold_in(vectors, items)
        return TwoStageQueries(code, vector, Histories.of_user(items, weights.n_items))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """Item weights exactly; vectors and codes of new rows by their own models' step."""
        learned, config = expect(representation, TwoStage), self.config
        weights = expect_part(learned.weights, "item weights")
        slim = SLIM(**config.slim.model_dump()).update(weights, update)
        return TwoStage(
            updated_codes(learned.codes, update),
            updated_vectors(learned, update, pretraining_model(config.start)),
            expect(slim.representation_, Neighbours),
            learned.sources,
            float(learned.blend),
        )
