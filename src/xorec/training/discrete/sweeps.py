"""Sweeps: discrete optimisers of the codes over a list of triplets, users first, then items.

A sweep gives every user, and then every item, a code with a lower loss, as `flip_sweep` or
`bqp_sweep` finds it. Given the items, users have nothing to do with each other: they are shared
between threads. Items meet in triplets, so they go in blocks: the new codes of a block are found
side by side while all items stand still, and are then taken one after another where the loss, with
the codes of that moment, falls. A block of one item is the exact way, one by one. Either way the
loss of the triplets never rises, and the codes do not depend on the number of threads.

The loss is that of `losses.scale_invariant` in the form "triplet".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, pack_signs
from xorec.core.errors import DataError
from xorec.core.threads import ThreadPool
from xorec.training.discrete.accept_kernels import accept
from xorec.training.discrete.sweep_kernels import (
    ITEM,
    USER,
    Codes,
    Lists,
    LossTables,
    Signs,
    pair_losses,
    sort_negatives,
    sort_positives,
)
from xorec.training.losses.bound import role_tables
from xorec.training.losses.logistic import logistic_loss
from xorec.training.losses.scale_invariant import Floats, Margin
from xorec.training.passes import Triplets

_ITEM_BLOCKS = 32
"""Blocks of items in a sweep: fewer blocks, fewer waits; more blocks, fewer proposals refused."""
_PAIRS_AT_ONCE = 8192  # the loss is summed in pieces of so many pairs, whatever the pool
_PIECES = 16  # pieces of work for each thread: users differ much in their number of triplets

Rows = npt.NDArray[np.integer]


class LossTerms(NamedTuple):
    """The numbers of the loss. gamma is the root: the formulas have gamma^2."""

    temperature: float
    gamma: float = 1.0
    lambda_: float = 1.0
    margin: Margin = "paper"

    def roles(self, bits: int) -> Floats:
        """The coefficients of x and y in each role (`losses.bound.role_tables`)."""
        temperature, gamma, margin = self.temperature, self.gamma, self.margin
        return role_tables(bits, temperature=temperature, gamma=gamma, margin=margin)


class Terms(Protocol):
    """What a sweep asks of the numbers of a loss; `LossTerms` are DSIML's."""

    def __hash__(self) -> int:
        """Tables are kept by the terms that they were made from."""

    @property
    def lambda_(self) -> float:
        """The weight of the term y; 0: there is none."""

    def roles(self, bits: int) -> Floats:
        """The coefficients of x and y in each role (`losses.bound.role_tables`)."""


class SweepResult(NamedTuple):
    """The loss of the triplets before and after a sweep, and how many bits it flipped."""

    loss_before: float
    loss_after: float
    user_flips: int
    item_flips: int


@lru_cache(maxsize=16)
def loss_tables(bits: int, terms: Terms) -> LossTables:
    """x, y and their losses for all dot products that codes of so many bits can have."""
    of_x, of_y = terms.roles(bits)[0]
    step = np.arange(-bits - 2, bits + 3)
    x = of_x[0] * 2 * step
    apart, together = 2 * step[:, None], 2 * np.arange(-1, bits + 2) - bits
    y = (of_y[0] * apart + of_y[1] * together + of_y[3]).ravel()
    row = bits + 3
    moves = np.array([[1, -1, row, 1], [0, -1, row, 1], [1, 0, row, row]])
    return LossTables(x, y, logistic_loss(x), terms.lambda_ * logistic_loss(y), moves)


def list_users(triplets: Triplets, n_users: int) -> Lists:
    """The triplets by user; no item has any."""
    users = triplets.users
    if np.any(users[1:] < users[:-1]):
        raise DataError("the triplets are not in the order of their users: sort them by user.")
    starts = np.searchsorted(users, np.arange(n_users + 1)).astype(np.int64)
    none, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    rows = (users, triplets.positives, triplets.negatives)
    return Lists(*rows, starts, none, nothing, none, nothing, nothing)


def list_all(triplets: Triplets, n_users: int, n_items: int) -> Lists:
    """The triplets by user, and by item in both roles."""
    lists = list_users(triplets, n_users)
    users, positives, negatives = lists[:3]
    if np.any(negatives == positives[:, None]):
        raise DataError("a triplet has one item as its positive and its negative.")
    starts = np.zeros((2, n_items + 1), dtype=np.int64)
    pairs = np.empty(len(positives), dtype=np.int32)
    own = (np.empty(negatives.size, dtype=np.int32), np.empty(negatives.size, dtype=np.int32))
    sort_positives(positives, starts[0], pairs)
    sort_negatives(users, positives, negatives, starts[1], *own)
    return Lists(*lists[:4], starts[0], pairs, starts[1], *own)


def true_loss(B: Signs, D: Signs, triplets: Triplets, terms: Terms, pool: ThreadPool) -> float:
    """The sum over the triplets of l(x) + lambda l(y). B (n, d), D (m, d): codes of +-1, int8."""
    return Problem.of(B, D, triplets, terms, items=False).loss(pool)


@dataclass(frozen=True, eq=False)
class Problem:
    """Codes, which a sweep changes in place, and the triplets and loss they are to suit."""

    codes: Codes
    lists: Lists
    terms: Terms
    tables: LossTables

    @classmethod
    def of(
        cls, B: Signs, D: Signs, triplets: Triplets, terms: Terms, *, items: bool = True
    ) -> Problem:
        """The problem of these arrays; without `items`, only users can be changed."""
        for name, signs in (("B", B), ("D", D)):
            if signs.dtype != np.int8 or signs.ndim != 2 or not signs.flags.c_contiguous:
                raise DataError(f"{name} must be codes of +-1 in rows: a C-contiguous int8 array.")
        lists = list_all(triplets, len(B), len(D)) if items else list_users(triplets, len(B))
        codes = Codes(B, D, pack_signs(B), pack_signs(D))
        return cls(codes, lists, terms, loss_tables(B.shape[1], terms))

    def loss(self, pool: ThreadPool) -> float:
        """The loss of all triplets."""
        pairs = len(self.lists.users)
        pieces = np.zeros(-(-pairs // _PAIRS_AT_ONCE))

        def add(piece: int) -> None:
            begin = piece * _PAIRS_AT_ONCE
            end = min(pairs, begin + _PAIRS_AT_ONCE)
            pieces[piece] = pair_losses(self.codes, self.lists, self.tables, begin, end)

        pool.map(len(pieces), add)
        return float(pieces.sum())


class Proposer(Protocol):
    """What finds new codes for users (kind 0) or items (kind 1), all else standing still."""

    def __call__(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        """Replace the codes Z (N, d) of `rows` by better ones; write gains (N, 2).

        gains[:, 0]: the change of the loss, not above 0 (users: any number); gains[:, 1]: the
        loss of the row's triplets before. Runs in several threads, on different rows.
        """


def sweep(
    problem: Problem,
    propose: Proposer,
    pool: ThreadPool,
    *,
    users: Rows | None = None,
    items: Rows | None = None,
    one_by_one: bool = False,
) -> SweepResult:
    """Users, then items; `users`, `items`: the rows that may change, None for all."""
    before = problem.loss(pool)
    B, D = problem.codes.B, problem.codes.D
    user_flips = _sweep_users(problem, propose, pool, _rows(users, len(B)))
    rows = _rows(items, len(D))
    count = max(1, len(rows) if one_by_one else min(len(rows), _ITEM_BLOCKS))
    moved = np.full(len(D), -1, dtype=np.int32)
    blocks = (rows[at::count] for at in range(count))
    item_flips = sum(_sweep_items(problem, propose, pool, block, moved) for block in blocks)
    return SweepResult(before, problem.loss(pool), user_flips, item_flips)


def _sweep_users(problem: Problem, propose: Proposer, pool: ThreadPool, rows: Rows) -> int:
    codes = problem.codes
    Z, _ = _proposals(problem, propose, pool, USER, rows)
    flips = int(np.count_nonzero(codes.B[rows] != Z))
    codes.B[rows] = Z
    codes.b_words[rows] = pack_signs(Z)
    return flips


def _sweep_items(
    problem: Problem, propose: Proposer, pool: ThreadPool, rows: Rows, moved: npt.NDArray[np.int32]
) -> int:
    codes, lists, tables = problem.codes, problem.lists, problem.tables
    Z, gains = _proposals(problem, propose, pool, ITEM, rows)
    old: Words = codes.d_words[rows]
    return int(accept(rows, codes, lists, tables, Z, old, pack_signs(Z), gains, moved))


def _proposals(
    problem: Problem, propose: Proposer, pool: ThreadPool, kind: int, rows: Rows
) -> tuple[Signs, Floats]:
    signs = problem.codes.B if kind == USER else problem.codes.D
    Z, gains = signs[rows], np.zeros((len(rows), 2))

    def work(begin: int, end: int) -> None:
        if end > begin:
            own = slice(begin, end)
            propose(problem, kind, rows[own], Z[own], gains[own])

    pool.map_ranges(len(rows), work, _PIECES)
    return Z, gains


def _rows(wanted: Rows | None, length: int) -> npt.NDArray[np.int64]:
    if wanted is None:
        return np.arange(length)
    rows = np.unique(np.asarray(wanted, dtype=np.int64))
    if len(rows) and not (rows[0] >= 0 and rows[-1] < length):
        raise DataError(f"rows {rows[0]} to {rows[-1]} are asked for: there are {length}.")
    return rows
