"""CPR: cross pairwise ranking (Wan et al. 2022). Pairs are compared with their crossed pairs.

A sample is a cycle of k pairs (u_t, i_t), where u_t does not have i_{t+1}:
q = 1/k (sum_t f(u_t, i_t) - sum_t f(u_t, i_{t+1})),  minimise mean softplus(-q) + reg mean |e|^2
over all ego rows. Anything that only a user or only an item adds to f cancels, popularity too:
that is its point, and its price. Of a pool of cycles of 2 to `cycle` pairs, `oversampling` times
as many as a batch needs, those with the smallest q are learned from.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.kernels import fast_kernel, kernel
from xorec.core.rng import below, draw, stream
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import expect
from xorec.models.graph.lightgcn import Encoder, EncoderConfig, EpochOf, GraphModel
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.search.top_k import contains
from xorec.training.blocks import item_parts
from xorec.training.config import Float, Int, Space

_TRIES = 32
_STEEP = np.float32(30)


class Pairs(NamedTuple):
    """The training pairs: those of user u are indptr[u] .. indptr[u + 1]; users: of each pair."""

    indptr: Any
    indices: Any
    users: Any


class Cycles(NamedTuple):
    """Samples: the pairs (users[s, t], items[s, t]), t < sizes[s]; a size of 0 is no sample."""

    users: Any
    items: Any
    sizes: Any


class Chosen(NamedTuple):
    """The samples that are learned from, the scores q of all samples, one over their number."""

    samples: Any
    scores: Any
    share: Any


@kernel
def draw_cycles(pairs: Any, cycles: Any, seed: Any, turn: Any, begin: Any, end: Any) -> None:
    """Cycles of sizes[begin:end] from pairs drawn with replacement; those with a seen next item
    are drawn again, a few times; then the size becomes 0."""
    indptr, indices, (users, items, sizes) = pairs.indptr, pairs.indices, cycles
    for sample in range(begin, end):
        size = sizes[sample]
        key = stream(seed, turn, sample)
        found = False
        for attempt in range(_TRIES):
            for t in range(size):
                pair = below(draw(key, attempt * size + t), len(indices))
                users[sample, t], items[sample, t] = pairs.users[pair], indices[pair]
            found = True
            for t in range(size):
                u, following = users[sample, t], items[sample, (t + 1) % size]
                if contains(indices[indptr[u] : indptr[u + 1]], following):
                    found = False
                    break
            if found:
                break
        if not found:
            sizes[sample] = 0


@fast_kernel
def cycle_scores(
    user_rows: Any, item_rows: Any, cycles: Any, out: Any, begin: Any, end: Any
) -> None:
    """q = 1/k (sum_t f(u_t, i_t) - sum_t f(u_t, i_{t+1})), infinite where there is no sample."""
    users, items, sizes = cycles
    width = user_rows.shape[1]
    for sample in range(begin, end):
        size = sizes[sample]
        total = np.float32(0)
        for t in range(size):
            u, item = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            for f in range(width):
                total += user_rows[u, f] * (item_rows[item, f] - item_rows[following, f])
        out[sample] = total / np.float32(max(size, 1)) if size > 0 else np.float32(3e38)


@fast_kernel
def cycle_gradients(
    user_rows: Any,
    item_rows: Any,
    cycles: Any,
    chosen: Any,
    user_sums: Any,
    item_sums: Any,
    part: Any,
    parts: Any,
) -> None:
    """Gradients of share * softplus(-q), summed over the chosen samples, of this part's rows."""
    users, items, sizes = cycles
    width, mask = user_rows.shape[1], parts - 1
    for sample in chosen.samples:
        size = sizes[sample]
        power = np.exp(min(max(-chosen.scores[sample], -_STEEP), _STEEP))
        weight = chosen.share * power / (np.float32(1) + power) / np.float32(size)
        for t in range(size):
            u, item = users[sample, t], items[sample, t]
            following = items[sample, (t + 1) % size]
            if u & mask == part:
                for f in range(width):
                    user_sums[u, f] += weight * (item_rows[following, f] - item_rows[item, f])
            if item & mask == part:
                for f in range(width):
                    item_sums[item, f] -= weight * user_rows[u, f]
            if following & mask == part:
                for f in range(width):
                    item_sums[following, f] += weight * user_rows[u, f]


class CPRConfig(EncoderConfig):
    """Settings of CPR."""

    layers: int = Field(
        0, ge=0, le=10, description="layers of the graph (see lightgcn); 0: matrix factorisation"
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
        3.0, ge=1, le=100, description="cycles drawn for each one that is learned from: the hardest"
    )

    def sizes(self) -> npt.NDArray[np.int64]:
        """The size of each cycle of a batch's pool."""
        weights = self.ratio ** -np.arange(self.cycle - 1.0)
        counts = np.ceil(self.batch_size * self.oversampling * weights / weights.sum())
        return np.repeat(np.arange(2, self.cycle + 1), counts.astype(np.int64))


class CPR(GraphModel[CPRConfig]):
    """Vectors learned from crossed pairs, without explicit negatives.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> CPR(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "cpr"
    Config = CPRConfig
    triplet_cost = 5.0
    space: ClassVar[Space] = {
        "learning_rate": Float(2e-3, 3e-2, log=True),
        "reg": Float(1e-2, 1.0, log=True),
        "cycle": Int(2, 4),
        "ratio": Float(1.0, 6.0, log=True),
        "oversampling": Float(1.0, 6.0, log=True),
    }
    cost = 4.0
    learns_vectors = True

    def _epoch_of(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
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
    vectors = encoder.sides
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
    user_sums, item_sums = (side.sums for side in encoder.side_gradients)
    given, parts = (cycles, chosen, user_sums, item_sums), item_parts(pool.threads)
    pool.map(parts, lambda part: cycle_gradients(*vectors, *given, part, parts))
    return float(np.logaddexp(0, -scores[kept].astype(np.float64)).mean())
