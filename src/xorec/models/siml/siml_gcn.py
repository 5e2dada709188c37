"""SIML-GCN: the scale-invariant loss on vectors that are smoothed over the graph of the pairs.

LightGCN's propagation, each vector then scaled to unit length, and SIML's loss instead of BPR's
(METHOD, sections 2 and 5), with `reg` on the ego vectors of each pair and its negatives. The loss
pushes an item from its negatives while the graph pulls everything together, so layers weigh less
(`smoothing`) than in LightGCN. What SIML leaves to a race is left to the same race here, of SIML's
short fits: the loss is the same, and so is what the data want of it. As SIML, it adds popularity to
its scores, and its vectors are means over the epochs.

The kernels give the gradients of a block without a step. new: their sums and how often a row came
(`training.rows.Gradients`), a negative counting as its share of the pair. Settings of the loss and
shapes are those of `siml_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import APART
from xorec.core.kernels import fast_kernel
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import Part, expect
from xorec.models.graph.lightgcn import Encoder, GraphConfig, TripletGraphModel
from xorec.models.siml.siml import DEFAULTS, SIML, RacedConfig, popularity_bias
from xorec.models.siml.siml_kernels import LossParams, PairGradients, pair_gradients
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.config import Choice, Float, Space
from xorec.training.passes import GradientStep, Triplets, UserResult
from xorec.training.rows import prefetch_next


@fast_kernel
def siml_users(users: Any, items: Any, triplets: Any, params: Any, new: Any, kept: Any) -> None:
    """The scale-invariant loss of each pair, and the users' gradients (a sum, not a mean)."""
    size = users.shape[1]
    gradient = np.empty(size + 2 * APART, dtype=users.dtype)[APART : APART + size]
    table, row = items.ravel(), -1
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, triplets.negatives, pair)
        u, i = triplets.users[pair], triplets.positives[pair]
        if pair == 0 or u != triplets.users[pair - 1]:
            row += 1
            new.counts[row] = np.float32(0)
            for f in range(size):
                new.sums[row, f] = np.float32(0)
        pair_gradients(users, u, items, triplets, pair, params, kept, gradient)
        new.counts[row] += np.float32(1)
        for f in range(size):
            new.sums[row, f] += gradient[f] - kept.positive[pair] * items[i, f]


@fast_kernel
def siml_items(users: Any, items: Any, triplets: Any, local: Any, kept: Any, new: Any) -> None:
    """The gradients of the items of `new`, by their numbers in `local`, in both roles."""
    size, count = users.shape[1], local.negatives.shape[1]
    each = np.float32(1) / np.float32(count)
    table = new.sums.ravel()
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, i, v = triplets.users[pair], triplets.positives[pair], local.positives[pair]
        if v >= 0:
            positive = kept.positive[pair]
            new.counts[v] += np.float32(1)
            for f in range(size):
                new.sums[v, f] += kept.negatives[pair, f] - positive * users[u, f]
        for k in range(count):
            v = local.negatives[pair, k]
            if v >= 0:
                with_i = kept.scale[pair, k]
                with_u = with_i + kept.pairwise[pair, k]
                new.counts[v] += each
                for f in range(size):
                    new.sums[v, f] += with_u * users[u, f] + with_i * items[i, f]


class SIMLGCNConfig(RacedConfig, GraphConfig):
    """Settings of SIML-GCN."""

    layers: int = Field(1, ge=0, le=10, description="layers of the graph; 0: matrix factorisation")
    smoothing: float = Field(
        0.3, ge=0, le=10, description="weight of a layer, relative to the one before; LightGCN: 1"
    )
    learning_rate: float = Field(0.03, gt=0, le=10, description="Adam's step size")
    reg: float = Field(0.0, ge=0, description="weight of the squared norms of the ego vectors")
    batch_size: int = Field(16_384, ge=1, description="pairs per step of the optimiser")


class SIMLGCN(TripletGraphModel[SIMLGCNConfig]):
    """Unit vectors from the graph, learned with the scale-invariant loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> SIMLGCN(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "siml-gcn"
    Config = SIMLGCNConfig
    space: ClassVar[Space] = {
        "form": Choice(("npair", "triplet")),
        "smoothing": Float(0.1, 1.0, log=True),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.0, 8.0, log=True),
        "alpha": Choice((0.0, 0.5, 1.0)),
        "popularity": Float(0.0, 0.2),
    }
    cost = 10.0
    learns_vectors = True
    unit = True
    averages = True

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        if self.config != self.config.resolved():
            from xorec.models.siml.siml_race import settle

            plain = self._plain(self.config.dimensions).config
            raced = settle(plain, train, validation, options, self.name)
            self.config = self.config.model_copy(
                update={name: getattr(raced, name) for name in DEFAULTS}
            )
        return super()._learn(train, validation, options)

    def _represent(self, encoder: Encoder, train: Interactions) -> Vectors:
        learned, weight = encoder.representation(), self.config.resolved().popularity
        bias = popularity_bias(train, weight) if weight else None
        return Vectors(learned.user_vectors, learned.item_vectors, bias)

    def _step(self, encoder: Encoder, pairs: int) -> SIMLGradientStep:
        params = self.config.loss_params()
        return SIMLGradientStep(*encoder.side_gradients, *encoder.sides, params)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: SIML's step for users alone, the items as they are."""
        representation = expect(representation, Vectors)
        return self._plain(representation.item_vectors.shape[1]).fold_in(representation, history)

    def _plain(self, dimensions: int) -> SIML:
        shared = set(RacedConfig.model_fields)
        return SIML(dimensions=dimensions, **self.config.model_dump(include=shared))


@dataclass(frozen=True, eq=False)
class SIMLGradientStep(GradientStep):
    """The gradients of the loss over one block: a sum."""

    params: LossParams

    def keep(self, pairs: int, negatives: int, users: int) -> PairGradients:
        vectors = self.user_vectors
        return PairGradients.empty(pairs, negatives, vectors.shape[1], vectors.dtype)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        vectors = (self.user_vectors, self.item_vectors)
        siml_users(*vectors, triplets, self.params.cast(self.user_vectors.dtype), new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        siml_items(self.user_vectors, self.item_vectors, result.triplets, local, result.kept, new)
