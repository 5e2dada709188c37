"""Representation: what a model has learned, and how it scores. All that the rest ever sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float32]
Tensors = dict[str, npt.NDArray[Any]]


class Representation(ABC):
    """Small, immutable, storable. Higher scores rank first.

    A *query* is what stands for a user when items are scored: a vector, a code, a history. The
    queries of known users come from `queries(rows)`, that of a new user from the model's
    `fold_in`; both go through `score`, so there is one way to rank.
    """

    kind: ClassVar[str]
    """The name in the model file."""

    @property
    @abstractmethod
    def n_users(self) -> int: ...

    @property
    @abstractmethod
    def n_items(self) -> int: ...

    @abstractmethod
    def queries(self, users: Rows) -> Any:
        """The queries of the users at these rows."""

    @abstractmethod
    def score(self, queries: Any) -> Scores:
        """Scores of every item for each query: float32 (queries, n_items), C order."""

    @abstractmethod
    def similar(self, items: Rows) -> Scores:
        """How alike each of `items` is to every item: float32 (len(items), n_items)."""

    def scores(self, users: Rows) -> Scores:
        """Scores of every item for the users at these rows: float32 (len(users), n_items)."""
        return self.score(self.queries(users))

    def distance(self, score: float) -> int | None:
        """The Hamming distance behind a score, where there is one."""
        return None

    @abstractmethod
    def tensors(self) -> Tensors:
        """The arrays to store, by name."""

    @classmethod
    @abstractmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The inverse of `tensors`; the arrays may be read-only memory maps."""

    @property
    def nbytes(self) -> int:
        """Bytes of everything that scoring needs."""
        return sum(array.nbytes for array in self.tensors().values())
