"""SIML-GCN: the scale-invariant loss on vectors that are smoothed over the graph of the pairs.

LightGCN's propagation, each vector then scaled to unit length, and SIML's loss instead of BPR's
(METHOD, sections 2 and 5), with `reg` on the ego vectors of each pair and its negatives. The loss
pushes an item from its negatives while the graph pulls everything together, so layers weigh less
(`smoothing`) than in LightGCN.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.models.graph.encoder import Encoder
from xorec.models.graph.graph_model import GraphConfig, TripletGraphModel
from xorec.models.siml.siml import ScaleInvariantLoss, folded
from xorec.models.siml.siml_gradient_kernels import siml_items, siml_users
from xorec.models.siml.siml_steps import Terms
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Triplets
from xorec.training.space import Choice, Float, Space


class SIMLGCNConfig(GraphConfig, ScaleInvariantLoss):
    """Settings of SIML-GCN."""

    layers: int = Field(1, ge=0, le=10, description="how often neighbours are taken in; 0: none")
    smoothing: float = Field(
        0.3, ge=0, le=10, description="what a layer weighs beside the one before; LightGCN: 1"
    )
    learning_rate: float = Field(0.03, gt=0, le=10, description="Adam's step size")
    decay: float = Field(0.1, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(0.0, ge=0, description="weight of the squared norms of the ego vectors")
    negatives: int = Field(20, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    batch_size: int = Field(16_384, ge=1, description="pairs of one step")


class SIMLGCN(TripletGraphModel[SIMLGCNConfig]):
    """Unit vectors from the graph, learned with the scale-invariant loss."""

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

    def _steps(self, triplets: Triplets, encoder: Encoder) -> Steps:
        return Steps(triplets, encoder, self.config.loss())

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: SIML's step for users alone, the items as they are."""
        assert isinstance(representation, Vectors)
        terms = self.config.loss()
        return unit_rows(folded(representation.item_vectors, history, terms, self.config.negatives))


class Steps:
    """The gradients of the loss over one block (a sum), added to those of the encoder."""

    def __init__(self, triplets: Triplets, encoder: Encoder, terms: Terms) -> None:
        self._triplets, self._encoder, self._terms = triplets, encoder, terms
        self.scale = 1.0
        pairs, count = triplets.negatives.shape
        self._push, self._pull = (np.empty((pairs, count), dtype=np.float32) for _ in range(2))
        self._lift, self._losses = (np.empty(pairs, dtype=np.float32) for _ in range(2))
        self._lean = np.empty((pairs, encoder.users.shape[1]), dtype=np.float32)

    def learn_users(self, own: slice) -> None:
        t, encoder = self._triplets, self._encoder
        rows = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self._push[own], self._pull[own], self._lift[own], self._lean[own])
        told = (self._losses[own], *encoder.user_slopes, *self._terms.loss)
        siml_users(encoder.users, encoder.items, *rows, *kept, *told)

    def learn_items(self, part: int, parts: int) -> None:
        t, encoder = self._triplets, self._encoder
        rows = (t.users, t.positives, t.negatives)
        kept = (self._push, self._pull, self._lift, self._lean)
        siml_items(encoder.users, encoder.items, *rows, *kept, *encoder.item_slopes, part, parts)

    def finish(self, part: int, parts: int) -> None:
        """Nothing is left to do."""

    def loss(self) -> float:
        return float(self._losses.sum(dtype=np.float64))
