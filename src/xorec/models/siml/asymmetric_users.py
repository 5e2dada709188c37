"""Float users against item bits: users settle where the items' signs, now fixed, want them.

Trained codes end with users whose signs fit; their lengths along each bit were never asked for.
A few passes of the users' step alone, items as they are, give them that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, unpack_signs
from xorec.core.threads import ThreadPool
from xorec.data.negatives import Negatives
from xorec.models.siml.siml_steps import Floats, Rows, Steps, Terms, unit_codes
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Pass, Triplets
from xorec.training.row_kernels import SPHERE

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig
    from xorec.models.siml.dsiml_optimizers import Start

_PASSES, _PASSES_FOR_NEW = 3, 4
_RATE = 0.2
"""Of their steps: those of the codes are longer, because drawn bits are noisy."""


class UserSteps(Steps):
    """The users' step alone."""

    def learn_items(self, part: int, parts: int) -> None:
        """Items stay as they are."""

    def finish(self, part: int, parts: int) -> None:
        """Nothing of theirs has changed."""


def settled(
    users: Floats, items: Floats, config: DSIMLConfig, begin: Start, seed: int, pool: ThreadPool
) -> Floats:
    """Unit vectors of the users (n, d), from `users` on, against the signs of `items` (m, d)."""
    own = unit_rows(users)
    rows = Rows.of(own, np.ones(len(own), dtype=np.float32))
    fixed, terms = _fixed(items), _terms(config)
    sampler = Negatives.of(begin.pairs, config.alpha)
    size = (config.negatives, config.block_size, seed)
    for epoch in range(config.epochs, config.epochs + _PASSES):
        run = Pass(begin.pairs, sampler, *size, epoch, pool)
        run.run(lambda t: UserSteps(t, rows, fixed, terms, teacher=begin.teacher))
    return own


def settled_new(
    place: Floats, history: npt.NDArray[np.integer], codes: Words, config: DSIMLConfig
) -> Floats:
    """The vector (1, d) of somebody new who has the items `history`, from `place` on."""
    positives = np.unique(history).astype(np.int32)
    pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
    sampler = Negatives(positives, np.array([0, len(positives)]), len(codes))
    drawn = np.empty((_PASSES_FOR_NEW, len(positives), config.negatives), dtype=np.int32)
    for epoch, negatives in enumerate(drawn):
        sampler.draw(negatives, pairs, owner, 0, epoch)
    met = np.unique(np.append(positives, drawn))
    met = met[met >= 0]  # -1: there is no item that they do not have
    own, total = unit_rows(place), np.zeros_like(place)
    rows = Rows.of(own, np.ones(1, dtype=np.float32))
    fixed, terms = _fixed(unpack_signs(codes[met], place.shape[1])), _terms(config)
    for epoch, negatives in enumerate(drawn):
        among = np.where(negatives < 0, -1, np.searchsorted(met, negatives)).astype(np.int32)
        triplets = Triplets(owner, np.searchsorted(met, positives).astype(np.int32), among)
        UserSteps(triplets, rows, fixed, terms).learn_users(slice(None))
        if 2 * epoch >= _PASSES_FOR_NEW:
            total += own
    return unit_rows(total)


def _fixed(rows: npt.NDArray[Any]) -> Rows:
    """The signs of items that do not move."""
    signs = unit_codes(rows)
    return Rows(signs, signs, np.zeros(0, np.float32), np.zeros(0, np.int64))


def _terms(config: DSIMLConfig) -> Terms:
    return replace(config.loss(), kind=SPHERE, rate=_RATE)
