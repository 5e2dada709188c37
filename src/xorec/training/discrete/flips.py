"""Flip: every user's and item's code descends in the exact loss, bit by bit.

For one triplet and one role the change takes four values only, by r = z_k p_k and s = z_k q_k of
the bit (`problem` has the names). Four values are a polynomial in two signs,

    change_k = a0 + a1 r + a2 s + a3 r s = a0 + z_k (a1 p_k + a2 q_k) + a3 p_k q_k,

so a triplet costs a few looks into the tables and one pass over d numbers for all bits at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, inlined
from xorec.training.discrete.problem import (
    AS_NEGATIVE,
    AS_POSITIVE,
    AS_USER,
    LEAST_GAIN,
    USER,
    Floats,
    Problem,
    Rows,
    Signs,
    gather_triplets,
    make_row_triplets,
    most_triplets,
    triplets_loss,
)

TOGETHER = 8  # rows added to a sum at once: the sum is read and written an eighth as often


@inlined
def _coefficients(tables: Any, role: Any, X: Any, Y: Any) -> Any:
    """a0, a1, a2, a3 of one triplet."""
    fx, fy, moves = tables.loss_x, tables.loss_y, tables.moves
    x_sum, x_apart = moves[role, 0] + moves[role, 1], moves[role, 0] - moves[role, 1]
    y_sum, y_apart = moves[role, 2] + moves[role, 3], moves[role, 2] - moves[role, 3]
    both, neither = fx[X - x_sum] + fy[Y - y_sum], fx[X + x_sum] + fy[Y + y_sum]
    first, second = fx[X - x_apart] + fy[Y - y_apart], fx[X + x_apart] + fy[Y + y_apart]
    even, odd = both + neither, first + second
    up, across = both - neither, first - second
    a0 = 0.25 * (even + odd) - (fx[X] + fy[Y])
    return a0, 0.25 * (up + across), 0.25 * (up - across), 0.25 * (even - odd)


@fast_helper
def _add_rows(total: Any, a: Any, rows: Any) -> None:
    """total += the sum of a_i rows_i, over eight rows; a is zero afterwards."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    a4, a5, a6, a7 = a[4], a[5], a[6], a[7]
    for f in range(len(total)):
        lower = (a0 * rows[0, f] + a1 * rows[1, f]) + (a2 * rows[2, f] + a3 * rows[3, f])
        upper = (a4 * rows[4, f] + a5 * rows[5, f]) + (a6 * rows[6, f] + a7 * rows[7, f])
        total[f] += lower + upper
    for i in range(TOGETHER):
        a[i] = 0.0


@fast_helper
def _add_role(
    role: int, triplets: Any, begin: int, end: int, p_codes: Any, q_codes: Any, tables: Any,
    sums: Any,
) -> float:  # fmt: skip
    """Add the triplets [begin, end) of one role to sums (3, d), of z and of products of signs.

    Returns the sum of a0. Triplets of one pair follow each other and have one q, which is added
    once for all of them.
    """
    linear, product = sums[1], sums[2]
    d, at, q_at, last, total = len(linear), 0, -1, -1, 0.0
    a1, a2, a3 = np.zeros(TOGETHER), np.zeros(TOGETHER), np.zeros(TOGETHER)
    p_rows = np.zeros((TOGETHER, d), np.int8)
    q_rows, pq_rows = np.zeros((TOGETHER, d), np.int8), np.zeros((TOGETHER, d), np.int8)
    for t in range(begin, end):
        p, q = triplets.p[t], triplets.q[t]
        if q != last:
            last = q
            q_at += 1
            if q_at == TOGETHER:
                _add_rows(linear, a2, q_rows)
                q_at = 0
            for f in range(d):
                q_rows[q_at, f] = q_codes[q, f]
        one, with_p, with_q, with_both = _coefficients(tables, role, triplets.X[t], triplets.Y[t])
        total += one
        a1[at], a3[at] = with_p, with_both
        a2[q_at] += with_q
        for f in range(d):
            p_rows[at, f] = p_codes[p, f]
            pq_rows[at, f] = (p_codes[p, f] ^ q_rows[q_at, f]) + np.int8(1)  # the product of signs
        at += 1
        if at == TOGETHER:
            _add_rows(linear, a1, p_rows)
            _add_rows(product, a3, pq_rows)
            at = 0
    _add_rows(linear, a1, p_rows)
    _add_rows(linear, a2, q_rows)
    _add_rows(product, a3, pq_rows)
    return total


@fast_helper
def changes(
    kind: int, z: Any, triplets: Any, ends: tuple[int, int], problem: Any, sums: Any
) -> None:
    """What flipping each bit of z would change: sums[0] (d,), of scratch sums (3, d).

    ends: of the triplets of the first role, and of all (`gather_triplets`).
    """
    B, D, tables = problem.codes.B, problem.codes.D, problem.tables
    first, n = ends
    for f in range(len(z)):
        sums[1, f], sums[2, f] = 0.0, 0.0
    if kind == USER:
        base = _add_role(AS_USER, triplets, 0, n, D, D, tables, sums)
    else:
        base = _add_role(AS_POSITIVE, triplets, 0, first, D, B, tables, sums)
        base += _add_role(AS_NEGATIVE, triplets, first, n, B, D, tables, sums)
    for f in range(len(z)):
        sums[0, f] = base + z[f] * sums[1, f] + sums[2, f]


FAR = 1e300  # above every change; infinities do not mix with fast sums
PATIENCE = 4  # bits in a row that no longer gain before all changes are computed again


@fast_helper
def _try_role(
    role: int, z: int, k: Any, triplets: Any, ends: tuple[int, int], p_words: Any, q_words: Any,
    tables: Any,
) -> float:  # fmt: skip
    """The loss of the triplets from ends[0] to ends[1] once bit k, now z, is flipped."""
    word, shift, one = k >> 6, np.uint64(k & 63), np.uint64(1)
    steps = np.empty((2, 4), np.int32)  # of X and Y, by the bits of p (1) and q (2)
    for p in range(2):
        for q in range(2):
            r, s = z * (2 * p - 1), z * (2 * q - 1)
            steps[0, p + 2 * q] = tables.moves[role, 0] * r + tables.moves[role, 1] * s
            steps[1, p + 2 * q] = tables.moves[role, 2] * r + tables.moves[role, 3] * s
    total = 0.0
    for t in range(ends[0], ends[1]):
        p_bit = (p_words[triplets.p[t], word] >> shift) & one
        q_bit = (q_words[triplets.q[t], word] >> shift) & one
        bits = p_bit | (q_bit << one)
        X, Y = triplets.X[t] - steps[0, bits], triplets.Y[t] - steps[1, bits]
        triplets.tried_x[t], triplets.tried_y[t] = X, Y
        total += tables.loss_x[X] + tables.loss_y[Y]
    return total


@fast_helper
def _try_bit(
    kind: int, z: int, k: Any, triplets: Any, ends: tuple[int, int], problem: Any
) -> float:
    """The loss of the row's triplets once bit k, now z, is flipped; tried_x, _y: offsets."""
    b, e, tables = problem.codes.b_words, problem.codes.d_words, problem.tables
    first, n = ends
    if kind == USER:
        return _try_role(AS_USER, z, k, triplets, (0, n), e, e, tables)
    total = _try_role(AS_POSITIVE, z, k, triplets, (0, first), e, b, tables)
    return total + _try_role(AS_NEGATIVE, z, k, triplets, (first, n), b, e, tables)


@fast_helper
def descend(
    kind: int, z: Any, triplets: Any, ends: tuple[int, int], problem: Any, sums: Any,
    rounds: int, most: int,
) -> tuple[float, float]:  # fmt: skip
    """Flip bits of z (d,), in place, while one gains: (change of the loss, loss before).

    Each round computes all changes, flips the best bit, and then tries the next best ones, each
    by its exact change at the code of that moment. At most `rounds` rounds and `most` flips.
    """
    n = ends[1]
    before = triplets_loss(triplets, n, problem.tables)
    loss, least, flips = before, LEAST_GAIN * before, 0
    for _ in range(rounds):
        changes(kind, z, triplets, ends, problem, sums)
        change, failed, gained = sums[0], 0, False
        while failed < PATIENCE and flips < most:
            k = np.argmin(change)
            if change[k] >= -least:
                break
            change[k] = FAR
            after = _try_bit(kind, z[k], k, triplets, ends, problem)
            if after < loss - least:
                for t in range(n):
                    triplets.X[t], triplets.Y[t] = triplets.tried_x[t], triplets.tried_y[t]
                z[k] = -z[k]
                loss, gained, failed = after, True, 0
                flips += 1
            else:
                failed += 1
        if not gained or flips >= most:
            break
    return loss - before, before


@fast_kernel
def flip_rows(
    kind: int, rows: Any, problem: Any, rounds: int, most: int, Z: Any, gains: Any
) -> None:
    """Descend from the present codes Z (N, d) of the rows, in place; gains (N, 2): as `descend`.

    Nothing else is written.
    """
    triplets = make_row_triplets(most_triplets(kind, rows, problem.lists))
    words = problem.codes.b_words if kind == USER else problem.codes.d_words
    sums = np.empty((3, Z.shape[1]))
    for at in range(len(rows)):
        ends = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        gains[at, 0], gains[at, 1] = descend(
            kind, Z[at], triplets, ends, problem, sums, rounds, most
        )


_ROUNDS = 16


@dataclass(frozen=True)
class Flips:
    """Proposes the codes that descent by single bits ends at.

    moves: bits that one code may flip, at most; None for no limit.
    """

    moves: int | None = None
    rounds: int = _ROUNDS

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """As `sweeps.Proposer`."""
        Z, gains = problem.codes.signs(kind)[rows], np.zeros((len(rows), 2))
        most = 2**31 - 1 if self.moves is None else self.moves
        flip_rows(kind, rows, problem, self.rounds, most, Z, gains)
        return Z, gains
