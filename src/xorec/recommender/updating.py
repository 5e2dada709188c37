"""Update: new interactions into a model that stands, without a fit of everything; forgetting users.

Users and items that are new get rows at the end; ids keep the rows they have. The model then
refreshes the users who got pairs and the items that are mostly new, the rest stays as it is. On a
map, known items stay where they are, and new ones get the xy of the most similar item.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.text import Text, gather_spans
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate
from xorec.recommender.similarity import compared_items
from xorec.recommender.state import RecommenderState, data_facts
from xorec.representations.base import Representation

State = TypeVar("State", bound=RecommenderState)
Rows = npt.NDArray[np.int64]
_AT_ONCE = 64


def carry_map(before: State, after: State) -> State:
    """`after`, whose first rows are the items of `before`, on the map of `before`."""
    if before.map_xy is None:
        return after
    known, total = len(before.item_ids), len(after.item_ids)
    xy = np.zeros((total, 2), dtype=np.int16)
    xy[:known] = before.map_xy
    if total > known and after.representation.compares_items:
        among = compared_items(after)
        for begin in range(known, total, _AT_ONCE):
            rows = np.arange(begin, min(total, begin + _AT_ONCE))
            likeness = among.score(among.queries(rows))[:, :known]
            xy[rows] = xy[likeness.argmax(axis=1)]
    said = before.metadata.get("map", {})
    about = {"layout": said.get("layout", "unknown"), "seed": said.get("seed", 0)}
    return replace(after, map_xy=xy, metadata={**after.metadata, "map": about})


@dataclass(frozen=True)
class UpdateSummary:
    """What an update has added. data: size and digest of all the data after it.

    >>> UpdateSummary(users=1, items=0, pairs=2, data={"users": 41}).to_dict()["new"]
    {'users': 1, 'items': 0, 'pairs': 2}
    """

    users: int
    items: int
    pairs: int
    data: dict[str, Any]

    @classmethod
    def of(cls, before: RecommenderState, after: RecommenderState) -> UpdateSummary:
        """The difference of two recommenders."""
        sizes = (
            (len(one.user_ids), len(one.item_ids), len(one.seen[1])) for one in (before, after)
        )
        users, items, pairs = (new - old for old, new in zip(*sizes, strict=True))
        return cls(users, items, pairs, after.metadata["data"])

    def to_dict(self) -> dict[str, Any]:
        """The one JSON shape of the command line and the service."""
        new = {"users": self.users, "items": self.items, "pairs": self.pairs}
        return {"new": new, "data": self.data}


def update(state: State, new: Interactions) -> State:
    """The state that knows the pairs of `new` too."""
    new.require_pairs("the update")
    users, user_rows = _extended(state.user_ids, new.users, "user")
    items, item_rows = _extended(state.item_ids, new.items, "item")
    indptr, seen = state.seen
    threads = RunOptions(threads=state.threads).thread_count
    before = np.repeat(np.arange(len(state.user_ids)), np.diff(indptr))
    train = Interactions.from_rows(
        users,
        items,
        np.concatenate([before, user_rows[new.user_rows]]),
        np.concatenate([seen, item_rows[new.indices]]),
        names=_names(state.names, new.names, items, item_rows),
        categories=_categories(state.categories, new.categories, items, item_rows),
        threads=threads,
    )
    old_users = np.bincount(before, minlength=len(users))
    old_items = np.bincount(seen, minlength=len(items))
    changed = np.flatnonzero(train.user_counts > old_users)
    mostly_new = np.flatnonzero(train.item_counts > 2 * old_items)
    model = state.model()
    model.update(
        state.representation, DataUpdate(train, changed, mostly_new, old_users, threads, old_items)
    )
    count = state.metadata.get("updates", 0) + 1
    seed = state.metadata.get("seed", 0)
    kept = {name: state.metadata[name] for name in ("race", "source") if name in state.metadata}
    after = type(state).from_model(model, train, seed=seed, updates=count, **kept)
    return carry_map(state, replace(after, threads=state.threads))


def _extended(known: Ids, new: Ids, what: str) -> tuple[Ids, Rows]:
    """The known ids with the new ones behind them, and the row of each of `new`."""
    if known.kind != new.kind:
        raise DataError(
            f"the {what} ids of the update are {new.kind}, those of the model {known.kind}: read "
            f"both in the same way, for example {known[0]!r}."
        )
    rows = known.find_many(new)
    missing = np.flatnonzero(rows < 0)
    rows[missing] = len(known) + np.arange(len(missing))
    if isinstance(known.values, Text):
        more = new.select(missing).values
        assert isinstance(more, Text)
        return Ids(known.kind, _joined(known.values, more)), rows
    values = np.concatenate([known.values, np.asarray(new.values)[missing]])
    return Ids(known.kind, values), rows


def _names(known: Text | None, new: Text | None, items: Ids, rows: Rows) -> Text | None:
    """Names of all items: the known ones, then those that the update brings, else the id."""
    if known is None:
        return None
    given = {} if new is None else {int(row): new[at] for at, row in enumerate(rows)}
    more = (given.get(row, str(items[row])) for row in range(len(known), len(items)))
    return _joined(known, Text.pack(more))


def _categories(
    known: Categories | None, new: Categories | None, items: Ids, rows: Rows
) -> Categories | None:
    """Categories of all items: the known ones, then those that the update brings, else none."""
    if known is None:
        return None
    count = len(known.indptr) - 1
    if new is None:
        nothing = np.full(len(items) - count, known.indptr[-1])
        return replace(known, indptr=np.concatenate([known.indptr, nothing]))
    return known.extended(new.select(np.flatnonzero(rows >= count)))


def _joined(first: Text, second: Text) -> Text:
    offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
    return Text(np.concatenate([first.data, second.data]), offsets)


def without_users(state: State, users: Iterable[Hashable]) -> State:
    """The same without these users: their ids, histories, codes and vectors are gone.

    What items have learned from them stays. Unknown ids are skipped. At least one user must
    remain.

    >>> from xorec.testing.examples import shop
    >>> len(without_users(shop(), ["ann", "nobody"]).user_ids)
    3
    """
    gone = state.user_ids.find_many(users)
    kept = np.setdiff1d(np.arange(len(state.user_ids)), gone)
    if len(kept) == len(state.user_ids):
        return state
    if not len(kept):
        raise DataError("nobody would be left in the model: fit a new one, or delete the file.")
    indptr, seen = state.seen
    at, starts = gather_spans(indptr, kept)
    data = Interactions(state.user_ids.select(kept), state.item_ids, starts, seen[at])
    return replace(
        state,
        representation=_of_users(state.representation, kept),
        user_ids=data.users,
        seen=(data.indptr, data.indices),
        item_counts=data.item_counts,
        tie_rank=tie_rank(data.items, data.item_counts),
        metadata={**state.metadata, "data": data_facts(data)},
    )


def _of_users(learned: Representation, kept: Rows) -> Representation:
    """The representation with the rows `kept` of users, by what its schema says of each tensor."""
    schema, tensors = learned.schema, learned.tensors()
    chosen: dict[str, npt.NDArray[Any]] = dict(tensors)
    for name, one in schema.items():
        if name not in tensors:
            continue
        if one.shape[0] == "users":
            chosen[name] = tensors[name][kept]
        elif one.shape[0] == "users+1":
            places, starts = gather_spans(tensors[name], kept)
            chosen[name] = starts
            cut = schema[one.offsets_of].shape[0]
            pieces = [at for at, other in schema.items() if other.shape[0] == cut and at in tensors]
            chosen |= {at: tensors[at][places] for at in pieces}
    if "n_users" in tensors:
        chosen["n_users"] = np.array([len(kept)])
    if "sizes" in tensors:
        chosen["sizes"] = np.array([len(kept), learned.n_items])
    return type(learned).from_tensors(chosen)
