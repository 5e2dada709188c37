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

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer]
_PER_THREAD = 16
_DRAWS, _REAL_PASSES = 4, 10


@dataclass(frozen=True, eq=False)
class Side:
    """The pairs of each row: pairs[starts[r]:starts[r + 1]], j for a positive, -1 - j else."""

    starts: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int32]

    def positives(self, row: int) -> npt.NDArray[np.int32]:
        """The others that this row has."""
        own = self.pairs[self.starts[row] : self.starts[row + 1]]
        return own[own >= 0]


Sides = tuple[Side, Side]
"""The same pairs by user and by item."""


def sampled(
    train: Interactions, sampler: Negatives, negatives: int, seed: int, epoch: int
) -> Sides:
    """Every positive pair and `negatives` negatives for each, by user and by item.

    A negative that is drawn twice counts twice.
    """
    from xorec.models.hashing.factored_kernels import pairs_by_user, turned_round

    drawn = sampler.draw_all(negatives, seed, epoch)
    users = Side(*pairs_by_user(train.indptr, train.indices, drawn))
    return users, Side(*turned_round(users.starts, users.pairs, train.n_items))


def of_history(
    own: npt.NDArray[np.int32], n_items: int, negatives: int
) -> tuple[Side, npt.NDArray[np.int32]]:
    """The pairs of one new user, and the item rows (ascending) that they number.

    Every positive counts `_DRAWS` times, each time with negatives of its own: so many draws make
    the user's problem less a matter of luck.
    """
    drawn = np.empty((len(own), _DRAWS * negatives), dtype=np.int32)
    sampler = Negatives(own, np.array([0, len(own)]), n_items)
    sampler.draw(drawn, np.arange(len(own)), np.zeros(len(own), dtype=np.int32), 0, 0)
    lacked = drawn[drawn >= 0]
    met, places = np.unique(np.concatenate([own, lacked]), return_inverse=True)
    places = places.astype(np.int32)
    pairs = np.concatenate([np.tile(places[: len(own)], _DRAWS), -1 - places[len(own) :]])
    return Side(np.array([0, len(pairs)]), pairs.astype(np.int32)), met


def mixed_weights(weights: Floats) -> Floats:
    """The groups' weights (G,) of somebody with the others that have these (k, G); sum 1."""
    total = weights.sum(axis=0, dtype=np.float64)
    if total.sum() <= 0:
        total = np.ones(weights.shape[1])
    return np.asarray(total / total.sum(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Entities:
    """Users or items: their rows (n, bits) and the weights (n, G) of their groups."""

    rows: Floats
    weights: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """How a row is solved.

    high, low: the targets of positives and negatives; passes: over the bits, at most; ridge: the
    weight of a real row's squared norm for each of its pairs, by the pair's own squared weight.
    """

    high: float
    low: float
    passes: int
    ridge: float

    def solve(
        self,
        side: Side,
        own: Entities,
        others: Entities,
        pull: Floats | None,
        pool: ThreadPool,
        *,
        rows: Rows | None = None,
        real: bool = False,
    ) -> tuple[float, int]:
        """Half a sweep: `rows` (or all) of `own` in place, one after another or side by side.

        pull (n, bits): alpha times the balanced rows, where there are any. Returns the sum of
        squared residuals of these rows, and how many entries changed.
        """
        from xorec.models.hashing.factored_kernels import solve_rows

        chosen = np.arange(len(own.rows)) if rows is None else np.asarray(rows, dtype=np.int64)
        facing = others.rows if real else others.rows.astype(np.int8)
        pulls = np.zeros_like(own.rows) if pull is None else pull
        values, turned = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.int64)
        targets = (np.float32(self.high), np.float32(self.low))
        ridge = np.float32(self.ridge if real else 0)

        def work(begin: int, end: int) -> None:
            part = slice(begin, end)
            given = (chosen[part], side.starts, side.pairs, facing, others.weights)
            how = (own.weights, pulls, *targets, self.passes, real, ridge)
            solve_rows(*given, *how, own.rows, values[part], turned[part])

        pool.map_ranges(len(chosen), work, per_thread=_PER_THREAD)
        return float(values.sum()), int(turned.sum())

    def settle(self, side: Side, own: Entities, others: Entities, rows: Rows) -> None:
        """Codes for rows that have none yet: the best real rows, their signs, then descent."""
        own.rows[rows] = 0
        real = replace(self, passes=_REAL_PASSES)
        real.solve(side, own, others, None, ThreadPool(1), rows=rows, real=True)
        own.rows[rows] = signs(own.rows[rows])
        self.solve(side, own, others, None, ThreadPool(1), rows=rows)


def signs(rows: Floats) -> Floats:
    """+1 where an entry is not negative, else -1."""
    return np.where(rows >= 0, np.float32(1), np.float32(-1))
