"""What LightGCN, SIML-GCN and CPR share: vectors from an encoder, learned by Adam."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import Field

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.factorization.bpr import BPR
from xorec.models.graph.encoder import Encoder, start_arrays
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.averaging import add_to_means, mean_of, start_means
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import BY_SAMPLING, GradientStep, Pass
from xorec.training.propagation import Propagation


class EncoderConfig(EpochConfig):
    """Settings of the encoder and of Adam."""

    epochs: int = Field(200, ge=1, description="passes over the training pairs, at most")
    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    layers: int = Field(
        2,
        ge=0,
        le=10,
        description="layers of the graph: how far neighbours reach; 0: matrix factorisation",
    )
    smoothing: float = Field(
        1.0,
        ge=0,
        le=10,
        description="weight of each layer, as a multiple of the one before; LightGCN: 1",
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
_LATE_REG = 1e-3
"""BPR's own, 0.01, keeps items that come late too short beside those that the graph has smoothed:
on `debian`, LightGCN's NDCG@10 for them is 0.10 with it, 0.35 with this, 0.33 after a new fit."""
EpochOf = Callable[[int, Encoder], float]


class GraphModel(Model[E]):
    """A model whose vectors an encoder makes; what it learns in an epoch, a model says itself."""

    unit = False
    """Whether vectors are scaled to unit length after the propagation."""
    averages = False
    """Whether the ego vectors are means over the epochs (`training.averaging`)."""

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        graph = Propagation.of(train, self.config.layers, self.config.smoothing)
        config = self.config
        size = (config.dimensions, config.init_scale, options.seed, config.optimizer)
        start = start_arrays(train, *size)
        if self.averages:
            start_means(start, ("ego",))
        with options.thread_pool() as pool:

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

            epoch_of = self._epochs(train, options.seed, pool)
            return represent(trainer.run(start, run_epoch, represent).arrays)

    def _represent(self, encoder: Encoder, train: Interactions) -> Vectors:
        """What was learned so far."""
        return encoder.representation()

    def _plain(self, dimensions: int) -> TripletModel[Any]:
        """A model of vectors without a graph, whose step moves what comes late."""
        return BPR(dimensions=dimensions, reg=_LATE_REG)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """Rows that come late learn without the graph, against the others as they are."""
        representation = expect(representation, Vectors)
        model = self._plain(representation.item_vectors.shape[1])
        return model.update(representation, update).representation_

    @abstractmethod
    def _epochs(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
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

    def _epochs(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        config = self.config
        sampler = Negatives.of(train, config.alpha)
        size = (config.negatives, config.batch_size, seed)

        def epoch_of(epoch: int, encoder: Encoder) -> float:
            def learn(pairs: int) -> None:
                encoder.learn(config.rate(epoch), config.reg / (pairs if self.mean_loss else 1.0))

            run = Pass(train, sampler, *size, epoch, pool, 1, config.sampling == "users")
            return run.run(lambda block, pairs: self._step(encoder, pairs), learn)

        return epoch_of
