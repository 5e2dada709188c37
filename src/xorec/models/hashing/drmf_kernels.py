"""The kernels of DRMF: self-paced weights, and descent on the bound without writing A out.

The bound of `losses.bound` on the triplets of one user or item, for x = scale b_u.(d_j - d_i)
alone: with p = curvature at the present x and w, s of `losses.bound`, A is the sum of p w w' and
half of c the sum of (p s + 1/4) w. For an item w is +-scale b_u: all triplets of a pair are one
row of `coordinate_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, inlined
from xorec.models.hashing.coordinate_kernels import make_scratch, own_rows, settle
from xorec.training.discrete.sweep_kernels import (
    USER,
    apart,
    gather,
    loss_of,
    most_triplets,
    triplet_loss,
)
from xorec.training.discrete.sweep_kernels import make_scratch as make_block
from xorec.training.losses.logistic_kernels import curvature_of


@fast_kernel
def leave_out(
    codes: Any, lists: Any, tables: Any, pace: float, begin: int, end: int, negatives: Any
) -> tuple[int, int]:
    """Write -1 to negatives (P, K) where the triplet's loss is not below `pace`.

    For the pairs [begin, end); returns how many triplets stay, and how many there were.
    """
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    below, there = 0, 0
    for pair in range(begin, end):
        u, i = lists.users[pair], lists.positives[pair]
        for k in range(lists.negatives.shape[1]):
            j = lists.negatives[pair, k]
            if j >= 0:
                there += 1
                if triplet_loss(tables, d, b, u, e, i, e, j) < pace:
                    below += 1
                else:
                    negatives[pair, k] = -1
    return below, there


@fast_kernel
def descend_rows(
    kind: int, rows: Any, codes: Any, lists: Any, tables: Any, scale: float, passes: int,
    Z: Any, gains: Any,
) -> None:  # fmt: skip
    """Coordinate descent on the bound from the codes Z (N, d) of `rows`, in place.

    gains[:, 1]: the loss of each row's triplets at the present codes, where the bound is tight.
    """
    d, most = Z.shape[1], most_triplets(kind, rows, 0, len(rows), lists)
    block, s, none = make_block(most), make_scratch(max(1, most), d), np.zeros((d, d))
    curvatures = np.empty(len(tables.x))
    for place in range(len(curvatures)):
        curvatures[place] = curvature_of(tables.x[place])
    words = codes.b_words if kind == USER else codes.d_words
    for at in range(len(rows)):
        first, n = gather(kind, rows[at], words, rows[at], codes, lists, block)
        gains[at, 1] = loss_of(block, n, tables)
        if n == 0:
            continue
        own = own_rows(s, n)
        for f in range(d):
            s.z[f] = Z[at, f]
        if kind == USER:
            count = _user_rows(s, own, block, n, codes, curvatures, scale)
        else:
            count = _item_rows(s, own, block, first, n, rows[at], codes, tables, curvatures, scale)
        for f in range(d):
            total = 0.0
            for i in range(count):
                total += s.v[i] * own[f, i]
            s.linear[f] = total
        settle(s, own, count, none, 0.0, 0.0, False, passes)
        for f in range(d):
            Z[at, f] = s.z[f]


@fast_helper
def _user_rows(
    s: Any, own: Any, block: Any, n: int, codes: Any, curvatures: Any, scale: float
) -> int:
    """Own rows d_j - d_i, one a triplet; s.v: what each adds to half of c."""
    for t in range(n):
        j, i = block.p[t], block.q[t]
        s.weights[t] = scale * scale * curvatures[block.X[t]]
        s.v[t] = 0.25 * scale
        for f in range(len(s.z)):
            own[f, t] = codes.D[j, f] - codes.D[i, f]
    return n


@fast_helper
def _item_rows(
    s: Any, own: Any, block: Any, first: int, n: int, item: int, codes: Any, tables: Any,
    curvatures: Any, scale: float,
) -> int:  # fmt: skip
    """Own rows b_u, one a pair in the role of the positive, one a triplet in the other."""
    d, count, last = len(s.z), -1, -1
    for t in range(n):
        positive = t < first
        u = block.q[t] if positive else block.p[t]
        if not positive or u != last:
            count, last = count + 1, u
            s.weights[count], s.v[count] = 0.0, 0.0
            _copy(codes.B, u, own, count)
            dot = scale * (d - 2 * apart(codes.b_words, u, codes.d_words, item))
        x, curvature = tables.x[block.X[t]], curvatures[block.X[t]]
        s.weights[count] += scale * scale * curvature
        if positive:
            s.v[count] -= scale * (curvature * (x + dot) + 0.25)
        else:
            s.v[count] += scale * (curvature * (x - dot) + 0.25)
    return count + 1


@inlined
def _copy(codes: Any, row: Any, own: Any, column: Any) -> None:
    for f in range(codes.shape[1]):
        own[f, column] = codes[row, f]
