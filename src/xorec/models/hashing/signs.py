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

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.new_rows import mean_direction, updated_codes
from xorec.models.pretraining import FromBPR, pretrain, refit_pretraining
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats
from xorec.training.config import Choice, ModelConfig, Space
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows


class SignsConfig(ModelConfig):
    """Settings of signs."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    turn: Literal["itq", "random", "none"] = Field(
        "itq",
        description="rotation of the vectors before their signs are taken: learned so that "
        "signs lose least (itq), at random, or none",
    )
    centre: bool = Field(
        False, description="subtract the mean of the users, and that of the items, first"
    )
    start: FromBPR = Field(
        default={},
        validate_default=True,
        description="settings of the model whose signs are taken; `model` names it (bpr, als, ...)",
    )


class Signs(Model[SignsConfig]):
    """Codes that are the signs of another model's vectors.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> Signs(bits=8, start={"epochs": 1}).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "signs"
    Config = SignsConfig
    triplet_cost = 0.0
    weighting = "used by `start`"
    space: ClassVar[Space] = {"turn": Choice(("itq", "random")), "centre": Choice((False, True))}
    cost = 0.5

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.start_epochs_ = 0

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Codes:
        pretrained = pretrain(self.config.start, train, validation, options)
        self.start_epochs_ = pretrained.epochs
        self.config = self.config.model_copy(update={"start": pretrained.start})
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

    def refit_settings(self) -> dict[str, Any]:
        """The start has the number of epochs that validation chose."""
        start = refit_pretraining(self.config.start, self.start_epochs_)
        return {**self.config.model_dump(), "start": start}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: where the codes of their items point."""
        representation = expect(representation, Codes)
        codes = unpack_signs(representation.item_codes[np.unique(history)], representation.bits)
        total = codes.sum(axis=0, dtype=np.float32)
        return pack_signs(mean_direction(total, len(codes), representation.mean_item)[None])

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        representation = expect(representation, Codes)
        return updated_codes(representation, update)
