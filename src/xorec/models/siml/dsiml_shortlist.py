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
from xorec.models.base import DataUpdate, Model, expect, expect_part
from xorec.models.code_fold_in import updated_codes
from xorec.models.pretraining import folding_model, pretraining_model
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.two_stage_queries import TwoStageQueries
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
    both = TwoStage(codes, RankingVectors.of(users, items, config.keep), None, Sources(size))
    if config.shortlist == "auto" and validation is not None:
        size = choose_size(both, train, validation, options)
    return both.with_sources(Sources(size)), size


def choose_size(
    learned: TwoStage, train: Interactions, validation: Interactions, options: RunOptions
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

    best = ndcg(_everything(learned))
    for size in SIZES:
        value = ndcg(learned.with_sources(Sources(size)))
        if value >= _ENOUGH * best:
            break
    share = f"{value:.4f} of {best:.4f}" if best else "no hits at all"
    options.progress.note(f"dsiml: a shortlist of {size} (validation NDCG@20: {share}).")
    return size


def _everything(learned: TwoStage) -> Representation:
    """All items in the order of the second stage."""
    return learned.float_vectors or _asymmetric(learned)


def _asymmetric(learned: TwoStage) -> Codes:
    codes, vectors = learned.codes, expect_part(learned.vectors, "vectors")
    return Codes(codes.user_codes, codes.item_codes, codes.bits, vectors.users.floats())


def two_stage_query(
    learned: TwoStage, place: Floats, history: npt.NDArray[np.integer], config: DSIMLConfig
) -> TwoStageQueries:
    """The query of a new user whose code is the signs of `place` (1, bits)."""
    vectors = learned.float_vectors
    found = place if vectors is None else _folded(vectors, history, config)
    return TwoStageQueries(pack_signs(place), found, None)


def _folded(vectors: Vectors, history: npt.NDArray[np.integer], config: DSIMLConfig) -> Floats:
    found: Floats = folding_model(config.start).fold_in(vectors, history)
    return found


def updated_two_stage(learned: TwoStage, update: DataUpdate, config: DSIMLConfig) -> TwoStage:
    """Codes and vectors of all users and items; those of the rows of `update` are made anew."""
    train, kept = update.train, expect_part(learned.vectors, "vectors")
    if kept.items is None:
        codes = updated_codes(_asymmetric(learned), update)
        assert codes.user_vectors is not None
        users = kept.users.grown(train.n_users, update.users, codes.user_vectors[update.users])
        return TwoStage(codes, RankingVectors(users, None), None, learned.sources)
    vectors = updated_vectors(learned, update, pretraining_model(config.start))
    return TwoStage(updated_codes(learned.codes, update), vectors, None, learned.sources)


def updated_vectors(learned: TwoStage, update: DataUpdate, model: Model[Any]) -> RankingVectors:
    """The vectors of the second stage, late rows as `model` makes them."""
    train, kept = update.train, expect_part(learned.vectors, "vectors")
    vectors = expect_part(learned.float_vectors, "vectors of items")
    items = expect_part(kept.items, "vectors of items")
    grown = expect(model.update(vectors, update).representation_, Vectors)
    return RankingVectors(
        kept.users.grown(train.n_users, update.users, grown.user_vectors[update.users]),
        items.grown(train.n_items, update.items, grown.item_vectors[update.items]),
        grown.item_bias,
    )
