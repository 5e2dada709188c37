"""What a sweep works on: codes, the triplets that hold each user and item, the loss as tables.

A triplet's loss depends on three dot products, and codes have few of those: it is looked up. With
uj, ui, ij the dot products and d bits, a triplet's state is two places in `LossTables`:

    X = (uj - ui)/2 + d + 2                     in x and loss_x, (2d + 5,)
    Y = ((uj + ij)/2 + d + 2, (ui + d)/2 + 1)   in y and loss_y, (2d + 5, d + 3), laid flat

There is room around, so that the places one flip away exist. Call p and q the other two codes of
the triplet, as `losses.bound.role_tables` does. Flipping a bit of z takes, with r = z_k p_k and
s = z_k q_k of that bit and `moves` the role's row,

    X to X - (x0 r + x1 s)        Y to Y - (y0 r + y1 s)

All of it is named tuples of arrays, as kernels take them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, pack_signs
from xorec.core.errors import DataError
from xorec.training.discrete.triplet_kernels import USER, sort_negatives, sort_positives
from xorec.training.losses.bound import Margin, logistic_loss, role_tables
from xorec.training.passes import Triplets

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
    """x, y and l(x), lambda l(y) by place; `moves` (3, 4): x0, x1, y0, y1 of each role.

    roles (3, 2, 4): `losses.bound.role_tables`; lambda_: the weight of y, 0 where there is none.
    """

    x: Floats
    y: Floats
    loss_x: Floats
    loss_y: Floats
    moves: npt.NDArray[np.int64]
    roles: Floats
    lambda_: float


class Problem(NamedTuple):
    """Codes, which a sweep changes in place, and the triplets and the loss they are to suit."""

    codes: SweepCodes
    lists: TripletLists
    tables: LossTables


class Terms(Protocol):
    """What a sweep asks of the numbers of a loss; `LossTerms` are DSIML's."""

    def __hash__(self) -> int:
        """Tables are kept by the terms that they were made from."""

    @property
    def lambda_(self) -> float:
        """The weight of the term y; 0: there is none."""

    def roles(self, bits: int) -> Floats:
        """The coefficients of x and y in each role (`losses.bound.role_tables`)."""


class LossTerms(NamedTuple):
    """The numbers of SIML's loss in the form "triplet". gamma is the root of what formulas have."""

    temperature: float
    gamma: float = 1.0
    lambda_: float = 1.0
    margin: Margin = "paper"

    def roles(self, bits: int) -> Floats:
        """As `Terms`."""
        temperature, gamma, margin = self.temperature, self.gamma, self.margin
        return role_tables(bits, temperature=temperature, gamma=gamma, margin=margin)


@lru_cache(maxsize=16)
def loss_tables(bits: int, terms: Terms) -> LossTables:
    """x, y and their losses for all dot products that codes of so many bits can have."""
    roles = terms.roles(bits)
    of_x, of_y = roles[0]
    step = np.arange(-bits - 2, bits + 3)
    x = of_x[0] * 2 * step
    apart, together = 2 * step[:, None], 2 * np.arange(-1, bits + 2) - bits
    y = (of_y[0] * apart + of_y[1] * together + of_y[3]).ravel()
    row = bits + 3
    moves = np.array([[1, -1, row, 1], [0, -1, row, 1], [1, 0, row, row]])
    losses = (logistic_loss(x), terms.lambda_ * logistic_loss(y))
    return LossTables(x, y, *losses, moves, roles, float(terms.lambda_))


def lists_by_user(triplets: Triplets, n_users: int) -> TripletLists:
    """The triplets by user; no item has any."""
    users = triplets.users
    if np.any(users[1:] < users[:-1]):
        raise DataError("the triplets are not in the order of their users: sort them by user.")
    starts = np.searchsorted(users, np.arange(n_users + 1)).astype(np.int64)
    none, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    rows = (users, triplets.positives, triplets.negatives)
    return TripletLists(*rows, starts, none, nothing, none, nothing, nothing)


def lists_by_user_and_item(triplets: Triplets, n_users: int, n_items: int) -> TripletLists:
    """The triplets by user, and by item in both roles."""
    by_user = lists_by_user(triplets, n_users)
    users, positives, negatives = by_user[:3]
    if np.any(negatives == positives[:, None]):
        raise DataError("a triplet has one item as its positive and its negative.")
    starts = np.zeros((2, n_items + 1), dtype=np.int64)
    pairs = np.empty(len(positives), dtype=np.int32)
    of_negatives = np.empty((2, negatives.size), dtype=np.int32)
    sort_positives(positives, starts[0], pairs)
    sort_negatives(users, positives, negatives, starts[1], *of_negatives)
    return TripletLists(*by_user[:4], starts[0], pairs, starts[1], *of_negatives)


def make_problem(
    B: Signs, D: Signs, triplets: Triplets, terms: Terms, *, items: bool = True
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
    return Problem(codes, lists, loss_tables(B.shape[1], terms))
