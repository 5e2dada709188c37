"""The data of a sweep: codes, the triplets of each user and item, the loss as tables.

A triplet's loss depends on three dot products, and codes have few of those: it is looked up. With
uj, ui, ij the dot products and d bits, a triplet's state is two offsets into `LossTables`:

    X = (uj - ui)/2 + d + 2                     in x and loss_x, (2d + 5,)
    Y = ((uj + ij)/2 + d + 2, (ui + d)/2 + 1)   in y and loss_y, (2d + 5, d + 3), laid flat

The tables have margins, so that offsets one flip away exist. Call p and q the other two codes of
the triplet, as `training.loss.role_tables` does. Flipping a bit of z moves, with r = z_k p_k and
s = z_k q_k of that bit and `moves` the role's row,

    X to X - (x0 r + x1 s)        Y to Y - (y0 r + y1 s)

A row is a user (kind 0, role 0) or an item (kind 1, roles 1 and 2: positive and negative).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, pack_signs, popcount
from xorec.core.errors import DataError
from xorec.core.kernels import fast_helper, fast_kernel, inlined, kernel
from xorec.training.blocks import counting_order
from xorec.training.loss import Margin, logistic_loss, role_tables
from xorec.training.passes import Triplets

USER, ITEM = 0, 1
AS_USER, AS_POSITIVE, AS_NEGATIVE = 0, 1, 2
LEAST_GAIN = 1e-9  # a change must gain this share of the row's loss: rounding gains less

Ints = npt.NDArray[np.int32]


class RowTriplets(NamedTuple):
    """The triplets of one row: the rows of p and q, the offsets X and Y, each (capacity,).

    tried_x, tried_y: offsets that are tried.
    """

    p: Ints
    q: Ints
    X: Ints
    Y: Ints
    tried_x: Ints
    tried_y: Ints


@inlined
def hamming_distance(one: Any, row: Any, other: Any, column: Any) -> Any:
    """The number of bits in which two codes differ."""
    total = np.uint64(0)
    for word in range(one.shape[1]):
        total += popcount(one[row, word] ^ other[column, word])
    return np.int64(total)


@inlined
def table_offsets(d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any) -> Any:
    """X and Y of the triplet of user b[u], positive i_words[i] and negative j_words[j]."""
    uj, ui = hamming_distance(b, u, j_words, j), hamming_distance(b, u, i_words, i)
    ij = hamming_distance(i_words, i, j_words, j)
    return d + 2 + ui - uj, (2 * d + 2 - uj - ij) * (d + 3) + d + 1 - ui


@inlined
def triplet_loss(
    tables: Any, d: Any, b: Any, u: Any, i_words: Any, i: Any, j_words: Any, j: Any
) -> Any:
    """l(x) + lambda l(y) of that triplet."""
    X, Y = table_offsets(d, b, u, i_words, i, j_words, j)
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
                    triplets.X[n], triplets.Y[n] = table_offsets(d, words, at, e, i, e, j)
                    n += 1
        return n, n
    for entry in range(lists.positive_starts[row], lists.positive_starts[row + 1]):
        pair = lists.positive_pairs[entry]
        u = lists.users[pair]
        for k in range(count):
            j = lists.negatives[pair, k]
            if j >= 0:
                triplets.p[n], triplets.q[n] = j, u
                triplets.X[n], triplets.Y[n] = table_offsets(d, b, u, words, at, e, j)
                n += 1
    first = n
    for entry in range(lists.negative_starts[row], lists.negative_starts[row + 1]):
        u, i = lists.negative_users[entry], lists.negative_positives[entry]
        triplets.p[n], triplets.q[n] = u, i
        triplets.X[n], triplets.Y[n] = table_offsets(d, b, u, e, i, words, at)
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


Signs = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer]


class SweepCodes(NamedTuple):
    """Signs (rows, d) and the same in words, of users B and items D."""

    B: Signs
    D: Signs
    b_words: Words
    d_words: Words

    def signs(self, kind: int) -> Signs:
        """Those of users or items."""
        return self.B if kind == USER else self.D


class TripletLists(NamedTuple):
    """The triplets, by user and by item.

    users, positives (P,), negatives (P, K), -1 where there is none. Pairs of user u:
    user_starts[u] to user_starts[u + 1]. Pairs of positive i: a slice of positive_pairs by its
    starts. Users and positives of the triplets of negative j: slices by negative_starts, copies
    side by side in memory.
    """

    users: npt.NDArray[np.int32]
    positives: npt.NDArray[np.int32]
    negatives: npt.NDArray[np.int32]
    user_starts: npt.NDArray[np.int64]
    positive_starts: npt.NDArray[np.int64]
    positive_pairs: npt.NDArray[np.int64]
    negative_starts: npt.NDArray[np.int64]
    negative_users: npt.NDArray[np.int32]
    negative_positives: npt.NDArray[np.int32]


class LossTables(NamedTuple):
    """x, y and l(x), lambda l(y) by offset; `moves` (3, 4): x0, x1, y0, y1 of each role.

    roles (3, 2, 4): `training.loss.role_tables`; lambda_: the weight of y, 0 where there is none.
    """

    x: Floats
    y: Floats
    loss_x: Floats
    loss_y: Floats
    moves: npt.NDArray[np.int64]
    roles: Floats
    lambda_: float


class Problem(NamedTuple):
    """Codes, which a sweep changes in place, and the triplets and the loss."""

    codes: SweepCodes
    lists: TripletLists
    tables: LossTables


class SweepLoss(Protocol):
    """The numbers of a loss, as a sweep needs them; `TripletLoss` has DSIML's."""

    def __hash__(self) -> int:
        """Tables are cached by the loss that they were made from."""

    @property
    def lambda_(self) -> float:
        """The weight of the term y; 0: there is none."""

    def roles(self, bits: int) -> Floats:
        """The coefficients of x and y in each role (`training.loss.role_tables`)."""


class TripletLoss(NamedTuple):
    """The numbers of SIML's loss in the form "triplet". gamma is the root of what formulas have."""

    temperature: float
    gamma: float = 1.0
    lambda_: float = 1.0
    margin: Margin = "paper"

    def roles(self, bits: int) -> Floats:
        """As `SweepLoss`."""
        temperature, gamma, margin = self.temperature, self.gamma, self.margin
        return role_tables(bits, temperature=temperature, gamma=gamma, margin=margin)


@lru_cache(maxsize=16)
def loss_tables(bits: int, loss: SweepLoss) -> LossTables:
    """x, y and their losses for all dot products that codes of so many bits can have."""
    roles = loss.roles(bits)
    of_x, of_y = roles[0]
    step = np.arange(-bits - 2, bits + 3)
    x = of_x[0] * 2 * step
    apart, together = 2 * step[:, None], 2 * np.arange(-1, bits + 2) - bits
    y = (of_y[0] * apart + of_y[1] * together + of_y[3]).ravel()
    row = bits + 3
    moves = np.array([[1, -1, row, 1], [0, -1, row, 1], [1, 0, row, row]])
    losses = (logistic_loss(x), loss.lambda_ * logistic_loss(y))
    return LossTables(x, y, *losses, moves, roles, float(loss.lambda_))


def lists_by_user(triplets: Triplets, n_users: int) -> TripletLists:
    """The triplets by user; no item has any."""
    users = triplets.users
    if np.any(users[1:] < users[:-1]):
        raise DataError("the triplets are not in the order of their users: sort them by user.")
    starts = np.searchsorted(users, np.arange(n_users + 1)).astype(np.int64)
    none, rows = np.zeros(1, dtype=np.int64), (users, triplets.positives, triplets.negatives)
    return TripletLists(*rows, starts, none, none[1:], none, users[:0], users[:0])


def lists_by_user_and_item(triplets: Triplets, n_users: int, n_items: int) -> TripletLists:
    """The triplets by user, and by item in both roles."""
    by_user = lists_by_user(triplets, n_users)
    users, positives, negatives = triplets
    if np.any(negatives == positives[:, None]):
        raise DataError("a triplet has one item as its positive and its negative.")
    owners, partners = (np.repeat(rows, negatives.shape[1]) for rows in (users, positives))
    by_item = lists_by_item(n_items, triplets, negatives.ravel(), owners, partners)
    return by_item._replace(user_starts=by_user.user_starts)


def lists_by_item(
    n_items: int, pairs: Triplets, negatives: Ints, users: Ints, positives: Ints
) -> TripletLists:
    """Lists by item alone: of `pairs` by positive, and of triplets by negative, -1 left out.

    negatives, users, positives (T,): the triplets.
    """
    of_positives, positive_starts = counting_order(pairs.positives, n_items)
    of_negatives, negative_starts = counting_order(negatives, n_items)
    of_items = (positive_starts, of_positives, negative_starts)
    rows = (users[of_negatives], positives[of_negatives])
    return TripletLists(*pairs, np.zeros(1, dtype=np.int64), *of_items, *rows)


def make_problem(
    B: Signs, D: Signs, triplets: Triplets, loss: SweepLoss, *, items: bool = True
) -> Problem:
    """The problem of codes B (n, d) and D (m, d); without `items`, only users can be changed."""
    for name, signs in (("B", B), ("D", D)):
        if signs.dtype != np.int8 or signs.ndim != 2 or not signs.flags.c_contiguous:
            raise DataError(f"{name} must be codes of +-1 in rows: a C-contiguous int8 array.")
    if items:
        lists = lists_by_user_and_item(triplets, len(B), len(D))
    else:
        lists = lists_by_user(triplets, len(B))
    codes = SweepCodes(B, D, pack_signs(B), pack_signs(D))
    return Problem(codes, lists, loss_tables(B.shape[1], loss))
