"""What LightGCN, SIML-GCN and CPR share: vectors from an encoder, learned by Adam."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal, Protocol, TypeVar

from pydantic import Field

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.models.graph.encoder import Encoder, start_arrays
from xorec.representations.base import Representation
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Pass, Steps, Triplets
from xorec.training.propagation import Propagation


class EncoderConfig(EpochConfig):
    """Settings of the encoder and of Adam."""

    epochs: int = Field(200, ge=1, description="passes over the training pairs, at most")
    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    layers: int = Field(2, ge=0, le=10, description="how often neighbours are taken in; 0: none")
    smoothing: float = Field(
        1.0, ge=0, le=10, description="what a layer weighs beside the one before; LightGCN: 1"
    )
    learning_rate: float = Field(0.02, gt=0, le=10, description="Adam's step size")
    decay: float = Field(0.0, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(1e-3, ge=0, description="weight of the squared norms of the ego vectors")
    batch_size: int = Field(32_768, ge=1, description="pairs of one step")
    optimizer: Literal["adam", "adagrad"] = Field(
        "adam", description="adam for each number, or adagrad for each row"
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
        "pairs", description="every pair once an epoch, or every user equally often"
    )


E = TypeVar("E", bound=EncoderConfig)
EpochOf = Callable[[int, Encoder], float]


class GraphModel(Model[E]):
    """A model whose vectors an encoder makes; what an epoch teaches it is the model's own."""

    unit = False
    """Whether vectors are scaled to unit length after the propagation."""

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        graph = Propagation.of(train, self.config.layers, self.config.smoothing)
        config = self.config
        size = (config.dimensions, config.init_scale, options.seed, config.optimizer)
        start = start_arrays(train, *size)
        with options.thread_pool() as pool:

            def encoder(arrays: Arrays) -> Encoder:
                return Encoder(graph, arrays, train.n_users, pool, unit=self.unit)

            epoch_of = self._epochs(train, options.seed, pool)
            state = trainer.run(
                start,
                lambda epoch, arrays: {"loss": epoch_of(epoch, encoder(arrays))},
                lambda arrays: encoder(arrays).representation(),
            )
            return encoder(state.arrays).representation()

    @abstractmethod
    def _epochs(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        """A function that works off one epoch with an encoder and returns the mean loss."""


class TripletSteps(Steps, Protocol):
    """The gradients of one block; `scale`: what they were divided by, and the L2 term must be."""

    scale: float


T = TypeVar("T", bound=GraphConfig)


class TripletGraphModel(GraphModel[T]):
    """Learns from triplets: one step of the encoder after each block of them."""

    @abstractmethod
    def _steps(self, triplets: Triplets, encoder: Encoder) -> TripletSteps:
        """What adds the gradients of a block to those of the encoder."""

    def _epochs(self, train: Interactions, seed: int, pool: ThreadPool) -> EpochOf:
        config = self.config
        sampler = Negatives.of(train, config.alpha)
        size = (config.negatives, config.batch_size, seed)

        def epoch_of(epoch: int, encoder: Encoder) -> float:
            run = Pass(train, sampler, *size, epoch, pool, 1, config.sampling == "users")
            scale = [1.0]

            def steps_of(triplets: Triplets) -> TripletSteps:
                steps = self._steps(triplets, encoder)
                scale[0] = steps.scale
                return steps

            return run.run(
                steps_of, lambda: encoder.learn(config.rate(epoch), config.reg / scale[0])
            )

        return epoch_of
