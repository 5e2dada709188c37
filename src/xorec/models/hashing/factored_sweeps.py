"""What DCF and CCCF share: the pairs of a sweep, and half a sweep over users or items.

Codes have G groups of bits, and an entity has a weight for each group; DCF has one group of
weight 1. Every function here works on rows, real or +1 and -1, of float32 (n, bits).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.hashing.factored_kernels import (
    Entities,
    Rule,
    Side,
    pairs_by_item,
    pairs_by_user,
    solve_rows,
)
from xorec.models.late_rows import signs_of

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer]
_PER_THREAD = 16
_DRAWS, _REAL_PASSES = 4, 10


Sides = tuple[Side, Side]
"""The same pairs by user and by item."""


def sampled(
    train: Interactions, sampler: Negatives, negatives: int, seed: int, epoch: int
) -> Sides:
    """Every positive pair and `negatives` negatives for each, by user and by item.

    A negative that is drawn twice counts twice.
    """
    drawn = sampler.draw_all(negatives, seed, epoch)
    users = Side(*pairs_by_user(train.indptr, train.indices, drawn))
    return users, Side(*pairs_by_item(users.starts, users.pairs, train.n_items))


def of_history(
    items: npt.NDArray[np.int32], n_items: int, negatives: int
) -> tuple[Side, npt.NDArray[np.int32]]:
    """The pairs of one new user, and the item rows (ascending) that they number.

    Every positive counts `_DRAWS` times, each time with negatives of its own: so many draws make
    the user's problem less a matter of luck.
    """
    count = len(items)
    drawn = np.empty((count, _DRAWS * negatives), dtype=np.int32)
    sampler = Negatives(items, np.array([0, count]), n_items)
    sampler.draw(drawn, np.arange(count), np.zeros(count, dtype=np.int32), 0, 0)
    used, places = np.unique(np.concatenate([items, drawn[drawn >= 0]]), return_inverse=True)
    places = places.astype(np.int32)
    pairs = np.concatenate([np.tile(places[:count], _DRAWS), -1 - places[count:]])
    return Side(np.array([0, len(pairs)]), pairs.astype(np.int32)), used


def mixed_weights(weights: Floats) -> Floats:
    """The groups' weights (G,) of somebody with the others that have these (k, G); sum 1."""
    total = weights.sum(axis=0, dtype=np.float64)
    if total.sum() <= 0:
        total = np.ones(weights.shape[1])
    return np.asarray(total / total.sum(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Problem:
    """What every row's problem has in common.

    high, low: the targets of positives and negatives; passes: over the bits, at most; ridge: the
    weight of a real row's squared norm for each of its pairs, by the pair's squared weight.
    """

    high: float
    low: float
    passes: int
    ridge: float

    def rule(self, real: bool) -> Rule:
        """As the kernel takes it, for codes or for real rows."""
        ridge = self.ridge if real else 0.0
        numbers = (np.float32(self.high), np.float32(self.low), np.float32(ridge))
        return Rule(*numbers, self.passes, real)

    def solve(
        self,
        side: Side,
        entities: Entities,
        others: Entities,
        pull: Floats | None,
        pool: ThreadPool,
        *,
        rows: Rows | None = None,
        real: bool = False,
    ) -> tuple[float, int]:
        """Half a sweep: `rows` (or all) of the entities in place, side by side, `others` fixed.

        pull (n, bits): alpha times the balanced rows, where there are any. Returns the sum of
        squared residuals of these rows, and how many entries changed.
        """
        table = entities.rows
        chosen = np.arange(len(table)) if rows is None else np.asarray(rows, dtype=np.int64)
        fixed = others if real else others._replace(rows=others.rows.astype(np.int8))
        pulls = np.zeros_like(table) if pull is None else pull
        found, values = np.empty((len(chosen), table.shape[1]), np.float32), np.zeros(len(chosen))
        rule = self.rule(real)

        def work(begin: int, end: int) -> None:
            part = slice(begin, end)
            given = (chosen[part], side, entities, fixed, pulls, rule)
            solve_rows(*given, found[part], values[part])

        pool.map_ranges(len(chosen), work, per_thread=_PER_THREAD)
        changed = int(np.count_nonzero(table[chosen] != found))
        table[chosen] = found
        return float(values.sum()), changed

    def solve_new(self, side: Side, entities: Entities, others: Entities, rows: Rows) -> None:
        """Codes for rows that have none yet: the best real rows, their signs, then descent."""
        entities.rows[rows] = 0
        real = replace(self, passes=_REAL_PASSES)
        real.solve(side, entities, others, None, ThreadPool(1), rows=rows, real=True)
        entities.rows[rows] = signs_of(entities.rows[rows])
        self.solve(side, entities, others, None, ThreadPool(1), rows=rows)
