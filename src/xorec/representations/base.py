"""Representation: what a model has learned, and how it scores; all that other rooms see of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.errors import OptionError
from xorec.core.schema import Schema

Rows = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Tensors = dict[str, npt.NDArray[Any]]
StoredAs = Literal["float32", "float16", "int8"]
"""The type of stored vectors and weights; int8 has a scale for each row."""
NO_SCALES = np.zeros(0, dtype=np.float32)
_OF_USERS = ("user_", "history_", "n_users")
"""Prefixes of the names of users' tensors."""
_ARRAYS = ("user_vectors", "item_vectors", "item_bias", "user_codes", "item_codes")


class Representation(ABC):
    """Small, immutable, storable. Higher scores rank first.

    A *query* stands for a user: a vector, a code, a history. The queries of known users come from
    `queries(rows)`, that of a new user from the model's `fold_in`; `score` ranks both.
    """

    kind: ClassVar[str]
    """The name in the model file."""
    compares_items: ClassVar[bool] = True
    """Whether `similar` has an answer."""

    n_users: int
    n_items: int
    code_length: int | None = None
    """The number of bits, where users and items are codes."""

    @abstractmethod
    def queries(self, users: Rows) -> Any:
        """The queries of the users at these rows."""

    @abstractmethod
    def score(self, queries: Any) -> Scores:
        """Scores of every item for each query: float32 (queries, n_items), C order."""

    def among_items(self) -> Representation:
        """The representation with items as its users: it scores the similarity of items."""
        raise OptionError("this model does not compare items: take one that learns from pairs.")

    def among_users(self) -> Representation:
        """The representation with users as its items: it scores the similarity of users."""
        raise OptionError("this model does not compare users: take one with vectors or codes.")

    def similar(self, items: Rows) -> Scores:
        """Similarity of each of `items` to every item: float32 (len(items), n_items)."""
        return self.among_items().scores(items)

    def likeness(self, items: Rows, item: int) -> Scores:
        """Similarity of each of `items` to one item: float32 (len(items),)."""
        row: Scores = self.similar(np.array([item]))[0]
        return row[items]

    @property
    @abstractmethod
    def score_description(self) -> str:
        """Words that complete "the score is ..."."""

    def scores(self, users: Rows) -> Scores:
        """Scores of every item for the users at these rows: float32 (len(users), n_items)."""
        return self.score(self.queries(users))

    def item_distances(self, items: Rows, item: int) -> npt.NDArray[np.integer] | None:
        """The Hamming distances of `items` to one item, where `likeness` counts bits."""
        return None

    def query_code(self, query: Any) -> Words | None:
        """The words (W,) of the first query's code, where there are bits."""
        return None

    def codes_of(self, items: Rows) -> Words | None:
        """The words (len(items), W) of items' codes, where there are bits."""
        return None

    def bits_agreed(self, query: Any, item: int) -> int | None:
        """How many bits of one query and of an item are equal, where there are bits."""
        return None

    def score_parts(self, query: Any, item: int) -> dict[str, float]:
        """The parts of an item's score by name, where there are several."""
        return {}

    def metadata(self) -> dict[str, Any]:
        """More about this representation for the model file, as JSON."""
        return {}

    schema: ClassVar[Schema]
    """Its tensors, with the sizes "users" and "items"."""

    def tensors(self) -> Tensors:
        """The arrays to store, by name: the attributes in the schema that are not None."""
        found = {name: getattr(self, name) for name in self.schema}
        return {name: array for name, array in found.items() if array is not None}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The inverse of `tensors`: the arguments by name. They may be read-only memory maps."""
        return cls(**{name: tensors[name] for name in cls.schema if name in tensors})

    def arrays(self) -> Tensors:
        """The vectors and codes of users and items that exist, by name."""
        found = {name: getattr(self, name, None) for name in _ARRAYS}
        return {name: array for name, array in found.items() if array is not None}

    @property
    def nbytes(self) -> int:
        """Bytes of everything that scoring needs."""
        return sum(array.nbytes for array in self.tensors().values())

    @property
    def item_nbytes(self) -> int:
        """Bytes without the users' rows, codes and histories."""
        tensors = self.tensors().items()
        return sum(array.nbytes for name, array in tensors if not name.startswith(_OF_USERS))
