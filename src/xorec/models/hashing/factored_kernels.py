"""Sweeps of DCF and CCCF: the sampled pairs by row, and the problem of each row.

A row z (b_u or d_v) has pairs p with targets s_p and rows o_p of the other side. Its objective is

    sum over p of (s_p - sum over k of a_k z_k o_pk)^2 - 2 pull.z    (+ sum over k of h_k z_k^2)

with a_k = scale[g(k)], the weight of the group that bit k belongs to. The residuals e_p are kept up
to date, so no matrix A is formed: in bit k alone the objective is q z^2 - 2 g z + rest, with

    q = a_k^2 sum_p o_pk^2,   g = a_k sum_p o_pk e_p + q z_k + pull_k,

and the best z_k is sign(g) (a bit stays where g = 0), or g / (q + h_k) for real rows, which have a
ridge h_k: `ridge` times the sum of the pairs' squared weights (their number, for weights 1). So it
is coordinate descent on A = O'O, c = -2 (O's + pull), at the cost of pairs x bits a pass.

Codes have G groups of bits, and an entity has a weight for each group; DCF has one group of
weight 1. Rows are, real or +1 and -1, float32 (n, bits).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_helper, fast_kernel
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.new_rows import signs_of
from xorec.training.blocks import counting_order

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer]
_ROUNDING = np.float32(1e-6)
_APART = 16  # between the columns of the buffer: a power of two would put them on one cache line
_PER_THREAD = 16
_DRAWS, _REAL_PASSES = 4, 10


class Side(NamedTuple):
    """The pairs of each row: pairs[starts[r]:starts[r + 1]], j for a positive, -1 - j else."""

    starts: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int32]

    def positives(self, row: int) -> npt.NDArray[np.int32]:
        """The others that this row has."""
        pairs = self.pairs[self.starts[row] : self.starts[row + 1]]
        return pairs[pairs >= 0]


class Entities(NamedTuple):
    """Users or items: rows (n, bits), float32 or codes in int8, and weights of groups (n, G)."""

    rows: npt.NDArray[Any]
    weights: npt.NDArray[np.float32]


class RowRule(NamedTuple):
    """How a row is solved.

    high, low: the targets of positives and negatives; ridge: the weight of a real row's squared
    norm for each of its pairs, by the pair's squared weight; passes: over the bits, at most; real:
    numbers, not signs.
    """

    high: np.float32
    low: np.float32
    ridge: np.float32
    passes: int
    real: bool = False


@fast_kernel
def solve_rows(
    rows: Any, side: Any, entities: Any, others: Any, pull: Any, rule: Any, found: Any, values: Any
) -> None:
    """The new rows found (rows, bits) of the entities `rows`, by coordinate descent from theirs.

    pull (n, bits). values (rows,): the sum of e_p^2 at the end.
    """
    size, groups = entities.rows.shape[1], entities.weights.shape[1]
    each = size // groups
    longest = 0
    for row in rows:
        longest = max(longest, side.starts[row + 1] - side.starts[row])
    room = np.empty(size * (longest + _APART), dtype=np.float32)
    residuals = np.empty(longest + _APART, dtype=np.float32)
    squares = np.empty(size, dtype=np.float32)
    ridges = np.empty(groups, dtype=np.float32)
    for at in range(len(rows)):
        row = rows[at]
        pairs = side.pairs[side.starts[row] : side.starts[row + 1]]
        count, scale, z = len(pairs), entities.weights[row], found[at]
        for k in range(size):
            z[k] = entities.rows[row, k]
        columns = room[: size * (count + _APART)].reshape(size, count + _APART)
        _gather(pairs, others, z, scale, rule, columns, residuals)
        for k in range(size):
            if rule.real or k % each == 0:
                a, column, total = scale[k // each], columns[k], np.float32(0)
                for p in range(count):
                    total += column[p] * column[p]
                squares[k] = a * a * total
            else:  # the entries of codes are as long in all bits of a group
                squares[k] = squares[k - 1]
        _add_ridges(pairs, others.weights, scale, rule, ridges)
        for _ in range(rule.passes):
            if not _pass(z, columns, residuals, squares, scale, ridges, pull[row], rule.real):
                break
        value = 0.0
        for p in range(count):
            value += residuals[p] * residuals[p]
        values[at] = value


@fast_helper
def _gather(
    pairs: Any, others: Any, z: Any, scale: Any, rule: Any, columns: Any, residuals: Any
) -> None:
    """The other side's rows as columns (bits, pairs), and the residuals."""
    size = len(z)
    each = size // len(scale)
    weighed = np.empty(size, dtype=np.float32)
    for k in range(size):
        weighed[k] = scale[k // each] * z[k]
    tile = np.empty((_APART, size), dtype=np.float32)
    for begin in range(0, len(pairs), _APART):
        for t in range(min(_APART, len(pairs) - begin)):
            positive = pairs[begin + t] >= 0
            at = pairs[begin + t] if positive else -1 - pairs[begin + t]
            other, total = others.rows[at], np.float32(0)
            for g in range(len(scale)):
                group = slice(g * each, (g + 1) * each)
                given, mixed, kept = other[group], weighed[group], tile[t, group]
                weight = others.weights[at, g]
                for k in range(each):
                    value = weight * np.float32(given[k])
                    total += mixed[k] * value
                    kept[k] = value
            residuals[begin + t] = (rule.high if positive else rule.low) - total
        for k in range(size):
            for t in range(_APART):
                columns[k, begin + t] = tile[t, k]


@fast_helper
def _add_ridges(pairs: Any, weights: Any, scale: Any, rule: Any, ridges: Any) -> None:
    """The ridge of each group of a real row."""
    for g in range(len(scale)):
        ridges[g] = 0
    if rule.real and rule.ridge > 0:
        for p in range(len(pairs)):
            at = pairs[p] if pairs[p] >= 0 else -1 - pairs[p]
            for g in range(len(scale)):
                weight = scale[g] * weights[at, g]
                ridges[g] += rule.ridge * weight * weight


@fast_helper
def _pass(
    z: Any, columns: Any, residuals: Any, squares: Any, scale: Any, ridges: Any, pull: Any,
    real: bool,
) -> bool:  # fmt: skip
    """One pass over the bits; whether anything changed."""
    each, count = len(z) // len(scale), columns.shape[1] - _APART
    moved = False
    for k in range(len(z)):
        a, column, total = scale[k // each], columns[k], np.float32(0)
        for p in range(count):
            total += column[p] * residuals[p]
        slope = a * total + squares[k] * z[k] + pull[k]
        step = np.float32(0)
        if real:
            weight = squares[k] + ridges[k // each]
            if weight > np.float32(0):
                step = slope / weight - z[k]
        elif slope * z[k] < -_ROUNDING * squares[k]:
            step = -z[k] - z[k]
        if step != np.float32(0):
            moved = True
            z[k] += step
            step *= a
            for p in range(count):
                residuals[p] -= step * column[p]
    return moved


Sides = tuple[Side, Side]
"""The same pairs by user and by item."""


def sampled(
    train: Interactions, sampler: Negatives, negatives: int, seed: int, epoch: int
) -> Sides:
    """Every positive pair and `negatives` negatives for each, by user and by item.

    A negative that is drawn twice counts twice.
    """
    drawn = sampler.draw_all(negatives, seed, epoch)
    there = np.column_stack([np.ones(train.n_pairs, dtype=np.bool_), drawn >= 0])
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])[train.indptr]
    users = Side(starts, np.column_stack([train.indices, -1 - drawn])[there])
    return users, by_other(users, train.n_items)


def by_other(side: Side, n_others: int) -> Side:
    """The same pairs by the other side."""
    order, starts = counting_order(np.where(side.pairs >= 0, side.pairs, -1 - side.pairs), n_others)
    rows = np.repeat(np.arange(len(side.starts) - 1, dtype=np.int32), np.diff(side.starts))[order]
    return Side(starts, np.where(side.pairs[order] >= 0, rows, -1 - rows))


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
    used, rows = np.unique(np.concatenate([items, drawn[drawn >= 0]]), return_inverse=True)
    pairs = np.concatenate([np.tile(rows[:count], _DRAWS), -1 - rows[count:]])
    return Side(np.array([0, len(pairs)]), pairs.astype(np.int32)), used


def mixed_weights(weights: Floats) -> Floats:
    """The groups' weights (G,) of a row whose others have these (k, G); their sum is 1."""
    total = weights.sum(axis=0, dtype=np.float64)
    if total.sum() <= 0:
        total = np.ones(weights.shape[1])
    return np.asarray(total / total.sum(), dtype=np.float32)


def solve(
    rule: RowRule,
    side: Side,
    entities: Entities,
    others: Entities,
    pull: Floats | None,
    pool: ThreadPool,
    rows: Rows | None = None,
) -> tuple[float, int]:
    """Half a sweep: `rows` (or all) of the entities in place, side by side, `others` fixed.

    pull (n, bits): alpha times the balanced rows, where there are any. Returns the sum of squared
    residuals of these rows, and how many entries changed.
    """
    table = entities.rows
    chosen = np.arange(len(table)) if rows is None else np.asarray(rows, dtype=np.int64)
    fixed = others if rule.real else others._replace(rows=others.rows.astype(np.int8))
    pulls = np.zeros_like(table) if pull is None else pull
    found, values = np.empty((len(chosen), table.shape[1]), np.float32), np.zeros(len(chosen))

    def work(begin: int, end: int) -> None:
        part = slice(begin, end)
        solve_rows(chosen[part], side, entities, fixed, pulls, rule, found[part], values[part])

    pool.map_ranges(len(chosen), work, per_thread=_PER_THREAD)
    changed = int(np.count_nonzero(table[chosen] != found))
    table[chosen] = found
    return float(values.sum()), changed


def solve_new(rule: RowRule, side: Side, entities: Entities, others: Entities, rows: Rows) -> None:
    """Codes for rows that have none yet: the best real rows, their signs, then descent."""
    entities.rows[rows] = 0
    real = rule._replace(passes=_REAL_PASSES, real=True)
    solve(real, side, entities, others, None, ThreadPool(1), rows)
    entities.rows[rows] = signs_of(entities.rows[rows])
    solve(rule, side, entities, others, None, ThreadPool(1), rows)
