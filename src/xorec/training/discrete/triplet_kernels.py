"""The triplets of one user or item: gathering them, and their loss (`problem` has the names).

A row is a user (kind 0, role 0) or an item (kind 1, roles 1 and 2: positive and negative).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import popcount
from xorec.core.kernels import fast_helper, fast_kernel, inlined, kernel

USER, ITEM = 0, 1
AS_USER, AS_POSITIVE, AS_NEGATIVE = 0, 1, 2
LEAST_GAIN = 1e-9  # a change must gain this share of the row's loss: rounding gains less

Places = npt.NDArray[np.int32]


class RowTriplets(NamedTuple):
    """The triplets of one row: the rows of p and q, the places X and Y, each (capacity,).

    tried_x, tried_y: places that are tried.
    """

    p: Places
    q: Places
    X: Places
    Y: Places
    tried_x: Places
    tried_y: Places


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
    users: Any, positives: Any, negatives: Any, starts: Any, of_users: Any, of_positives: Any
) -> None:
    """The same of the triplets by negative, -1 left out: their users and positives (P * K,)."""
    place = _count(negatives.ravel(), starts)
    for pair in range(len(users)):
        for k in range(negatives.shape[1]):
            j = negatives[pair, k]
            if j >= 0:
                of_users[place[j]], of_positives[place[j]] = users[pair], positives[pair]
                place[j] += 1


@kernel
def _count(rows: Any, starts: Any) -> Any:
    """starts (n + 1,) of each row's entries, -1 left out; returns where the next one goes."""
    for row in rows:
        if row >= 0:
            starts[row + 1] += 1
    for v in range(len(starts) - 1):
        starts[v + 1] += starts[v]
    return starts[:-1].copy()


@inlined
def hamming_distance(one: Any, row: Any, other: Any, column: Any) -> Any:
    """The number of bits in which two codes differ."""
    total = np.uint64(0)
    for word in range(one.shape[1]):
        total += popcount(one[row, word] ^ other[column, word])
    return np.int64(total)


@inlined
def places(d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any) -> Any:
    """X and Y of the triplet of user b[u], positive i_words[i] and negative j_words[j]."""
    uj, ui = hamming_distance(b, u, j_words, j), hamming_distance(b, u, i_words, i)
    ij = hamming_distance(i_words, i, j_words, j)
    return d + 2 + ui - uj, (2 * d + 2 - uj - ij) * (d + 3) + d + 1 - ui


@inlined
def triplet_loss(
    tables: Any, d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any
) -> Any:
    """l(x) + lambda l(y) of that triplet."""
    X, Y = places(d, b, u, i_words, i, j_words, j)
    return tables.loss_x[X] + tables.loss_y[Y]


@kernel
def most_triplets(kind: int, rows: Any, lists: Any) -> int:
    """The most triplets that one of the rows has."""
    count, most = lists.negatives.shape[1], 0
    for row in rows:
        if kind == USER:
            size = count * (lists.user_starts[row + 1] - lists.user_starts[row])
        else:
            size = count * (lists.positive_starts[row + 1] - lists.positive_starts[row])
            size += lists.negative_starts[row + 1] - lists.negative_starts[row]
        most = max(most, size)
    return most


@kernel
def make_row_triplets(capacity: int) -> Any:
    """Room for the triplets of one row."""
    rows = np.empty((6, capacity), np.int32)
    return RowTriplets(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])


@fast_helper
def gather_triplets(
    kind: int, row: int, words: Any, at: int, problem: Any, triplets: Any
) -> tuple[int, int]:
    """Write the triplets of a user or item `row`: (end of the first role's, end of all).

    words[at]: its code, which may be another than its present one.
    """
    codes, lists = problem.codes, problem.lists
    b, e = codes.b_words, codes.d_words
    d, count, n = codes.D.shape[1], lists.negatives.shape[1], 0
    if kind == USER:
        for pair in range(lists.user_starts[row], lists.user_starts[row + 1]):
            i = lists.positives[pair]
            for k in range(count):
                j = lists.negatives[pair, k]
                if j >= 0:
                    triplets.p[n], triplets.q[n] = j, i
                    triplets.X[n], triplets.Y[n] = places(d, words, at, e, i, e, j)
                    n += 1
        return n, n
    for place in range(lists.positive_starts[row], lists.positive_starts[row + 1]):
        pair = lists.positive_pairs[place]
        u = lists.users[pair]
        for k in range(count):
            j = lists.negatives[pair, k]
            if j >= 0:
                triplets.p[n], triplets.q[n] = j, u
                triplets.X[n], triplets.Y[n] = places(d, b, u, words, at, e, j)
                n += 1
    first = n
    for place in range(lists.negative_starts[row], lists.negative_starts[row + 1]):
        u, i = lists.negative_users[place], lists.negative_positives[place]
        triplets.p[n], triplets.q[n] = u, i
        triplets.X[n], triplets.Y[n] = places(d, b, u, e, i, words, at)
        n += 1
    return first, n


@fast_helper
def triplets_loss(triplets: Any, n: int, tables: Any) -> float:
    """The loss of the first n triplets of a row."""
    total = 0.0
    for t in range(n):
        total += tables.loss_x[triplets.X[t]] + tables.loss_y[triplets.Y[t]]
    return total


@fast_kernel
def pair_losses(problem: Any, begin: int, end: int) -> float:
    """The loss of the pairs [begin, end) with all their negatives."""
    codes, lists, total = problem.codes, problem.lists, 0.0
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    for pair in range(begin, end):
        u, i = lists.users[pair], lists.positives[pair]
        for k in range(lists.negatives.shape[1]):
            j = lists.negatives[pair, k]
            if j >= 0:
                total += triplet_loss(problem.tables, d, b, u, e, i, e, j)
    return total
