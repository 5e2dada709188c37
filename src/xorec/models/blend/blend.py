"""Blend: item weights and vectors together, found by codes and weights, in two stages.

score(u, j) = sum over the items i of u of w_ij + weight x (v_u . v_j), w of SLIM, v of SIML. Item
weights know what goes with what a user has, vectors what goes with the user: each ranks well where
the other does not. Codes of the vectors and the lists of the weights find some hundred items, the
score puts them in order.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, expect, expect_part
from xorec.models.baselines.slim import SLIM, SLIMConfig
from xorec.models.blend.weight import AUTO, Weight, choose_weight
from xorec.models.code_fold_in import mean_direction, updated_codes
from xorec.models.pretraining import (
    FromSIML,
    folding_model,
    pretrain,
    pretraining_model,
    refit_pretraining,
)
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.dsiml_shortlist import updated_vectors
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.representations.quantized import Keep
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.two_stage_queries import TwoStageQueries
from xorec.training.config import Float, ModelConfig, Space
from xorec.training.fold_in import history_rows

WITHOUT_VALIDATION = 0.3
"""The weight of the vectors where nothing says which is best."""


class BlendConfig(ModelConfig):
    """Settings of Blend."""

    slim: SLIMConfig = Field(
        default=SLIMConfig.model_validate({"keep": "int8"}),
        description="settings of slim, which learns the item weights",
    )
    start: FromSIML = Field(
        default={},
        validate_default=True,
        description="settings of the model of the vectors; `model` names it (siml, bpr, als, ...)",
    )
    weight: Weight = Field(
        AUTO, description="weight of the vectors relative to the item weights; auto: by validation"
    )
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    optimizer: Literal["none", "ste"] = Field(
        "none",
        description="how the bits are learned: none (signs of the rotated vectors) or ste "
        "(as in dsiml)",
    )
    near: int = Field(
        50, ge=1, le=10_000, description="number of candidates: nearest to the user's code"
    )
    best: int = Field(
        200, ge=0, le=10_000, description="number of candidates: best by item weights"
    )
    per_item: int = Field(
        0,
        ge=0,
        le=1_000,
        description="how many items nearest to each of the user's items are looked up",
    )
    neighbours: int = Field(
        0, ge=0, le=10_000, description="number of candidates from `per_item`, in total"
    )
    keep: Keep = Field("int8", description="number format in which the vectors are stored")

    def settled(self) -> Self:
        """The weight where no validation part has chosen one."""
        if self.weight != AUTO:
            return self
        return self.model_copy(update={"weight": WITHOUT_VALIDATION})


class Blend(Model[BlendConfig]):
    """SLIM's item weights and SIML's vectors, blended; codes and weights find the candidates.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> model = Blend(bits=16, start={"dimensions": 8, "epochs": 1}).fit(train)
    >>> model.representation_.kind
    'two-stage'
    """

    name = "blend"
    runs_on_engine = True
    Config = BlendConfig
    weighting = "in the item weights, and in the vectors where their model uses them"
    space: ClassVar[Space] = {"weight": Float(0.02, 3.0, log=True)}
    cost = 8.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.start_epochs_ = 0
        self.weight_ = WITHOUT_VALIDATION

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        config = self.config
        weights = SLIM(**config.slim.model_dump()).fit(train, None, options).representation_
        started = pretrain(config.start, train, validation, options)
        self.start_epochs_ = started.epochs
        self.config = config.model_copy(update={"start": started.start})
        vectors = started.user_vectors, started.item_vectors
        learned = TwoStage(
            self._codes(*vectors, train, options),
            RankingVectors.of(*vectors, config.keep),
            expect(weights, Neighbours),
            Sources(config.near, config.best, config.per_item, config.neighbours),
        )
        if config.weight != AUTO:
            self.weight_ = config.weight
        elif validation is not None:
            self.weight_ = choose_weight(learned, train, validation, options)
        return learned.with_blend(self.weight_)

    def _codes(
        self,
        users: npt.NDArray[np.float32],
        items: npt.NDArray[np.float32],
        train: Interactions,
        options: RunOptions,
    ) -> Codes:
        settings = {"bits": self.config.bits, "optimizer": self.config.optimizer}
        coder = DSIML.from_vectors(users, items, **settings)
        return expect(coder.fit(train, None, options.for_stage("codes")).representation_, Codes)

    def refit_settings(self) -> dict[str, Any]:
        """The weight and the number of epochs as validation chose them."""
        start = refit_pretraining(self.config.start, self.start_epochs_)
        return {**self.config.model_dump(), "weight": self.weight_, "start": start}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user: their items, the vector that these give, and the code where they point."""
        learned = expect(representation, TwoStage)
        codes = learned.codes
        items = history_rows(history, codes.n_items)
        vectors = expect_part(learned.float_vectors, "vectors of items")
        weights = expect_part(learned.weights, "item weights")
        signs = unpack_signs(codes.item_rows[items], codes.bits)
        total = signs.sum(axis=0, dtype=np.float32)
        place = mean_direction(total, len(items), codes.mean_item)[None]
        vector = folding_model(self.config.start).fold_in(vectors, items)
        own = Histories.of_user(items, weights.n_items)
        return TwoStageQueries(pack_signs(place), vector, own)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """Item weights exactly; vectors and codes of late rows by their own models' step."""
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
