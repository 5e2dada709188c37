"""Recommender: a representation with the ids, seen items and prior around it. Raw ids only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec import storage
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.errors import OptionError, UnknownIdError
from xorec.explanation import Explanation, explain
from xorec.recommendations import Recommendations, Recommended
from xorec.representations import representation_class
from xorec.representations.base import Representation
from xorec.search.hits import check_k
from xorec.search.top_k import top_k_row

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
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.representation, self.users, self.items = representation, users, items
        self.seen, self.prior, self.tie_rank, self.names = seen, prior, tie_rank, names
        self.facts = facts or {}
        """What the model file says of itself: model, config, seed, data digest, codes, metrics."""

    @classmethod
    def from_model(
        cls, model: Model[Any], train: Interactions, *, seed: int = 0, **facts: Any
    ) -> Recommender:
        """A recommender from a fitted model and the data it was fitted on."""
        from xorec.search.ties import tie_rank

        return cls(
            model.representation_,
            users=train.users,
            items=train.items,
            seen=(train.indptr, train.indices),
            prior=train.item_counts,
            tie_rank=tie_rank(train.items, train.item_counts),
            names=train.names,
            facts={
                "model": model.name,
                "config": model.config.model_dump(),
                "seed": seed,
                "data": {
                    "users": train.n_users,
                    "items": train.n_items,
                    "pairs": train.n_pairs,
                    "digest": train.digest(),
                },
                **model.representation_.facts(),
                **facts,
            },
        )

    def __repr__(self) -> str:
        return (
            f"Recommender({self.facts.get('model', '?')}, {len(self.users):,} users x "
            f"{len(self.items):,} items, {self.representation.nbytes:,} bytes)"
        )

    def recommend(
        self,
        user: Hashable,
        k: int = 10,
        *,
        seen: bool = False,
        allow: Iterable[Hashable] | None = None,
        deny: Iterable[Hashable] = (),
    ) -> Recommendations:
        """The `k` best items for a known user, without the ones they have unless `seen`.

        allow: only these items may come; deny: these may not.
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
        allow: Iterable[Hashable] | None = None,
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
        model = model_class(self.facts["model"])(**self.facts["config"])
        return model.fold_in(self.representation, rows)

    def similar(self, item: Hashable, k: int = 10) -> Recommendations:
        """The `k` items most like this one."""
        rows = self._item_rows([item])
        best = top_k_row(self.representation.similar(rows)[0], k, self.tie_rank, rows)
        return Recommendations(item, self.describe(*best))

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
        from xorec.updating import update

        return update(self, new)

    def save(self, path: str | Path) -> None:
        """Write the model file, whole or not at all."""
        tensors = {
            **storage.pack_ids("user_ids", self.users),
            **storage.pack_ids("item_ids", self.items),
            "seen.indptr": self.seen[0],
            "seen.items": self.seen[1],
            "prior": self.prior,
            "tie_rank": self.tie_rank,
        }
        if self.names is not None:
            tensors |= storage.pack_text("item_names", self.names)
        for name, array in self.representation.tensors().items():
            tensors[f"representation.{name}"] = array
        kinds = {"user_ids": self.users.kind, "item_ids": self.items.kind}
        facts = {**self.facts, "representation": self.representation.kind, "id_kinds": kinds}
        storage.write(Path(path), tensors, facts)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool | None = None) -> Recommender:
        """Open a model file, memory-mapped. verify: see `storage.read`."""
        path = Path(path)
        tensors, facts = storage.read(path, verify=verify)
        with storage.complete(path):
            return cls._from_file(tensors, facts)

    @classmethod
    def _from_file(cls, tensors: dict[str, Any], facts: dict[str, Any]) -> Recommender:
        kinds = facts.pop("id_kinds")
        own = "representation."
        parts = {name[len(own) :]: t for name, t in tensors.items() if name.startswith(own)}
        names = "item_names.data" in tensors
        return cls(
            representation_class(facts.pop("representation")).from_tensors(parts),
            users=storage.unpack_ids("user_ids", kinds["user_ids"], tensors),
            items=storage.unpack_ids("item_ids", kinds["item_ids"], tensors),
            seen=(tensors["seen.indptr"], tensors["seen.items"]),
            prior=tensors["prior"],
            tie_rank=tensors["tie_rank"],
            names=storage.unpack_text("item_names", tensors) if names else None,
            facts={name: facts[name] for name in facts if name not in ("format", "digest")},
        )

    @cached_property
    def index(self) -> Index:
        """The exact search over all items; made when it is first needed, or kept in the file."""
        from xorec.search.index import index_of

        return index_of(self.representation, self.tie_rank)

    def _list(
        self,
        who: Any,
        query: Any,
        k: int,
        own: Items,
        allow: Iterable[Hashable] | None,
        deny: Iterable[Hashable],
    ) -> Recommendations:
        """The best items of one query, without the rows `own` (ascending)."""
        found = self.index.search(
            query,
            check_k(k),
            exclude=(np.array([0, len(own)]), own),
            allow=None if allow is None else self._item_rows(allow),
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
