"""Model: settings in, `fit`, a representation out. A model's own file holds its mathematics."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from xorec.core.errors import DataError, NotFittedError, OptionError
from xorec.core.log import logged
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.representations.base import Representation
from xorec.training.config import ModelConfig, format_error
from xorec.training.space import Space


@dataclass(frozen=True, eq=False)
class DataUpdate:
    """What came after a fit. Users and items that are new have rows behind the old ones.

    train: all pairs, old and new; users, items: the rows to make anew; known (n_users,): how many
    pairs each user had before.
    """

    train: Interactions
    users: npt.NDArray[np.integer]
    items: npt.NDArray[np.integer]
    known: npt.NDArray[np.integer]


C = TypeVar("C", bound=ModelConfig)


class Model(ABC, Generic[C]):
    """A recommender's mathematics.

    `Model(setting=value, ...)` only checks and stores the settings (`config`). `fit` learns and
    returns self. What was learned is in `representation_`. Where a model learns by epochs,
    `history_` has a row for each and `epochs_` says how many the representation comes from.
    """

    name: ClassVar[str]
    """The name on the command line and in model files."""
    Config: ClassVar[type[ModelConfig]]
    space: ClassVar[Space] = {}
    """What `xorec tune` moves, and how far; empty: there is nothing to tune."""
    cost: ClassVar[float] = 3.0
    """What one fit costs, as a multiple of other models': for guesses of the time left."""
    weighting: ClassVar[str] = ""
    """What the weights of pairs do (`Interactions.weights`); empty: they are not used."""
    learns_vectors: ClassVar[bool] = False
    """Whether users and items have vectors that another model can start from (`pretraining`)."""

    config: C
    history_: list[dict[str, float]]
    epochs_: int

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Config" in cls.__dict__:
            cls.__signature__ = inspect.signature(cls.Config)  # type: ignore[attr-defined]

    def __init__(self, **settings: Any) -> None:
        try:
            self.config = self.Config(**settings)  # type: ignore[assignment]
        except ValidationError as error:
            raise OptionError(format_error(self.name, self.Config, error)) from None
        self._representation: Representation | None = None
        self.history_ = []
        self.epochs_ = 0

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.config.model_dump().items())
        return f"{type(self).__name__}({settings})"

    @property
    def representation_(self) -> Representation:
        """What `fit` has learned."""
        if self._representation is None:
            raise NotFittedError(f"{type(self).__name__} has learned nothing yet: call fit first.")
        return self._representation

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        options: RunOptions = DEFAULTS,
    ) -> Self:
        """Learn from `train`; use `validation`, if given, only to decide when to stop.

        >>> from xorec import BPR, Interactions
        >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> model = BPR(dimensions=8, epochs=1)
        >>> model.fit(train) is model
        True
        >>> model.representation_.scores([0, 1]).shape  # every item for two users
        (2, 2)
        """
        train.require_pairs("the training part")
        if validation is not None:
            validation.require_pairs("the validation part")
            if (validation.n_users, validation.n_items) != (train.n_users, train.n_items):
                raise DataError(
                    f"the validation part is {validation.n_users} x {validation.n_items} but the "
                    f"training part is {train.n_users} x {train.n_items}: cut both from one set, "
                    "for example with xorec.split."
                )
        train = self._weighed(train, options)
        size = {"users": train.n_users, "items": train.n_items, "pairs": train.n_pairs}
        with logged("fit", model=self.name, **size):
            self._representation = self._learn(train, validation, options)
        return self

    def _weighed(self, train: Interactions, options: RunOptions) -> Interactions:
        """Weights of 1 are as none, to the last bit; a model that uses none says so."""
        if train.weights is None or self.weighting:
            all_one = train.weights is not None and bool((train.weights == 1).all())
            return replace(train, weights=None) if all_one else train
        options.progress.note(f"{self.name} does not use weights: every pair counts the same.")
        return replace(train, weights=None)

    @abstractmethod
    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation: ...

    def refit_settings(self) -> dict[str, Any]:
        """The settings for a fit on all pairs: the number of epochs that validation chose."""
        chosen = {"epochs": self.epochs_} if self.epochs_ else {}
        return {**self.config.model_dump(), **chosen}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """The query of a new user who has the item rows `history`, without a refit."""
        raise OptionError(f"{self.name} cannot take in a new user without a refit.")

    def update(self, representation: Representation, update: DataUpdate) -> Self:
        """Take what was learned before, and what has come since; refresh what changed."""
        self._representation = self._update(representation, update)
        return self

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        raise OptionError(f"{self.name} cannot be updated: fit it anew on all the data.")
