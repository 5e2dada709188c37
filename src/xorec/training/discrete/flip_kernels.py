"""Flip: descent of one user's or item's code, bit by bit, on the exact loss of its triplets."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel
from xorec.training.discrete.change_kernels import changes
from xorec.training.discrete.triplet_kernels import (
    AS_NEGATIVE,
    AS_POSITIVE,
    AS_USER,
    LEAST_GAIN,
    USER,
    gather_triplets,
    make_row_triplets,
    most_triplets,
    triplets_loss,
)

FAR = 1e300  # above every change; infinities do not mix with fast sums
PATIENCE = 4  # bits in a row that no longer gain before all changes are computed anew


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
    """The loss of the row's triplets once bit k, now z, is flipped; tried_x, _y: places."""
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
