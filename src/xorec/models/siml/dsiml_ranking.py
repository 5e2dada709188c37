"""How DSIML's codes rank: with an offset for popularity, a shortlist, or float users.

Offset. Codes of one length cannot say that an item is popular. An offset can, for four bits an
item: the number of bits in which it agrees with all users besides, o_i = round(c log2(1 +
count_i)). Whether that helps differs from data to data, so validation chooses c.

Shortlist. Codes find it, the vectors that training started from order it.

Float users. Training fits the users' signs but not the lengths along each bit: a few passes of the
users' step alone, against the fixed signs of the items, learn these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import MOST_OFFSET, Offsets, Words, pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Model, Part, expect, expect_part
from xorec.models.new_rows import updated_codes
from xorec.models.pretraining import folding_model, pretraining_model
from xorec.models.siml.siml import ScaleInvariantStep
from xorec.models.siml.siml_kernels import LossParams
from xorec.models.siml.teacher_lists import with_lists
from xorec.models.triplet_model import fold_in_passes, fold_in_user
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage, TwoStageQueries
from xorec.representations.vectors import Floats, Vectors
from xorec.training.discrete.rotation import unit_rows
from xorec.training.epochs import validation_ndcg, validation_sample
from xorec.training.passes import Pass, Triplets
from xorec.training.rows import Rows

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig
    from xorec.models.siml.optimizers import Start


GRID = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5)
"""What `auto` tries: bits for each time that an item's count doubles."""
WORTH = 1.01
"""The least gain in NDCG@20: an offset takes half a byte an item and some search time."""


def popularity_offsets(c: float, counts: npt.NDArray[np.integer]) -> Offsets:
    """round(c log2(1 + count)) of each item, at most 15.

    >>> popularity_offsets(0.5, np.array([0, 1, 30, 1000]))
    array([0, 0, 2, 5], dtype=uint8)
    """
    offsets = np.rint(c * np.log2(1.0 + counts))
    return np.asarray(np.minimum(offsets, MOST_OFFSET), dtype=np.uint8)


def with_popularity(codes: Codes, c: float, train: Interactions) -> Codes:
    """The codes with offsets by the counts of the training part."""
    offsets = popularity_offsets(c, train.item_counts)
    return Codes(codes.user_rows, codes.item_rows, codes.bits, item_offsets=offsets)


def with_offset(
    codes: Codes, config: DSIMLConfig, train: Interactions, validation: Part, options: RunOptions
) -> tuple[Codes, float]:
    """Codes with an offset, where it is asked for or codes alone are better with it; and c."""
    c = config.offset
    if c == "auto":
        c = choose_offset(codes, train, validation, options) if config.codes_alone else 0.0
    return (with_popularity(codes, c, train) if c else codes), c


def choose_offset(
    codes: Codes, train: Interactions, validation: Part, options: RunOptions
) -> float:
    """The c of GRID with the best NDCG@20 on validation, the least of equals; says which.

    0 where that is less than one per cent better than none, and without a validation part.
    """
    if validation is None:
        return 0.0
    part = validation_sample(validation, options.seed)
    values = {
        c: validation_ndcg(with_popularity(codes, c, train), train, part, options) for c in GRID
    }
    best = max(GRID, key=lambda c: values[c])
    best = best if values[best] > WORTH * values[0.0] else 0.0
    shown = ", ".join(f"{c:g} {values[c]:.4f}" for c in GRID)
    options.progress.note(f"dsiml: offset {best:g} (validation NDCG@20: {shown}).")
    return best


_PASSES, _PASSES_FOR_NEW = 3, 4
_RATE = 0.2
"""The steps of float users: those of codes are longer, because drawn bits are noisy."""


class UserStep(ScaleInvariantStep):
    """The users' step alone."""

    moves_items = False


def refine_users(
    users: Floats, items: Floats, config: DSIMLConfig, start: Start, seed: int, pool: ThreadPool
) -> Floats:
    """Unit vectors of the users (n, d), from `users` on, against the signs of `items` (m, d)."""
    rows = Rows.of(unit_rows(users), np.ones(len(users), dtype=np.float32))
    others = Negatives.of(start.pairs, config.alpha)
    sampler, listed = with_lists(others, config.negatives, start.teacher.lists)
    params = _params(config)._replace(listed=listed)
    step = UserStep(rows, Rows.fixed(unit_codes(items)), params, teacher=start.teacher)
    size = (config.negatives, config.block_size, seed)
    for epoch in range(config.epochs, config.epochs + _PASSES):
        Pass(start.pairs, sampler, *size, epoch, pool).run(lambda block, pairs: step)
    return np.asarray(rows.vectors)


def refine_new_user(
    direction: Floats, history: npt.NDArray[np.integer], codes: Words, config: DSIMLConfig
) -> Floats:
    """The vector (1, d) of a new user who has the items `history`, from `direction` on."""
    passes = list(fold_in_passes(history, len(codes), config.negatives, _PASSES_FOR_NEW))
    rows = np.unique(np.concatenate([np.append(t.positives, t.negatives) for t in passes]))
    rows = rows[rows >= 0]  # -1: there is no item that they do not have
    items = Rows.fixed(unit_codes(unpack_signs(codes[rows], direction.shape[1])))
    among = [Triplets(t.users, *(_numbers(rows, part) for part in t[1:])) for t in passes]
    user, params = Rows.of(unit_rows(direction), np.ones(1, dtype=np.float32)), _params(config)
    return unit_rows(
        fold_in_user(
            among, user, lambda epoch, now: UserStep(now, items, params), _PASSES_FOR_NEW // 2
        )
    )


def unit_codes(rows: npt.NDArray[Any]) -> Floats:
    """sign(row) / sqrt(d): codes as unit vectors."""
    unit = np.float32(1 / np.sqrt(rows.shape[1]))
    return np.where(rows >= 0, unit, -unit).astype(np.float32)


def _numbers(rows: npt.NDArray[np.int32], items: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The position of each item in `rows`; -1 stays."""
    return np.where(items < 0, -1, np.searchsorted(rows, items)).astype(np.int32)


def _params(config: DSIMLConfig) -> LossParams:
    return config.loss_params()._replace(rate=_RATE)


SIZES = (50, 100, 200, 400, 800)
WITHOUT_VALIDATION = 200
_ENOUGH = 0.99
_VALIDATION_USERS = 5_000


def with_reranking(
    codes: Codes,
    vectors: tuple[Floats, Floats],
    config: DSIMLConfig,
    train: Interactions,
    validation: Part,
    options: RunOptions,
) -> tuple[Representation, int]:
    """The codes as they are, or with the vectors that order their shortlist; and its size.

    Asymmetric codes order it themselves: no item vectors are kept.
    """
    size = WITHOUT_VALIDATION if config.shortlist == "auto" else config.shortlist
    if size == 0:
        return codes, 0
    users, items = vectors if codes.user_vectors is None else (codes.user_vectors, None)
    ranking = RankingVectors.of(users, items, config.vector_dtype)
    both = TwoStage(codes, ranking, None, Sources(size))
    if config.shortlist == "auto" and validation is not None:
        size = choose_size(both, train, validation, options)
    return both.with_sources(Sources(size)), size


def choose_size(
    learned: TwoStage, train: Interactions, validation: Interactions, options: RunOptions
) -> int:
    """The smallest size with 99 % of the NDCG@20 of all items in that order; says which."""
    users = np.flatnonzero(validation.user_counts)
    chosen = np.zeros(validation.n_users, dtype=np.bool_)
    chosen[users[:: -(-len(users) // _VALIDATION_USERS)]] = True
    part = validation.select(chosen[validation.user_rows])
    everything = learned.float_vectors or _asymmetric(learned)
    best = validation_ndcg(everything, train, part, options)
    for size in SIZES:
        value = validation_ndcg(learned.with_sources(Sources(size)), train, part, options)
        if value >= _ENOUGH * best:
            break
    share = f"{value:.4f} of {best:.4f}" if best else "no hits at all"
    options.progress.note(f"dsiml: a shortlist of {size} (validation NDCG@20: {share}).")
    return size


def _asymmetric(learned: TwoStage) -> Codes:
    codes, vectors = learned.codes, expect_part(learned.vectors, "vectors")
    return Codes(codes.user_codes, codes.item_codes, codes.bits, vectors.users.floats())


def two_stage_query(
    learned: TwoStage, direction: Floats, history: npt.NDArray[np.integer], config: DSIMLConfig
) -> TwoStageQueries:
    """The query of a new user whose code is the signs of `direction` (1, bits)."""
    vectors, found = learned.float_vectors, direction
    if vectors is not None:
        found = folding_model(config.start).fold_in(vectors, history)
    return TwoStageQueries(pack_signs(direction), found, None)


def updated_two_stage(learned: TwoStage, update: DataUpdate, config: DSIMLConfig) -> TwoStage:
    """Codes and vectors of all users and items; those of the rows of `update` are new."""
    train, kept = update.train, expect_part(learned.vectors, "vectors")
    if kept.items is None:
        codes = updated_codes(_asymmetric(learned), update)
        assert codes.user_vectors is not None
        users = kept.users.grown(train.n_users, update.users, codes.user_vectors[update.users])
        return TwoStage(codes, RankingVectors(users, None), None, learned.sources)
    vectors = updated_vectors(learned, update, pretraining_model(config.start))
    return TwoStage(updated_codes(learned.codes, update), vectors, None, learned.sources)


def updated_vectors(learned: TwoStage, update: DataUpdate, model: Model[Any]) -> RankingVectors:
    """The vectors of the second stage, new rows as `model` makes them."""
    train, kept = update.train, expect_part(learned.vectors, "vectors")
    vectors = expect_part(learned.float_vectors, "vectors of items")
    items = expect_part(kept.items, "vectors of items")
    grown = expect(model.update(vectors, update).representation_, Vectors)
    return RankingVectors(
        kept.users.grown(train.n_users, update.users, grown.user_vectors[update.users]),
        items.grown(train.n_items, update.items, grown.item_vectors[update.items]),
        grown.item_bias,
    )
