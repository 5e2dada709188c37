"""Signs of a continuous model's vectors, turned so that signs lose least (ITQ): simple codes.

    X = vectors of users and items, laid on `bits` principal directions    (`discrete.rotation`)
    codes = sign(X Q),   Q orthogonal, with |sign(XQ) - XQ|^2 least

Nothing is learned with the bits in mind: the floor that every hashing method must beat.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Part, expect
from xorec.models.new_rows import pointed_direction, updated_codes
from xorec.models.pretraining import FromBPR, PretrainedModel
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats
from xorec.training.config import Choice, ModelConfig, Space
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows


class SignsConfig(ModelConfig):
    """Settings of signs."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    turn: Literal["itq", "random", "none"] = Field(
        "itq", description="rotation of the vectors: itq (signs lose least), random or none"
    )
    centre: bool = Field(
        False, description="first subtract the mean of the users, and of the items"
    )
    start: FromBPR = Field(
        {}, description="settings of the model of the vectors; `model` names it (bpr, als, ...)"
    )


class Signs(PretrainedModel[SignsConfig]):
    """Codes that are the signs of another model's vectors.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> Signs(bits=8, start={"epochs": 1}).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "signs"
    Config = SignsConfig
    triplet_cost = 0.0
    weighting = "used by `start`"
    space: ClassVar[Space] = {"turn": Choice(("itq", "random")), "centre": Choice((False, True))}
    cost = 0.5

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Codes:
        pretrained = self._pretrain(train, validation, options)
        users, items = pretrained.user_vectors, pretrained.item_vectors
        if self.config.centre:
            users, items = users - users.mean(axis=0), items - items.mean(axis=0)
        users, items = to_dimensions(unit_rows(users), unit_rows(items), self.config.bits)
        turned = self._turn(users, items, options.seed)
        return Codes.from_signs(users @ turned, items @ turned)

    def _turn(self, users: Floats, items: Floats, seed: int) -> Floats:
        if self.config.turn == "none":
            return np.eye(self.config.bits, dtype=np.float32)
        rounds = 50 if self.config.turn == "itq" else 0
        return learn_rotation(users, items, rounds=rounds, seed=seed)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: where the codes of their items point."""
        return pack_signs(pointed_direction(expect(representation, Codes), history))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        return updated_codes(expect(representation, Codes), update)
