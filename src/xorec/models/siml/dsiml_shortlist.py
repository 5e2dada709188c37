"""DSIML in two stages: its codes find a shortlist, the vectors that it started from order it.

What comes late is made as in `code_fold_in` and, of the vectors, as in `vector_update`.
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

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig

SIZES = (50, 100, 200, 400, 800)
WITHOUT_VALIDATION = 200
_ENOUGH = 0.99
_VALIDATION_USERS = 5_000


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
    assert shortlist.vectors is not None
    grown = pretraining_model(config.start).update(shortlist.vectors, update).representation_
    assert isinstance(grown, Vectors)
    return Shortlist(
        updated_codes(shortlist.codes, update),
        kept.grown(train.n_users, update.users, grown.user_vectors[update.users]),
        shortlist.items.grown(train.n_items, update.items, grown.item_vectors[update.items]),
        shortlist.size,
    )
