"""LightGCN (He et al. 2020): BPR on vectors that are smoothed over the graph of the pairs.

E = mean over layers 0..L of A^k E0 (`training.propagation`); minimise
mean softplus(E_u.(E_j - E_i)) + reg/2 (|e_u|^2 + |e_i|^2 + |e_j|^2) per triplet, e the ego vectors
(rows of E0), by Adam over large batches. The gradient is in closed form.

LightGCN, SIML-GCN and CPR share the `Encoder`: vectors that come from free (ego) vectors by
propagation, which Adam learns. A model hands in the gradients of its loss at the vectors
(`user_gradients`, `item_gradients`, and how often a row came); `learn` takes them back through the
propagation, takes one step of Adam on the ego vectors, and propagates again. With 0 layers the
vectors are the ego vectors: matrix factorisation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.kernels import fast_kernel
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, EpochModel, expect
from xorec.models.factorization.bpr import BPR, BPRGradientStep
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.training.config import POPULARITY, Choice, EpochConfig, Float, Int, Space
from xorec.training.epochs import Arrays
from xorec.training.passes import BY_SAMPLING, GradientStep, Pass
from xorec.training.propagation import Propagation
from xorec.training.rows import Gradients
from xorec.training.table_steps import Moments, adagrad, adam, add_to_means, mean_of, start_means


@fast_kernel
def to_unit(rows: Any, unit: Any, begin: Any, end: Any) -> None:
    """unit = row / |row|; a row of zeros stays."""
    for row in range(begin, end):
        total = np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            unit[row, f] = factor * rows[row, f]


@fast_kernel
def through_unit(rows: Any, unit: Any, gradients: Any, begin: Any, end: Any) -> None:
    """Gradients at `unit` become gradients at `rows`: (g - (g.e) e) / |row|, e the unit row."""
    for row in range(begin, end):
        total, along = np.float32(0), np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
            along += gradients[row, f] * unit[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            gradients[row, f] = factor * (gradients[row, f] - along * unit[row, f])


def start_arrays(
    train: Interactions, dimensions: int, scale: float, seed: int, optimizer: str = "adam"
) -> Arrays:
    """Small normal ego vectors, users then items, and the optimiser at its start."""
    rng = np.random.Generator(np.random.Philox(seed))
    rows = train.n_users + train.n_items
    ego = np.float32(scale) * rng.standard_normal((rows, dimensions), dtype=np.float32)
    if optimizer == "adagrad":
        return {"ego": ego, "grad_sq_sum": np.zeros(rows, dtype=np.float32)}
    moments = {"first": np.zeros_like(ego), "second": np.zeros_like(ego)}
    return {"ego": ego, **moments, "steps": np.zeros(1, dtype=np.int64)}


class Encoder:
    """Works on the arrays of a fit in place.

    unit: the vectors are scaled to unit length after the propagation.
    """

    def __init__(
        self,
        graph: Propagation,
        arrays: Arrays,
        n_users: int,
        pool: ThreadPool,
        *,
        unit: bool = False,
    ) -> None:
        self._graph, self._arrays, self._n_users, self._pool = graph, arrays, n_users, pool
        ego = arrays["ego"]
        self._unit = unit
        self.vectors, self.gradients = np.empty_like(ego), np.zeros_like(ego)
        self._spare = (np.empty_like(ego), np.empty_like(ego))
        self._propagated = np.empty_like(ego) if unit else self.vectors
        self.counts = np.zeros(len(ego), dtype=np.float32)
        self._encode()

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """The vectors of the users and of the items."""
        return self.vectors[: self._n_users], self.vectors[self._n_users :]

    @property
    def side_gradients(self) -> tuple[Gradients, Gradients]:
        """The gradients at these, and how often each row came."""
        n, gradients, counts = self._n_users, self.gradients, self.counts
        return Gradients(gradients[:n], counts[:n]), Gradients(gradients[n:], counts[n:])

    def learn(self, rate: float, shrink: float) -> None:
        """One step. shrink times how often a row came is the weight of its squared norm / 2."""
        arrays, gradients = self._arrays, self.gradients
        if self._unit:
            at = (self._propagated, self.vectors, gradients)
            self._graph.over_rows(self._pool, partial(through_unit, *at))
        back = gradients
        if self._graph.layers:
            back = self._propagated  # it is written again below
            self._graph.apply(gradients, back, self._spare, self._pool)
        self.counts *= np.float32(shrink)
        if "grad_sq_sum" in arrays:
            state = (arrays["grad_sq_sum"], np.float32(rate))
            step = partial(adagrad, arrays["ego"], back, self.counts, *state)
        else:
            arrays["steps"] += 1
            moments = Moments(arrays["first"], arrays["second"], arrays["steps"][0])
            step = partial(adam, arrays["ego"], back, self.counts, moments, np.float32(rate))
        self._graph.over_rows(self._pool, step)
        gradients.fill(0)
        self.counts.fill(0)
        self._encode()

    def _encode(self) -> None:
        self._graph.apply(self._arrays["ego"], self._propagated, self._spare, self._pool)
        if self._unit:
            self._graph.over_rows(self._pool, partial(to_unit, self._propagated, self.vectors))

    def representation(self) -> Vectors:
        """What was learned so far: copies."""
        return Vectors(*(side.copy() for side in self.sides))


class EncoderConfig(EpochConfig):
    """Settings of the encoder and of Adam."""

    epochs: int = Field(200, ge=1, description="passes over the training pairs, at most")
    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    layers: int = Field(2, ge=0, le=10, description="layers of the graph; 0: matrix factorisation")
    smoothing: float = Field(
        1.0, ge=0, le=10, description="weight of a layer, relative to the one before; LightGCN: 1"
    )
    learning_rate: float = Field(0.02, gt=0, le=10, description="Adam's step size")
    decay: float = Field(0.0, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(1e-3, ge=0, description="weight of the squared norms of the ego vectors")
    batch_size: int = Field(32_768, ge=1, description="pairs per step of the optimiser")
    optimizer: Literal["adam", "adagrad"] = Field(
        "adam", description="adam: a step size for each number; adagrad: one for each row"
    )
    init_scale: float = Field(0.1, gt=0, description="standard deviation of the first vectors")

    def rate(self, epoch: int) -> float:
        """The step size of an epoch."""
        return self.learning_rate / (1 + self.decay * epoch)


class GraphConfig(EncoderConfig):
    """Settings of models that learn from triplets."""

    negatives: int = Field(8, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.5, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    sampling: Literal["pairs", "users"] = Field(
        "pairs", description="pairs: each pair once an epoch; users: each user equally often"
    )


E = TypeVar("E", bound=EncoderConfig)
_NEW_ROWS_REG = 1e-3
"""BPR's own, 0.01, keeps new items too short beside those that the graph has smoothed:
on `debian`, LightGCN's NDCG@10 for them is 0.10 with it, 0.35 with this, 0.33 after a new fit."""
EpochOf = Callable[[int, Encoder], float]


class GraphModel(EpochModel[E]):
    """A model whose vectors an encoder makes; what it learns in an epoch, a model says itself."""

    unit = False
    """Whether vectors are scaled to unit length after the propagation."""
    averages = False
    """Whether the ego vectors are means over the epochs (`training.table_steps`)."""

    def _epochs(self, train: Interactions, options: RunOptions, pool: ThreadPool) -> Any:
        graph = Propagation.of(train, self.config.layers, self.config.smoothing)
        config = self.config
        size = (config.dimensions, config.init_scale, options.seed, config.optimizer)
        start = start_arrays(train, *size)
        if self.averages:
            start_means(start, ("ego",))
        epoch_of = self._epoch_of(train, options.seed, pool)

        def encoder(arrays: Arrays) -> Encoder:
            return Encoder(graph, arrays, train.n_users, pool, unit=self.unit)

        def run_epoch(epoch: int, arrays: Arrays) -> dict[str, float]:
            loss = epoch_of(epoch, encoder(arrays))
            if self.averages:
                add_to_means(arrays)
            return {"loss": loss}

        def represent(arrays: Arrays) -> Vectors:
            mean = mean_of(arrays, "ego") if self.averages else None
            shown = arrays if mean is None else {**arrays, "ego": mean}
            return self._represent(encoder(shown), train)

        return start, run_epoch, represent

    def _represent(self, encoder: Encoder, train: Interactions) -> Vectors:
        """What was learned so far."""
        return encoder.representation()

    def _plain(self, dimensions: int) -> TripletModel[Any]:
        """A model of vectors without a graph, whose step moves what comes late."""
        return BPR(dimensions=dimensions, reg=_NEW_ROWS_REG)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """New rows learn without the graph, against the others as they are."""
        representation = expect(representation, Vectors)
        model = self._plain(representation.item_vectors.shape[1])
        return model.update(representation, update).representation_

    @abstractmethod
    def _epoch_of(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        """A function that works off one epoch with an encoder and returns the mean loss."""


T = TypeVar("T", bound=GraphConfig)


class TripletGraphModel(GraphModel[T]):
    """Learns from triplets: one step of the encoder after each block of them."""

    weighting = BY_SAMPLING

    mean_loss = False
    """Whether the loss of a block is a mean over its triplets, and the L2 term over its pairs."""

    @abstractmethod
    def _step(self, encoder: Encoder, pairs: int) -> GradientStep:
        """The gradients of a block of so many pairs."""

    def _epoch_of(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        config = self.config
        sampler = Negatives.of(train, config.alpha)
        size = (config.negatives, config.batch_size, seed)

        def epoch_of(epoch: int, encoder: Encoder) -> float:
            def learn(pairs: int) -> None:
                encoder.learn(config.rate(epoch), config.reg / (pairs if self.mean_loss else 1.0))

            run = Pass(train, sampler, *size, epoch, pool, 1, config.sampling == "users")
            return run.run(lambda block, pairs: self._step(encoder, pairs), learn)

        return epoch_of


class LightGCNConfig(GraphConfig):
    """Settings of LightGCN."""


class LightGCN(TripletGraphModel[LightGCNConfig]):
    """Matrix factorisation smoothed over the graph of users and items.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> LightGCN(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "lightgcn"
    Config = LightGCNConfig
    space: ClassVar[Space] = {
        "learning_rate": Float(5e-3, 5e-2, log=True),
        "reg": Float(1e-5, 1e-2, log=True),
        "layers": Int(1, 3),
        "negatives": Choice((4, 8, 16)),
        "alpha": POPULARITY,
    }
    cost = 6.0
    learns_vectors = True

    mean_loss = True

    def _step(self, encoder: Encoder, pairs: int) -> BPRGradientStep:
        share = np.float32(1 / (pairs * self.config.negatives))
        return BPRGradientStep(*encoder.side_gradients, *encoder.sides, share)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: BPR's step for users alone, the items as they are.

        (The sum of their items, what the graph would give them, keeps 57 % of the trained users'
        Recall@20 on ml-1m; this keeps 98 %.)
        """
        representation = expect(representation, Vectors)
        return BPR().fold_in(representation, history)
