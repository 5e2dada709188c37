"""Recommender: a representation with the ids, seen items and prior around it. Raw ids only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError, UnknownIdError
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.explanation import Explanation, explain
from xorec.recommender.results import Choice, Recommendations, Recommended
from xorec.recommender.similarity import SimilarityIndex
from xorec.representations.base import Representation

if TYPE_CHECKING:
    from xorec.data.interactions import Interactions
    from xorec.models.base import Model
    from xorec.search.index import Index

Items = npt.NDArray[np.integer]

__all__ = ["Explanation", "Recommendations", "Recommended", "Recommender"]


class Recommender:
    """What people use: `recommend`, `similar`, `explain`, `fold_in`, `update`, `save`, `load`."""

    def __init__(
        self,
        representation: Representation,
        *,
        users: Ids,
        items: Ids,
        seen: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]],
        prior: npt.NDArray[np.int64],
        tie_rank: npt.NDArray[np.int32],
        names: Text | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.representation, self.users, self.items = representation, users, items
        self.seen, self.prior, self.tie_rank, self.names = seen, prior, tie_rank, names
        self.metadata = metadata or {}
        """What the model file says of itself: model, config, seed, data digest, codes, metrics."""

    @classmethod
    def from_model(
        cls, model: Model[Any], train: Interactions, *, seed: int = 0, **metadata: Any
    ) -> Recommender:
        """A recommender from a fitted model and the data it was fitted on."""
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

    def __repr__(self) -> str:
        return (
            f"Recommender({self.metadata.get('model', '?')}, {len(self.users):,} users x "
            f"{len(self.items):,} items, {self.representation.nbytes:,} bytes)"
        )

    def recommend(
        self,
        user: Hashable,
        k: int = 10,
        *,
        seen: bool = False,
        allow: Iterable[Hashable] | Choice | None = None,
        deny: Iterable[Hashable] = (),
    ) -> Recommendations:
        """The `k` best items for a known user, without the ones they have unless `seen`.

        allow: only these items may come (ids, or what `only` made ready); deny: these may not.
        """
        row = self._user_row(user)
        own = self._seen_by(row)
        query = self.representation.queries(np.array([row]))
        return self._list(user, query, k, own[:0] if seen else own, allow, deny)

    def recommend_for(
        self,
        history: Sequence[Hashable],
        k: int = 10,
        *,
        allow: Iterable[Hashable] | Choice | None = None,
        deny: Iterable[Hashable] = (),
    ) -> Recommendations:
        """The `k` best items for somebody new who has the items `history`, without a refit."""
        own = np.unique(self._item_rows(history))
        return self._list(list(history), self.fold_in(history), k, own, allow, deny)

    def fold_in(self, history: Sequence[Hashable]) -> Any:
        """The query (vector, code, row) of a new user who has the items `history`."""
        from xorec.models import model_class

        rows = self._item_rows(history)
        if not len(rows):
            raise OptionError("a new user needs at least one item: the list is empty.")
        model = model_class(self.metadata["model"])(**self.metadata["config"])
        return model.fold_in(self.representation, rows)

    def similar(self, item: Hashable, k: int = 10) -> Recommendations:
        """The `k` items most like this one."""
        rows = self._item_rows([item])
        found = self.item_neighbours.nearest(rows, k)
        return Recommendations(item, self.describe(*found.row(0)))

    def similar_users(self, user: Hashable, k: int = 10) -> Recommendations:
        """The `k` users most like this one."""
        found = self.user_neighbours.nearest(np.array([self._user_row(user)]), k)
        alike = zip(*found.row(0), strict=True)
        return Recommendations(
            user, tuple(Recommended(self.users[int(row)], None, float(s)) for row, s in alike)
        )

    def explain(self, user: Hashable, item: Hashable, k: int = 5) -> Explanation:
        """Why a known user is offered this item: score, place, and their `k` items most like it."""
        row = self._user_row(user)
        query = self.representation.queries(np.array([row]))
        own, (at,) = self._seen_by(row), self._item_rows([item])
        return explain(self, user, query, own, int(at), k)

    def explain_for(self, history: Sequence[Hashable], item: Hashable, k: int = 5) -> Explanation:
        """`explain` for somebody new who has the items `history`."""
        own, (at,) = np.unique(self._item_rows(history)), self._item_rows([item])
        return explain(self, list(history), self.fold_in(history), own, int(at), k)

    def update(self, new: Interactions) -> Recommender:
        """A recommender that has the new interactions too: grown, and refreshed where they are."""
        from xorec.recommender.updating import update

        return update(self, new)

    def save(self, path: str | Path, *, index: bool | None = None) -> None:
        """Write the model file, whole or not at all.

        index: keep the search index in it too; None does so from 10,000 items on, where making it
        anew takes longer than reading it.
        """
        from xorec.recommender import model_file

        model_file.save(self, Path(path), index)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool | None = None) -> Recommender:
        """Open a model file, memory-mapped. verify: see `storage.read`."""
        from xorec.recommender import model_file

        return model_file.load(Path(path), verify)

    @cached_property
    def index(self) -> Index:
        """The exact search over all items; made when it is first needed, or kept in the file."""
        from xorec.search.index import index_of

        return index_of(self.representation, self.tie_rank)

    @cached_property
    def item_neighbours(self) -> SimilarityIndex:
        """The search for similar items."""
        return SimilarityIndex.of_items(self)

    @cached_property
    def user_neighbours(self) -> SimilarityIndex:
        """The search for similar users."""
        return SimilarityIndex.of_users(self)

    def only(self, items: Iterable[Hashable]) -> Choice:
        """Make ready a choice of items (a category, what is in stock) for many lists: `allow`."""
        return Choice(self.index.item_filter(self._item_rows(items)))

    def _list(
        self,
        who: Any,
        query: Any,
        k: int,
        own: Items,
        allow: Iterable[Hashable] | Choice | None,
        deny: Iterable[Hashable],
    ) -> Recommendations:
        """The best items of one query, without the rows `own` (ascending)."""
        found = self.index.search(
            query,
            positive_int(k),
            exclude=(np.array([0, len(own)]), own),
            allow=self._allowed(allow),
            deny=self._item_rows(deny),
        )
        return Recommendations(who, self.describe(*found.row(0)))

    def describe(self, rows: Items, values: npt.NDArray[Any]) -> tuple[Recommended, ...]:
        """The items at `rows` with these scores, for people."""
        return tuple(
            Recommended(
                self.items[int(row)],
                None if self.names is None else self.names[int(row)],
                float(value),
                self.representation.distance(float(value)),
            )
            for row, value in zip(rows, values, strict=True)
        )

    def _allowed(self, allow: Iterable[Hashable] | Choice | None) -> Any:
        if isinstance(allow, Choice):
            return allow.ready
        return None if allow is None else self._item_rows(allow)

    def _seen_by(self, user: int) -> npt.NDArray[np.int32]:
        indptr, items = self.seen
        return items[indptr[user] : indptr[user + 1]]

    def _user_row(self, user: Hashable) -> int:
        row = self.users.find(user)
        if row < 0:
            raise UnknownIdError(
                f"user {user!r} is not in the model: use recommend_for([item ids]) (on the command "
                "line --items) to fold in somebody new."
            )
        return row

    def _item_rows(self, items: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        wanted = list(items)
        rows = self.items.find_many(wanted)
        if len(rows) and rows.min() < 0:
            missing = wanted[int(np.argmin(rows))]
            raise UnknownIdError(
                f"item {missing!r} is not in the model: it was not in the training data. "
                f"Ids look like {self.items[0]!r}."
            )
        return rows
