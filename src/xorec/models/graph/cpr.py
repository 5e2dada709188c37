"""CPR: cross pairwise ranking (Wan et al. 2022). Pairs are compared with their crossed pairs.

A sample is a cycle of k pairs (u_t, i_t), where u_t does not have i_{t+1}:
q = 1/k (sum_t f(u_t, i_t) - sum_t f(u_t, i_{t+1})),  minimise mean softplus(-q) + reg mean |e|^2
over all ego rows. Anything that only a user or only an item adds to f cancels, popularity too:
that is its point, and its price. Of a pool of cycles of 2 to `cycle` pairs, `oversampling` times
as many as a batch needs, those with the smallest q are learned from.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import expect
from xorec.models.graph.cpr_kernels import (
    Chosen,
    Cycles,
    Pairs,
    cycle_gradients,
    cycle_scores,
    draw_cycles,
)
from xorec.models.graph.encoder import Encoder
from xorec.models.graph.graph_model import EncoderConfig, EpochOf, GraphModel
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.blocks import item_parts
from xorec.training.space import Float, Int, Space


class CPRConfig(EncoderConfig):
    """Settings of CPR."""

    layers: int = Field(
        0, ge=0, le=10, description="layers of the graph, as LightGCN's; 0: matrix factorisation"
    )
    learning_rate: float = Field(0.005, gt=0, le=10, description="Adam's step size")
    reg: float = Field(0.1, ge=0, description="weight of the mean squared norm of the ego vectors")
    batch_size: int = Field(8192, ge=1, description="cycles per step of the optimiser")
    cycle: int = Field(
        3, ge=2, le=10, description="pairs of the longest cycles; the shortest have 2"
    )
    ratio: float = Field(
        3.0, gt=0, description="how many cycles of a size there are for each one of the next size"
    )
    oversampling: float = Field(
        3.0,
        ge=1,
        le=100,
        description="cycles that are drawn for each one that is learned from: the hardest",
    )

    def sizes(self) -> npt.NDArray[np.int64]:
        """The size of each cycle of a batch's pool."""
        weights = self.ratio ** -np.arange(self.cycle - 1.0)
        counts = np.ceil(self.batch_size * self.oversampling * weights / weights.sum())
        return np.repeat(np.arange(2, self.cycle + 1), counts.astype(np.int64))


class CPR(GraphModel[CPRConfig]):
    """Vectors learned from crossed pairs, without explicit negatives.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> CPR(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "cpr"
    Config = CPRConfig
    space: ClassVar[Space] = {
        "learning_rate": Float(2e-3, 3e-2, log=True),
        "reg": Float(1e-2, 1.0, log=True),
        "cycle": Int(2, 4),
        "ratio": Float(1.0, 6.0, log=True),
        "oversampling": Float(1.0, 6.0, log=True),
    }
    cost = 4.0
    learns_vectors = True

    def _epochs(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        config = self.config
        batches = max(1, train.n_pairs // config.batch_size)
        sizes = config.sizes()
        shrink = 2 * config.reg / (train.n_users + train.n_items)

        def epoch_of(epoch: int, encoder: Encoder) -> float:
            losses = []
            for batch in range(batches):
                cycles = drawn_cycles(train, sizes, seed, epoch * batches + batch, pool)
                losses.append(add_gradients(cycles, encoder, config.batch_size, pool))
                encoder.counts.fill(1)
                encoder.learn(config.rate(epoch), shrink)
            return float(np.mean(losses))

        return epoch_of

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the sum of their items'."""
        representation = expect(representation, Vectors)
        return representation.item_vectors[np.unique(history)].sum(axis=0, keepdims=True)


def drawn_cycles(
    train: Interactions, sizes: npt.NDArray[np.int64], seed: int, turn: int, pool: ThreadPool
) -> Cycles:
    """One cycle for each of `sizes`, from the random stream of this turn."""
    shape = (len(sizes), int(sizes.max()))
    cycles = Cycles(np.zeros(shape, np.int32), np.zeros(shape, np.int32), sizes.copy())
    pairs = Pairs(train.indptr, train.indices, train.user_rows)
    pool.map_ranges(
        len(sizes), lambda begin, end: draw_cycles(pairs, cycles, seed, turn, begin, end)
    )
    return cycles


def add_gradients(cycles: Cycles, encoder: Encoder, count: int, pool: ThreadPool) -> float:
    """Add the gradients of the `count` samples with the smallest q; returns their mean loss."""
    vectors = (encoder.users, encoder.items)
    scores = np.empty(len(cycles.sizes), dtype=np.float32)
    pool.map_ranges(
        len(scores), lambda begin, end: cycle_scores(*vectors, cycles, scores, begin, end)
    )
    kept = np.flatnonzero(cycles.sizes > 0)
    if len(kept) > count:
        kept = np.sort(kept[np.argpartition(scores[kept], count - 1)[:count]])
    if not len(kept):
        return 0.0
    chosen = Chosen(kept, scores, np.float32(1 / len(kept)))
    sums, parts = (
        (encoder.user_gradients.sums, encoder.item_gradients.sums),
        item_parts(pool.threads),
    )
    pool.map(parts, lambda part: cycle_gradients(*vectors, cycles, chosen, *sums, part, parts))
    return float(np.logaddexp(0, -scores[kept].astype(np.float64)).mean())
