"""DSIML in two stages: its codes find a shortlist, the vectors that it started from order it.

Codes that come late are made as in `code_fold_in`. A user's vector is made by SIML's own fold-in;
an item's points where its users stand, less where everybody stands, the shorter the fewer they are.
(On `debian`, a third of the items made anew from their users kept 0.367 of an NDCG@20 of 0.380;
at full length, for any number of users, 0.330.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from xorec.core.bits import pack_signs
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate
from xorec.models.code_fold_in import updated_codes
from xorec.models.pretraining import pretraining_model
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.shortlist import Shortlist
from xorec.representations.vectors import Floats, Vectors
from xorec.training.discrete.rotation import unit_rows

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig

SIZES = (50, 100, 200, 400, 800)
WITHOUT_VALIDATION = 200
_ENOUGH = 0.99
_VALIDATION_USERS = 5_000
_FEW_USERS = 3


def _check(size: Any) -> Any:
    """One message for a union of types."""
    if size == "auto" or (type(size) is int and size >= 0):
        return size
    raise PydanticCustomError("size", "give a whole number, 0 for no shortlist, or auto")


Size = Annotated[int | Literal["auto"], BeforeValidator(_check)]


def with_reranking(
    codes: Codes,
    vectors: tuple[Floats, Floats],
    config: DSIMLConfig,
    train: Interactions,
    validation: Interactions | None,
    options: RunOptions,
) -> tuple[Representation, int]:
    """The codes as they are, or with what orders their shortlist; and its size.

    Asymmetric codes order it themselves: no item vectors are kept.
    """
    size = WITHOUT_VALIDATION if config.shortlist == "auto" else config.shortlist
    if size == 0:
        return codes, 0
    users, items = vectors if codes.user_vectors is None else (codes.user_vectors, None)
    both = Shortlist.of(codes, users, items, size, config.keep)
    if config.shortlist == "auto" and validation is not None:
        size = choose_size(both, train, validation, options)
    return both.with_size(size), size


def choose_size(
    shortlist: Shortlist, train: Interactions, validation: Interactions, options: RunOptions
) -> int:
    """The smallest size with 99 % of the NDCG@20 of all items in that order; says which."""
    from xorec.evaluation.protocol import evaluate

    users = np.flatnonzero(validation.user_counts)
    chosen = np.zeros(validation.n_users, dtype=np.bool_)
    chosen[users[:: -(-len(users) // _VALIDATION_USERS)]] = True
    part = validation.select(chosen[validation.user_rows])
    quiet = replace(options, progress=SILENT)

    def ndcg(ranks: Representation) -> float:
        return evaluate(ranks, train, part, ks=(20,), options=quiet)["ndcg@20"]

    best = ndcg(_everything(shortlist))
    for size in SIZES:
        value = ndcg(shortlist.with_size(size))
        if value >= _ENOUGH * best:
            break
    share = f"{value:.4f} of {best:.4f}" if best else "no hits at all"
    options.progress.note(f"dsiml: a shortlist of {size} (validation NDCG@20: {share}).")
    return size


def _everything(shortlist: Shortlist) -> Representation:
    """All items in the order of the second stage."""
    if shortlist.vectors is not None:
        return shortlist.vectors
    return _asymmetric(shortlist)


def _asymmetric(shortlist: Shortlist) -> Codes:
    codes = shortlist.codes
    return Codes(codes.user_codes, codes.item_codes, codes.bits, shortlist.users.floats())


def two_stage_query(
    shortlist: Shortlist, place: Floats, history: npt.NDArray[np.integer], config: DSIMLConfig
) -> npt.NDArray[np.void]:
    """The query of a new user whose code is the signs of `place` (1, bits)."""
    if shortlist.vectors is None:
        return shortlist.query(pack_signs(place), place)
    return shortlist.query(pack_signs(place), _folded(shortlist.vectors, history, config))


def _folded(vectors: Vectors, history: npt.NDArray[np.integer], config: DSIMLConfig) -> Floats:
    found: Floats = pretraining_model(config.start).fold_in(vectors, history)
    return found


def updated_shortlist(shortlist: Shortlist, update: DataUpdate, config: DSIMLConfig) -> Shortlist:
    """Codes and vectors of all users and items; those of the rows of `update` are made anew."""
    train, kept = update.train, shortlist.users
    if shortlist.items is None:
        codes = updated_codes(_asymmetric(shortlist), update)
        assert codes.user_vectors is not None
        users = kept.grown(train.n_users, update.users, codes.user_vectors[update.users])
        plain = Codes(codes.user_codes, codes.item_codes, codes.bits)
        return Shortlist(plain, users, None, shortlist.size)
    user_vectors, item_vectors = _grown_vectors(shortlist, update, config)
    return Shortlist(
        updated_codes(shortlist.codes, update),
        kept.grown(train.n_users, update.users, user_vectors[update.users]),
        shortlist.items.grown(train.n_items, update.items, item_vectors[update.items]),
        shortlist.size,
    )


def _grown_vectors(
    shortlist: Shortlist, update: DataUpdate, config: DSIMLConfig
) -> tuple[Floats, Floats]:
    """New users from the items of before, new items from their users, then all users."""
    before, train = shortlist.vectors, update.train
    assert before is not None
    size, old_items = before.item_vectors.shape[1], before.n_items
    users = np.zeros((train.n_users, size), dtype=np.float32)
    items = np.zeros((train.n_items, size), dtype=np.float32)
    users[: before.n_users], items[:old_items] = before.user_vectors, before.item_vectors
    for user in update.users[update.users >= before.n_users]:
        history = train.of_user(int(user))
        history = history[history < old_items]
        if len(history):
            users[user] = _folded(before, history, config)[0]
    indptr, owners = train.by_item
    middle = before.user_vectors.mean(axis=0)
    length = np.linalg.norm(before.item_vectors, axis=1).mean()
    for item in update.items:
        theirs = users[owners[indptr[item] : indptr[item + 1]]]
        toward = unit_rows((theirs.mean(axis=0) - middle)[None])[0]
        items[item] = toward * (length * len(theirs) / (len(theirs) + _FEW_USERS))
    grown = Vectors(users, items)
    for user in update.users:
        users[user] = _folded(grown, train.of_user(int(user)), config)[0]
    return users, items
