"""The pairs of a data set that a saved model can be tested on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import kernel
from xorec.data.ids import Ids
from xorec.data.interactions import TEST, VALIDATION, Interactions
from xorec.recommender.state import RecommenderState
from xorec.search.top_k import contains


@kernel
def known_pairs(train: Any, users: Any, items: Any) -> Any:
    """Whether each (users[p], items[p]) is in `train` (indptr, indices ascending in a user)."""
    indptr, indices = train
    found = np.empty(len(users), dtype=np.bool_)
    for pair in range(len(users)):
        u = users[pair]
        found[pair] = contains(indices[indptr[u] : indptr[u + 1]], items[pair])
    return found


_PARTS = {"test": TEST, "validation": VALIDATION}
_KINDS = {"int64": "whole numbers", "int": "whole numbers", "str": "text"}


def unseen_pairs(
    state: RecommenderState, data: Interactions, part: str | None = None
) -> tuple[Interactions, Interactions, list[str]]:
    """(what the model was fitted on, what it can be tested on, what had to be left out and why).

    Both in the rows of the model. part: only this part of the split that the data brought along;
    by default its test part, or all pairs where there is no split.

    >>> import xorec
    >>> from xorec.testing.examples import shop
    >>> data = xorec.read([("cem", "milk"), ("cem", "tea"), ("eve", "tea")])
    >>> train, test, notes = unseen_pairs(shop(), data)
    >>> test.n_pairs, len(notes)
    (1, 2)
    """
    if part is not None and part not in _PARTS:
        raise OptionError(f"part is {part!r}: it is test or validation.")
    if part is not None and data.parts is None:
        raise DataError(f"the data has no split column, so there is no {part} part to take.")
    if data.parts is not None:
        data = data.select(data.parts == _PARTS[part or "test"])
    train = Interactions(state.user_ids, state.item_ids, *state.seen)
    users = state.user_ids.find_many(data.users)[data.user_rows]
    items = state.item_ids.find_many(data.items)[data.indices]
    _refuse_foreign("user", data.users, state.user_ids, users)
    _refuse_foreign("item", data.items, state.item_ids, items)
    known = (users >= 0) & (items >= 0)
    pairs = train.from_rows(train.users, train.items, users[known], items[known])
    seen = known_pairs((train.indptr, train.indices), pairs.user_rows, pairs.indices)
    notes = []
    if not known.all():
        notes.append(f"{np.sum(~known):,} pairs left out: their user or item is not in the model.")
    if seen.any():
        notes.append(f"{seen.sum():,} pairs left out: the model was fitted on them.")
    test = pairs.select(~seen)
    if not test.n_pairs:
        raise DataError(f"nothing to test on is left: {_why_nothing(notes, len(seen))}")
    return train, test, notes


def _why_nothing(notes: list[str], known: int) -> str:
    """Why no pair is left, and how to keep some. known: pairs that were in the fit."""
    if not known:
        return notes[0] if notes else "the data is empty."
    which = f"{notes[0]} the other" if len(notes) > 1 else "all"
    return (
        f"{which} {known:,} pairs are in the model already, it was fitted on them. "
        "`xorec fit --test 0.2` keeps a fifth aside; in Python, `split` first."
    )


def _refuse_foreign(what: str, theirs: Ids, mine: Ids, rows: npt.NDArray[np.int64]) -> None:
    """Refuse data without a user (item) of the model, with ids of both sides."""
    if not len(rows) or (rows >= 0).any():
        return
    kinds = [_KINDS.get(ids.kind, ids.kind) for ids in (theirs, mine)]
    hint = "are they of the same data?"
    if kinds[0] != kinds[1]:
        hint = f"the data's ids are {kinds[0]}, the model's {kinds[1]}, and '1' is not 1."
    raise DataError(
        f"no {what} of the data is in the model. The data has {_few(theirs)}, the model "
        f"{_few(mine)}: {hint}"
    )


def _few(ids: Ids) -> str:
    return ", ".join([*map(repr, ids.take(range(min(3, len(ids))))), "..."])
