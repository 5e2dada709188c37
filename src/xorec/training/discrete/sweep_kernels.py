"""What both sweeps need of the triplets of one user or item: the states, the loss, the lists.

A triplet's loss depends on three dot products, and codes have few of those: it is looked up. With
uj, ui, ij the dot products and d bits, a triplet's state is two places in `LossTables`:

    X = (uj - ui)/2 + d + 2                     in x and loss_x, (2d + 5,)
    Y = ((uj + ij)/2 + d + 2, (ui + d)/2 + 1)   in y and loss_y, (2d + 5, d + 3), laid flat

There is room around, so that the places one flip away exist. Call p and q the other two codes of
the triplet, as `losses.bound.role_tables` does. Flipping a bit of z takes, with r = z_k p_k and
s = z_k q_k of that bit and `moves` the role's row,

    X to X - (x0 r + x1 s)        Y to Y - (y0 r + y1 s)

A block is a user (kind 0, role 0) or an item (kind 1, roles 1 and 2: positive and negative).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import uint64

from xorec.core.bits import Words, popcount
from xorec.core.kernels import fast_helper, fast_kernel, inlined, kernel

USER, ITEM = 0, 1
AS_USER, AS_POSITIVE, AS_NEGATIVE = 0, 1, 2
LEAST_GAIN = 1e-9  # a change must gain this share of the block's loss: rounding gains less

Signs = npt.NDArray[np.int8]


class Codes(NamedTuple):
    """Signs (rows, d) and the same in words, of users B and items D."""

    B: Signs
    D: Signs
    b_words: Words
    d_words: Words


class Lists(NamedTuple):
    """The triplets, and which of them hold a user or an item.

    users, positives (P,), negatives (P, K), -1 where there is none. Pairs of user u:
    user_starts[u] to user_starts[u + 1]. Pairs of positive i: a slice of positive_pairs by its
    starts. Users and positives of the triplets of negative j: slices by negative_starts, copied
    because they would lie all over the pairs.
    """

    users: npt.NDArray[np.int32]
    positives: npt.NDArray[np.int32]
    negatives: npt.NDArray[np.int32]
    user_starts: npt.NDArray[np.int64]
    positive_starts: npt.NDArray[np.int64]
    positive_pairs: npt.NDArray[np.int32]
    negative_starts: npt.NDArray[np.int64]
    negative_users: npt.NDArray[np.int32]
    negative_positives: npt.NDArray[np.int32]


class LossTables(NamedTuple):
    """x, y and l(x), lambda l(y) by place; `moves` (3, 4): x0, x1, y0, y1 of each role."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    loss_x: npt.NDArray[np.float64]
    loss_y: npt.NDArray[np.float64]
    moves: npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """The triplets of one block: the rows of p and q, the places X and Y, each (capacity,)."""

    p: npt.NDArray[np.int32]
    q: npt.NDArray[np.int32]
    X: npt.NDArray[np.int32]
    Y: npt.NDArray[np.int32]


@kernel
def sort_positives(positives: Any, starts: Any, pairs: Any) -> None:
    """Counting sort of the pairs by positive: starts (m + 1,), zero at first; pairs (P,)."""
    place = _count(positives, starts)
    for pair in range(len(positives)):
        i = positives[pair]
        pairs[place[i]] = pair
        place[i] += 1


@kernel
def sort_negatives(
    users: Any, positives: Any, negatives: Any, starts: Any, own_users: Any, own_positives: Any
) -> None:
    """The same of the triplets by negative, -1 left out: their users and positives (P * K,)."""
    place = _count(negatives.ravel(), starts)
    for pair in range(len(users)):
        for k in range(negatives.shape[1]):
            j = negatives[pair, k]
            if j >= 0:
                own_users[place[j]], own_positives[place[j]] = users[pair], positives[pair]
                place[j] += 1


@kernel
def _count(rows: Any, starts: Any) -> Any:
    for row in rows:
        if row >= 0:
            starts[row + 1] += 1
    for v in range(len(starts) - 1):
        starts[v + 1] += starts[v]
    return starts[:-1].copy()


@inlined
def apart(one: Any, row: Any, other: Any, column: Any) -> Any:
    """The number of bits in which two codes differ."""
    total = uint64(0)
    for word in range(one.shape[1]):
        total += popcount(one[row, word] ^ other[column, word])
    return np.int64(total)


@inlined
def places_of(d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any) -> Any:
    """X and Y of the triplet of user b[u], positive i_words[i] and negative j_words[j]."""
    uj, ui = apart(b, u, j_words, j), apart(b, u, i_words, i)
    ij = apart(i_words, i, j_words, j)
    return d + 2 + ui - uj, (2 * d + 2 - uj - ij) * (d + 3) + d + 1 - ui


@inlined
def triplet_loss(
    tables: Any, d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any
) -> Any:
    """l(x) + lambda l(y) of that triplet."""
    X, Y = places_of(d, b, u, i_words, i, j_words, j)
    return tables.loss_x[X] + tables.loss_y[Y]


@kernel
def most_triplets(kind: int, rows: Any, begin: int, end: int, lists: Any) -> int:
    """The most triplets that a block of rows[begin:end] has."""
    count, most = lists.negatives.shape[1], 0
    for at in range(begin, end):
        v = rows[at]
        if kind == USER:
            size = count * (lists.user_starts[v + 1] - lists.user_starts[v])
        else:
            size = count * (lists.positive_starts[v + 1] - lists.positive_starts[v])
            size += lists.negative_starts[v + 1] - lists.negative_starts[v]
        most = max(most, size)
    return most


@kernel
def make_scratch(capacity: int) -> Any:
    """Room for the triplets of one block."""
    rows = (np.empty(capacity, np.int32), np.empty(capacity, np.int32))
    places = (np.empty(capacity, np.int32), np.empty(capacity, np.int32))
    return Scratch(rows[0], rows[1], places[0], places[1])


@fast_helper
def gather(
    kind: int, row: int, own: Any, at: int, codes: Any, lists: Any, block: Any
) -> tuple[int, int]:
    """Write the triplets of a user or item `row`: (end of the first role's, end of all).

    own[at]: its code in words, which may be another than its present one.
    """
    b, e = codes.b_words, codes.d_words
    d, count, n = codes.D.shape[1], lists.negatives.shape[1], 0
    if kind == USER:
        for pair in range(lists.user_starts[row], lists.user_starts[row + 1]):
            i = lists.positives[pair]
            for k in range(count):
                j = lists.negatives[pair, k]
                if j >= 0:
                    block.p[n], block.q[n] = j, i
                    block.X[n], block.Y[n] = places_of(d, own, at, e, i, e, j)
                    n += 1
        return n, n
    for place in range(lists.positive_starts[row], lists.positive_starts[row + 1]):
        pair = lists.positive_pairs[place]
        u = lists.users[pair]
        for k in range(count):
            j = lists.negatives[pair, k]
            if j >= 0:
                block.p[n], block.q[n] = j, u
                block.X[n], block.Y[n] = places_of(d, b, u, own, at, e, j)
                n += 1
    first = n
    for place in range(lists.negative_starts[row], lists.negative_starts[row + 1]):
        u, i = lists.negative_users[place], lists.negative_positives[place]
        block.p[n], block.q[n] = u, i
        block.X[n], block.Y[n] = places_of(d, b, u, e, i, own, at)
        n += 1
    return first, n


@fast_helper
def loss_of(block: Any, n: int, tables: Any) -> float:
    """The loss of the n triplets of a block."""
    total = 0.0
    for t in range(n):
        total += tables.loss_x[block.X[t]] + tables.loss_y[block.Y[t]]
    return total


@fast_kernel
def pair_losses(codes: Any, lists: Any, tables: Any, begin: int, end: int) -> float:
    """The loss of the pairs [begin, end) with all their negatives."""
    b, e, d, total = codes.b_words, codes.d_words, codes.D.shape[1], 0.0
    for pair in range(begin, end):
        u, i = lists.users[pair], lists.positives[pair]
        for k in range(lists.negatives.shape[1]):
            j = lists.negatives[pair, k]
            if j >= 0:
                total += triplet_loss(tables, d, b, u, e, i, e, j)
    return total
