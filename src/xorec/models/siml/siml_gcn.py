"""SIML-GCN: the scale-invariant loss on vectors that are smoothed over the graph of the pairs.

LightGCN's propagation, each vector then scaled to unit length, and SIML's loss instead of BPR's
(METHOD, sections 2 and 5), with `reg` on the ego vectors of each pair and its negatives. The loss
pushes an item from its negatives while the graph pulls everything together, so layers weigh less
(`smoothing`) than in LightGCN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.models.base import expect
from xorec.models.graph.encoder import Encoder
from xorec.models.graph.graph_model import GraphConfig, TripletGraphModel
from xorec.models.siml.siml import SIML, ScaleInvariantLoss
from xorec.models.siml.siml_gradient_kernels import siml_items, siml_users
from xorec.models.siml.siml_kernels import Kept, Terms
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.passes import GradientStep, Triplets, UserResult
from xorec.training.space import Choice, Float, Space


class SIMLGCNConfig(GraphConfig, ScaleInvariantLoss):
    """Settings of SIML-GCN."""

    layers: int = Field(
        1,
        ge=0,
        le=10,
        description="layers of the graph: how far neighbours reach; 0: matrix factorisation",
    )
    smoothing: float = Field(
        0.3,
        ge=0,
        le=10,
        description="weight of each layer, as a multiple of the one before; LightGCN: 1",
    )
    learning_rate: float = Field(0.03, gt=0, le=10, description="Adam's step size")
    decay: float = Field(0.1, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(0.0, ge=0, description="weight of the squared norms of the ego vectors")
    negatives: int = Field(20, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    batch_size: int = Field(16_384, ge=1, description="pairs per step of the optimiser")


class SIMLGCN(TripletGraphModel[SIMLGCNConfig]):
    """Unit vectors from the graph, learned with the scale-invariant loss.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> SIMLGCN(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "siml-gcn"
    Config = SIMLGCNConfig
    space: ClassVar[Space] = {
        "form": Choice(("npair", "triplet")),
        "smoothing": Float(0.1, 1.0, log=True),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.4, 4.5, log=True),
    }
    cost = 10.0
    learns_vectors = True
    unit = True

    def _step(self, encoder: Encoder, pairs: int) -> SIMLGradientStep:
        tables = (encoder.user_gradients, encoder.item_gradients)
        return SIMLGradientStep(*tables, encoder.users, encoder.items, self.config.loss())

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: SIML's step for users alone, the items as they are."""
        representation = expect(representation, Vectors)
        return self._plain(representation.item_vectors.shape[1]).fold_in(representation, history)

    def _plain(self, dimensions: int) -> SIML:
        shared = {"negatives", *ScaleInvariantLoss.model_fields}
        return SIML(dimensions=dimensions, **self.config.model_dump(include=shared))


@dataclass(frozen=True, eq=False)
class SIMLGradientStep(GradientStep):
    """The gradients of the loss over one block: a sum."""

    terms: Terms

    def keep(self, pairs: int, negatives: int, users: int) -> Kept:
        vectors = self.user_vectors
        return Kept.empty(pairs, negatives, vectors.shape[1], vectors.dtype)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        vectors = (self.user_vectors, self.item_vectors)
        siml_users(*vectors, triplets, self.terms.cast(self.user_vectors.dtype), new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        siml_items(self.user_vectors, self.item_vectors, result.triplets, local, result.kept, new)
