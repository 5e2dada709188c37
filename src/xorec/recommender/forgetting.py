"""Forgetting: a recommender without some of its users. Items stay as they were learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.data.interactions import Interactions
from xorec.data.text import gather_spans
from xorec.data.tie_rank import tie_rank
from xorec.recommender.state import RecommenderState
from xorec.representations.base import Representation

Rows = npt.NDArray[np.int64]
State = TypeVar("State", bound=RecommenderState)


def without_users(state: State, users: Iterable[Hashable]) -> State:
    """The same without these users: their ids, histories, codes and vectors are gone.

    What items have learned from them stays. Ids that are not there are passed over; somebody has
    to be left.

    >>> from xorec.testing.examples import shop
    >>> len(without_users(shop(), ["ann", "nobody"]).users)
    3
    """
    gone = state.users.find_many(users)
    kept = np.setdiff1d(np.arange(len(state.users)), gone)
    if len(kept) == len(state.users):
        return state
    if not len(kept):
        raise DataError("nobody would be left in the model: fit a new one, or delete the file.")
    indptr, seen = state.seen
    places, starts = gather_spans(indptr, kept)
    data = Interactions(state.users.select(kept), state.items, starts, seen[places])
    about = {
        "users": data.n_users,
        "items": data.n_items,
        "pairs": data.n_pairs,
        "digest": data.digest(),
    }
    return replace(
        state,
        representation=_of_users(state.representation, kept),
        users=data.users,
        seen=(data.indptr, data.indices),
        prior=data.item_counts,
        tie_rank=tie_rank(data.items, data.item_counts),
        metadata={**state.metadata, "data": about},
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
