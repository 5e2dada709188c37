"""RecommenderState: what a recommender is made of, and what its model file has. Raw ids in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.text import Text, gather_spans
from xorec.recommender.results import Kind, Recommended
from xorec.representations.base import Representation

if TYPE_CHECKING:
    from xorec.data.interactions import Interactions
    from xorec.models.base import Model

ItemRows = npt.NDArray[np.integer]
Seen = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
"""(indptr, items): the user at row u has `items[indptr[u]:indptr[u + 1]]`, ascending."""


@dataclass(frozen=True, eq=False, repr=False)
class RecommenderState:
    """A representation with the ids, seen items and tie order around it. Never changes.

    seen: each user's training items. prior (n_items,): how many users have an item. tie_rank
    (n_items,): the order of items of equal score. metadata: what the model file says of itself:
    model, config, seed, data digest, codes. threads: at most this many where an index is made or
    pairs are merged; None takes every core that this process may use.
    """

    representation: Representation
    _: KW_ONLY
    users: Ids
    items: Ids
    seen: Seen
    prior: npt.NDArray[np.int64]
    tie_rank: npt.NDArray[np.int32]
    names: Text | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None

    @classmethod
    def from_model(
        cls, model: Model[Any], train: Interactions, *, seed: int = 0, **metadata: Any
    ) -> Self:
        """From a fitted model and the data it was fitted on; `metadata` goes into the model file.

        >>> import xorec
        >>> data = xorec.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> xorec.Recommender.from_model(xorec.Popularity().fit(data), data)
        Recommender(popularity, 2 users x 2 items, 16 bytes)
        """
        from xorec.data.tie_rank import tie_rank

        return cls(
            model.representation_,
            users=train.users,
            items=train.items,
            seen=(train.indptr, train.indices),
            prior=train.item_counts,
            tie_rank=tie_rank(train.items, train.item_counts),
            names=train.names,
            metadata={
                "model": model.name,
                "config": model.config.model_dump(),
                "seed": seed,
                "data": {
                    "users": train.n_users,
                    "items": train.n_items,
                    "pairs": train.n_pairs,
                    "digest": train.digest(),
                },
                **model.representation_.metadata(),
                **metadata,
            },
        )

    def model(self) -> Model[Any]:
        """The model with its settings, for folding in and updates; it has learned nothing."""
        from xorec.models import model_class

        made: Model[Any] = model_class(self.metadata["model"])(**self.metadata["config"])
        return made

    def fold_in_rows(self, rows: ItemRows) -> Any:
        """The query of a new user who has the items at `rows`."""
        if not len(rows):
            raise OptionError("a new user needs at least one item: the list is empty.")
        return self.model().fold_in(self.representation, rows)

    def user_row(self, user: Hashable) -> int:
        """The row of a raw id."""
        row = self.users.find(user)
        if row < 0:
            raise self._unknown_user(user)
        return row

    def user_rows(self, users: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """The rows of raw ids."""
        wanted = list(users)
        rows = self.users.find_many(wanted)
        if len(rows) and rows.min() < 0:
            raise self._unknown_user(wanted[int(np.argmin(rows))])
        return rows

    def item_rows(self, items: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """The rows of raw ids."""
        wanted = list(items)
        rows = self.items.find_many(wanted)
        if len(rows) and rows.min() < 0:
            missing = wanted[int(np.argmin(rows))]
            raise UnknownIdError(
                f"item {quoted(missing)} is not in the model: it was not in the training data. "
                f"Ids look like {quoted(self.items[0])}."
            )
        return rows

    def items_of(self, user_row: int) -> npt.NDArray[np.int32]:
        """The rows of the items that a user has, ascending."""
        indptr, items = self.seen
        return items[indptr[user_row] : indptr[user_row + 1]]

    def items_of_many(self, user_rows: npt.NDArray[np.integer]) -> Seen:
        """`seen` of some users, in their order."""
        indptr, items = self.seen
        places, starts = gather_spans(indptr, user_rows)
        return starts, items[places]

    def describe(
        self,
        rows: ItemRows,
        scores: npt.NDArray[Any],
        distances: npt.NDArray[Any] | None = None,
        kind: Kind = "item",
    ) -> tuple[Recommended, ...]:
        """What stands at `rows` for people: id, name, score, Hamming distance where there is one.

        scores, distances: one for each row. kind: whether they are rows of items or of users.
        """
        ids, names = (self.items, self.names) if kind == "item" else (self.users, None)
        return tuple(
            Recommended(
                ids[row],
                None if names is None else names[row],
                float(scores[at]),
                None if distances is None else int(distances[at]),
            )
            for at, row in enumerate(map(int, rows))
        )

    def _unknown_user(self, user: Hashable) -> UnknownIdError:
        return UnknownIdError(
            f"user {quoted(user)} is not in the model: use recommend_for([item ids]) (on the "
            "command line --items) to fold in somebody new."
        )
