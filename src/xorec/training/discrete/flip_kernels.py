"""Flip: descent of one user's or item's code, bit by bit, on the exact loss of its triplets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from xorec.core.kernels import fast_helper, fast_kernel
from xorec.training.discrete.change_kernels import changes
from xorec.training.discrete.sweep_kernels import (
    AS_NEGATIVE,
    AS_POSITIVE,
    AS_USER,
    LEAST_GAIN,
    USER,
    gather,
    loss_of,
    make_scratch,
    most_triplets,
)

FAR = 1e300  # above every change; infinities do not mix with fast sums
PATIENCE = 4  # bits in a row that no longer gain before all changes are computed anew


@fast_helper
def _try_role(
    role: int,
    z: int,
    k: Any,
    block: Any,
    begin: int,
    end: int,
    p_words: Any,
    q_words: Any,
    tables: Any,
    places: Any,
) -> float:
    """The loss of the triplets [begin, end) once bit k is flipped; their places then."""
    word, shift, one = k >> 6, uint64(k & 63), uint64(1)
    steps = np.empty((2, 4), np.int32)  # of X and Y, by the bits of p (1) and q (2)
    for p in range(2):
        for q in range(2):
            r, s = z * (2 * p - 1), z * (2 * q - 1)
            steps[0, p + 2 * q] = tables.moves[role, 0] * r + tables.moves[role, 1] * s
            steps[1, p + 2 * q] = tables.moves[role, 2] * r + tables.moves[role, 3] * s
    total = 0.0
    for t in range(begin, end):
        p_bit = (p_words[block.p[t], word] >> shift) & one
        q_bit = (q_words[block.q[t], word] >> shift) & one
        bits = p_bit | (q_bit << one)
        X, Y = block.X[t] - steps[0, bits], block.Y[t] - steps[1, bits]
        places[0, t], places[1, t] = X, Y
        total += tables.loss_x[X] + tables.loss_y[Y]
    return total


@fast_helper
def _try_bit(
    kind: int,
    z: int,
    k: Any,
    block: Any,
    first: int,
    n: int,
    codes: Any,
    tables: Any,
    places: Any,
) -> float:
    """The loss of the block once bit k, now z, is flipped; places (2, n): X and Y then."""
    b, e = codes.b_words, codes.d_words
    if kind == USER:
        return _try_role(AS_USER, z, k, block, 0, n, e, e, tables, places)
    total = _try_role(AS_POSITIVE, z, k, block, 0, first, e, b, tables, places)
    return total + _try_role(AS_NEGATIVE, z, k, block, first, n, b, e, tables, places)


@fast_helper
def descend(
    kind: int,
    z: Any,
    block: Any,
    first: int,
    n: int,
    codes: Any,
    tables: Any,
    sums: Any,
    places: Any,
    rounds: int,
    most: int,
) -> tuple[float, float]:
    """Flip bits of z (d,), in place, while one gains: (change of the loss, loss before).

    Each round computes all changes, flips the best bit, and then tries the next best ones, each
    by its exact change at the code of that moment. At most `rounds` rounds and `most` flips.
    """
    before = loss_of(block, n, tables)
    loss, least, flips = before, LEAST_GAIN * before, 0
    for _ in range(rounds):
        changes(kind, z, block, first, n, codes, tables, sums)
        change, failed, gained = sums[0], 0, False
        while failed < PATIENCE and flips < most:
            k = np.argmin(change)
            if change[k] >= -least:
                break
            change[k] = FAR
            after = _try_bit(kind, z[k], k, block, first, n, codes, tables, places)
            if after < loss - least:
                for t in range(n):
                    block.X[t], block.Y[t] = places[0, t], places[1, t]
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
    kind: int,
    rows: Any,
    begin: int,
    end: int,
    codes: Any,
    lists: Any,
    tables: Any,
    rounds: int,
    most: int,
    Z: Any,
    gains: Any,
) -> None:
    """Descend from the codes of rows[begin:end] into Z (N, d); gains (N, 2) as `descend` gives.

    Z holds their present codes; nothing else is written.
    """
    capacity = most_triplets(kind, rows, begin, end, lists)
    block, places = make_scratch(capacity), np.empty((2, capacity), np.int32)
    sums, own = np.empty((3, Z.shape[1])), codes.b_words if kind == USER else codes.d_words
    for at in range(begin, end):
        first, n = gather(kind, rows[at], own, rows[at], codes, lists, block)
        gains[at, 0], gains[at, 1] = descend(
            kind, Z[at], block, first, n, codes, tables, sums, places, rounds, most
        )
