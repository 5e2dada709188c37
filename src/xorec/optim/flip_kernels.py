"""Flip: exact changes of the loss by one bit of a user or an item, and the descent on them.

For one triplet and one role the change takes four values only, by r = z_k p_k and s = z_k q_k of
the bit (`sweep_kernels` has the names). Four values are a polynomial in two signs,

    change_k = a0 + a1 r + a2 s + a3 r s = a0 + z_k (a1 p_k + a2 q_k) + a3 p_k q_k,

so a triplet costs a few looks into the tables and one pass over d numbers for all bits at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from xorec.kernels import fast_kernel, inlined
from xorec.optim.sweep_kernels import (
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
TOGETHER = 4  # triplets added to the sums at once
PATIENCE = 4  # bits in a row that no longer gain before all changes are computed anew


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


@fast_kernel
def _add_together(linear: Any, product: Any, a: Any, p: Any, q: Any) -> None:
    """linear += sum of a1 p + a2 q, product += sum of a3 p q, over four triplets."""
    a10, a11, a12, a13 = a[1, 0], a[1, 1], a[1, 2], a[1, 3]
    a20, a21, a22, a23 = a[2, 0], a[2, 1], a[2, 2], a[2, 3]
    a30, a31, a32, a33 = a[3, 0], a[3, 1], a[3, 2], a[3, 3]
    for f in range(len(linear)):
        p0, p1, p2, p3 = p[0, f], p[1, f], p[2, f], p[3, f]
        q0, q1, q2, q3 = q[0, f], q[1, f], q[2, f], q[3, f]
        one = a10 * p0 + a20 * q0 + a11 * p1 + a21 * q1
        other = a12 * p2 + a22 * q2 + a13 * p3 + a23 * q3
        linear[f] += one + other
        product[f] += (a30 * p0 * q0 + a31 * p1 * q1) + (a32 * p2 * q2 + a33 * p3 * q3)


@inlined
def _put_row(codes: Any, row: Any, target: Any, at: Any) -> None:
    for f in range(codes.shape[1]):
        target[at, f] = codes[row, f]


@fast_kernel
def _add_role(
    role: int,
    block: Any,
    begin: int,
    end: int,
    p_codes: Any,
    q_codes: Any,
    tables: Any,
    linear: Any,
    product: Any,
) -> float:
    """Add the triplets [begin, end) of one role to the sums; return the sum of a0."""
    d, filled, total = len(linear), 0, 0.0
    a = np.zeros((4, TOGETHER))
    p, q = np.zeros((TOGETHER, d), np.int8), np.zeros((TOGETHER, d), np.int8)
    for t in range(begin, end):
        a0, a1, a2, a3 = _coefficients(tables, role, block.X[t], block.Y[t])
        total += a0
        a[1, filled], a[2, filled], a[3, filled] = a1, a2, a3
        _put_row(p_codes, block.p[t], p, filled)
        _put_row(q_codes, block.q[t], q, filled)
        filled += 1
        if filled == TOGETHER:
            _add_together(linear, product, a, p, q)
            filled = 0
    if filled > 0:
        a[:, filled:] = 0
        _add_together(linear, product, a, p, q)
    return total


@fast_kernel
def changes(
    kind: int, z: Any, block: Any, first: int, n: int, codes: Any, tables: Any, sums: Any
) -> None:
    """What flipping each bit of z would change: sums[0] (d,), of scratch sums (3, d)."""
    linear, product = sums[1], sums[2]
    linear[:] = 0
    product[:] = 0
    B, D = codes.B, codes.D
    if kind == USER:
        base = _add_role(AS_USER, block, 0, n, D, D, tables, linear, product)
    else:
        base = _add_role(AS_POSITIVE, block, 0, first, D, B, tables, linear, product)
        base += _add_role(AS_NEGATIVE, block, first, n, B, D, tables, linear, product)
    for f in range(len(z)):
        sums[0, f] = base + z[f] * linear[f] + product[f]


@fast_kernel
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
    word, shift = k >> 6, uint64(k & 63)
    x0, x1, y0, y1 = tables.moves[role]
    total = 0.0
    for t in range(begin, end):
        p = np.int64((p_words[block.p[t], word] >> shift) & uint64(1))
        q = np.int64((q_words[block.q[t], word] >> shift) & uint64(1))
        r, s = z * (2 * p - 1), z * (2 * q - 1)
        X, Y = block.X[t] - x0 * r - x1 * s, block.Y[t] - y0 * r - y1 * s
        places[0, t], places[1, t] = X, Y
        total += tables.loss_x[X] + tables.loss_y[Y]
    return total


@fast_kernel
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


@fast_kernel
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
