"""Float users against item bits: users are refined against the items' signs, now fixed.

Trained codes end with users whose signs fit; their lengths along each bit were never asked for.
A few passes of the users' step alone, items as they are, give them that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, unpack_signs
from xorec.core.threads import ThreadPool
from xorec.data.negatives import Negatives
from xorec.models.siml.siml import ScaleInvariantStep
from xorec.models.siml.siml_kernels import Terms
from xorec.models.siml.teacher_lists import with_lists
from xorec.representations.vectors import Floats
from xorec.training.discrete.rotation import unit_rows
from xorec.training.fold_in import fold_in_passes, fold_in_user
from xorec.training.passes import Pass, Triplets
from xorec.training.rows import Rows

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig
    from xorec.models.siml.optimizers.base import Start

_PASSES, _PASSES_FOR_NEW = 3, 4
_RATE = 0.2
"""Of their steps: those of the codes are longer, because drawn bits are noisy."""


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
    terms = _terms(config)._replace(listed=listed)
    step = UserStep(rows, Rows.fixed(unit_codes(items)), terms, teacher=start.teacher)
    size = (config.negatives, config.block_size, seed)
    for epoch in range(config.epochs, config.epochs + _PASSES):
        Pass(start.pairs, sampler, *size, epoch, pool).run(lambda block, pairs: step)
    return np.asarray(rows.vectors)


def refine_new_user(
    place: Floats, history: npt.NDArray[np.integer], codes: Words, config: DSIMLConfig
) -> Floats:
    """The vector (1, d) of somebody new who has the items `history`, from `place` on."""
    passes = list(fold_in_passes(history, len(codes), config.negatives, _PASSES_FOR_NEW))
    rows = np.unique(np.concatenate([np.append(t.positives, t.negatives) for t in passes]))
    rows = rows[rows >= 0]  # -1: there is no item that they do not have
    items = Rows.fixed(unit_codes(unpack_signs(codes[rows], place.shape[1])))
    among = [Triplets(t.users, *(_places(rows, part) for part in t[1:])) for t in passes]
    user, terms = Rows.of(unit_rows(place), np.ones(1, dtype=np.float32)), _terms(config)
    return unit_rows(
        fold_in_user(
            among, user, lambda epoch, now: UserStep(now, items, terms), _PASSES_FOR_NEW // 2
        )
    )


def unit_codes(rows: npt.NDArray[Any]) -> Floats:
    """sign(row) / sqrt(d): codes as unit vectors."""
    unit = np.float32(1 / np.sqrt(rows.shape[1]))
    return np.where(rows >= 0, unit, -unit).astype(np.float32)


def _places(rows: npt.NDArray[np.int32], items: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Where each item is among `rows`; -1 stays."""
    return np.where(items < 0, -1, np.searchsorted(rows, items)).astype(np.int32)


def _terms(config: DSIMLConfig) -> Terms:
    return config.loss()._replace(rate=_RATE)
