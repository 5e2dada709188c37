"""DSIML: SIML in bits. Codes of users and items, learned with the scale-invariant loss.

SIML's vectors, turned so that signs lose least (`optim.rotation`), are the start; then an
optimiser learns on with the signs themselves:

    ste   straight-through: a latent vector behind each code takes the gradient at the codes
    none  the signs as they are
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.bits import pack_signs, unpack_signs
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.errors import DataError
from xorec.models.base import Model
from xorec.models.siml import SIML, SIMLConfig
from xorec.optim.checkpoint import Arrays
from xorec.optim.epochs import EpochConfig, EpochTrainer
from xorec.optim.passes import Pass, Triplets
from xorec.optim.rotation import learn_rotation
from xorec.optim.straight_through import StraightThroughSteps, Tables, unit_codes
from xorec.options import RunOptions
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats, Vectors

_FOLD_IN_PASSES = 20


class DSIMLConfig(EpochConfig):
    """Settings of DSIML; `epochs` are those of the codes, `start` has those of the vectors."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    optimizer: Literal["ste", "none"] = Field("ste", description="how the bits are learned")
    epochs: int = Field(30, ge=1, description="passes of the optimiser, at most")
    gamma: float = Field(1.0, ge=0, le=10, description="tangent of the angle that is allowed")
    lambda_: float = Field(1.0, ge=0, description="weight of the scale-invariant part")
    temperature: float = Field(4.0, gt=0, description="steepness of the scale-invariant part")
    learning_rate: float = Field(0.005, gt=0, le=10, description="size of the first epoch's steps")
    decay: float = Field(0.05, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    block_size: int = Field(32_768, ge=1, description="pairs between two looks at each other")
    asymmetric: bool = Field(False, description="rank float users against item bits")
    start: SIMLConfig = Field(
        default_factory=lambda: SIMLConfig.model_validate({}),
        description="settings of SIML, which it starts from",
    )

    def rate(self, epoch: int) -> np.float32:
        """The step size of an epoch."""
        return np.float32(self.learning_rate / (1 + self.decay * epoch))

    def terms(self) -> tuple[Any, ...]:
        """The numbers of the loss as the kernels take them."""
        numbers = (self.gamma**2, self.lambda_, self.temperature, 0.0)
        return (*map(np.float32, numbers), False)


class DSIML(Model[DSIMLConfig]):
    """Binary codes from the scale-invariant loss."""

    name = "dsiml"
    Config = DSIMLConfig

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._given: tuple[Floats, Floats] | None = None
        self.start_epochs_ = 0

    @classmethod
    def from_vectors(
        cls, user_vectors: npt.ArrayLike, item_vectors: npt.ArrayLike, **settings: Any
    ) -> DSIML:
        """A model whose `fit` starts from vectors of another library instead of SIML's.

        The rows must be those of the training data; the vectors may have any length, and are
        ranked by their dot product or cosine.
        """
        model = cls(**settings)
        users, items = (np.asarray(rows, dtype=np.float32) for rows in (user_vectors, item_vectors))
        if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
            raise DataError(
                f"user vectors of shape {users.shape} and item vectors of shape {items.shape} do "
                "not go together: give rows of one length for both."
            )
        if not (np.isfinite(users).all() and np.isfinite(items).all()):
            raise DataError("the vectors hold NaN or infinity: mend those rows first.")
        model._given = (users, items)
        return model

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        users, items = self._start_vectors(train, validation, options)
        users, items = to_dimensions(users, items, self.config.bits)
        rotation = learn_rotation(np.vstack([users, items]), seed=options.seed)
        latent = {"users": _latent(users, rotation), "items": _latent(items, rotation)}
        if self.config.optimizer == "none":
            return self._codes(latent)
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train)
        size = (self.config.negatives, self.config.block_size, options.seed)
        with options.team() as team:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                tables = Tables.of(arrays["users"], arrays["items"])
                before = (tables.users.copy(), tables.items.copy())
                rate, terms = self.config.rate(epoch), self.config.terms()
                run = Pass(train, sampler, *size, epoch, team)
                loss = run.run(lambda t: StraightThroughSteps.of(t, tables, rate, terms))
                flips = np.mean(before[0] != tables.users), np.mean(before[1] != tables.items)
                return {"loss": loss, "user_flips": float(flips[0]), "item_flips": float(flips[1])}

            state = trainer.run(latent, step, self._codes)
        self.history_ = state.history
        self.epochs_ = state.best_epoch or state.epoch
        return self._codes(state.arrays)

    def _start_vectors(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> tuple[Floats, Floats]:
        """SIML's vectors, or the ones that were given."""
        if self._given is not None:
            users, items = self._given
            if (len(users), len(items)) != (train.n_users, train.n_items):
                raise DataError(
                    f"the vectors are of {len(users)} users and {len(items)} items but the "
                    f"training part has {train.n_users} and {train.n_items}."
                )
            return users, items
        path = options.checkpoint
        first = replace(options, checkpoint=None if path is None else Path(f"{path}.start"))
        settings = {**self.config.start.model_dump(), "dimensions": self.config.bits}
        siml = SIML(**settings).fit(train, validation, first)
        self.start_epochs_ = siml.epochs_
        vectors = siml.representation_
        assert isinstance(vectors, Vectors)
        return vectors.user_vectors, vectors.item_vectors

    def _codes(self, latent: Arrays) -> Codes:
        asymmetric = self.config.asymmetric
        return Codes.from_signs(latent["users"], latent["items"], asymmetric=asymmetric)

    def refit_settings(self) -> dict[str, Any]:
        """Both numbers of epochs as validation chose them."""
        settings = self.config.model_dump()
        settings["start"]["epochs"] = max(1, self.start_epochs_)
        return {**settings, "epochs": max(1, self.epochs_)}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code (or latent vector): the users' step alone, all passes in one call."""
        assert isinstance(representation, Codes)
        positives = np.unique(history).astype(np.int32)
        sampler = Negatives(positives, np.array([0, len(positives)]), representation.n_items)
        passes = [sampler.draw_all(self.config.negatives, 0, e) for e in range(_FOLD_IN_PASSES)]
        rows = np.concatenate([positives, *(drawn.ravel() for drawn in passes)])
        used, place = np.unique(rows, return_inverse=True)
        signs = unpack_signs(representation.item_codes[np.maximum(used, 0)], representation.bits)
        items = unit_codes(signs.astype(np.float32))
        own = place[: len(positives)].astype(np.int32)
        drawn = np.where(rows < 0, -1, place)[len(positives) :].astype(np.int32)
        owner = np.zeros(_FOLD_IN_PASSES * len(positives), dtype=np.int32)
        triplets = Triplets(
            owner, np.tile(own, _FOLD_IN_PASSES), drawn.reshape(-1, self.config.negatives)
        )
        tables = Tables.of(_latent(items[own].mean(axis=0, keepdims=True)), items)
        steps = StraightThroughSteps.of(
            triplets, tables, self.config.rate(_FOLD_IN_PASSES), self.config.terms()
        )
        steps.learn_users(slice(None))
        latent = tables.latent_users
        return latent if representation.user_vectors is not None else pack_signs(latent)


def to_dimensions(users: Floats, items: Floats, size: int) -> tuple[Floats, Floats]:
    """Vectors of length `size` whose dot products are nearest to the given ones.

    Longer vectors are laid on their first principal directions (not centred); shorter ones get
    zeros, which the rotation spreads.
    """
    given = users.shape[1]
    if given < size:
        users, items = (np.pad(rows, ((0, 0), (0, size - given))) for rows in (users, items))
    elif given > size:
        both = np.vstack([users, items]).astype(np.float64)
        _, directions = np.linalg.eigh(both.T @ both)
        basis = directions[:, ::-1][:, :size].astype(np.float32)
        users, items = users @ basis, items @ basis
    return users, items


def _latent(rows: Floats, rotation: Floats | None = None) -> Floats:
    """Rows of length sqrt(d) / 2, turned, clipped to [-1, 1]: near zero are the bits in doubt."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(norms > 0, norms, np.float32(1))
    turned = unit if rotation is None else unit @ rotation
    scale = np.sqrt(rows.shape[1]) / 2
    return np.asarray(np.clip(turned * scale, -1, 1), dtype=np.float32)
