"""Sweeps: discrete optimisers of the codes over a list of triplets, users first, then items.

A sweep gives every user, and then every item, a code with a lower loss, as `flips` or `bounds`
finds it. Given the items, users are independent, and threads share them. Items meet in triplets, so
they go in blocks: the new codes of a block are proposed in parallel while all items stay, and are
then accepted one after another where the loss falls. So the loss of the triplets never rises, and
the codes do not depend on the number of threads. Blocks of one item are the exact way.

The change of the loss by a proposal is known for the codes at which it was made. Items that moved
since matter only in triplets with the item: there the change is corrected. These sums have one
order, whatever else the lists hold: on a cluster they hold such triplets alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, pack_signs
from xorec.core.engine import row_ranges
from xorec.core.errors import DataError
from xorec.core.kernels import inlined, kernel
from xorec.core.threads import ThreadPool
from xorec.training.discrete.problem import (
    ITEM,
    LEAST_GAIN,
    USER,
    Floats,
    Problem,
    Rows,
    Signs,
    hamming_distance,
    pair_losses,
    triplet_loss,
)


class Proposals(NamedTuple):
    """New codes of N items: their rows, the codes Z (N, d), before and after in words (N, words).

    gains (N, 2): the change of the loss while all stood still, and the loss of the item's
    triplets then.
    """

    rows: npt.NDArray[np.integer]
    Z: npt.NDArray[np.int8]
    old: Words
    new: Words
    gains: npt.NDArray[np.float64]


@inlined
def _corrections(problem: Any, proposals: Any, at: Any, moved: Any) -> Any:
    """The correction of the change by proposal `at` for the items that moved since.

    Such an item w has moved from old[moved[w]] to its present code.
    """
    codes, lists, tables = problem.codes, problem.lists, problem.tables
    v, old, new = proposals.rows[at], proposals.old, proposals.new
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    count, total = lists.negatives.shape[1], 0.0
    for entry in range(lists.positive_starts[v], lists.positive_starts[v + 1]):
        pair = lists.positive_pairs[entry]
        for k in range(count):
            w = lists.negatives[pair, k]
            if w >= 0 and moved[w] >= 0:
                u, slot = lists.users[pair], moved[w]
                total += triplet_loss(tables, d, b, u, new, at, e, w)
                total -= triplet_loss(tables, d, b, u, old, at, e, w)
                total -= triplet_loss(tables, d, b, u, new, at, old, slot)
                total += triplet_loss(tables, d, b, u, old, at, old, slot)
    for entry in range(lists.negative_starts[v], lists.negative_starts[v + 1]):
        w = lists.negative_positives[entry]
        if moved[w] >= 0:
            u, slot = lists.negative_users[entry], moved[w]
            total += triplet_loss(tables, d, b, u, e, w, new, at)
            total -= triplet_loss(tables, d, b, u, e, w, old, at)
            total -= triplet_loss(tables, d, b, u, old, slot, new, at)
            total += triplet_loss(tables, d, b, u, old, slot, old, at)
    return total


@kernel
def accept(problem: Any, proposals: Any, moved: Any) -> int:
    """Give the items their new codes, where the loss falls; return the bits flipped.

    moved (m,): -1 at the call and after it.
    """
    codes, rows, Z, new = problem.codes, proposals.rows, proposals.Z, proposals.new
    flips, any_moved = 0, False
    for at in range(len(rows)):
        v, change = rows[at], proposals.gains[at, 0]
        distance = hamming_distance(proposals.old, at, new, at)
        if distance == 0:
            continue
        if any_moved:
            change += _corrections(problem, proposals, at, moved)
        if change < -LEAST_GAIN * proposals.gains[at, 1]:
            for f in range(Z.shape[1]):
                codes.D[v, f] = Z[at, f]
            for word in range(new.shape[1]):
                codes.d_words[v, word] = new[at, word]
            moved[v], any_moved = at, True
            flips += distance
    for row in rows:
        moved[row] = -1
    return flips


ITEM_BLOCKS = 32
"""Blocks of items in a sweep: more blocks, more waits but fewer proposals refused."""
_PIECES = 16  # pieces of work for each thread: users differ much in their number of triplets
_ROWS_AT_ONCE = 8  # fewer rows are not worth a call of a kernel


class SweepResult(NamedTuple):
    """The loss of the triplets before and after a sweep, and how many bits it flipped."""

    loss_before: float
    loss_after: float
    user_flips: int
    item_flips: int


class Proposer(Protocol):
    """Finds new codes for users (kind 0) or items (kind 1), all else unchanged."""

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """Better codes (N, d) of `rows`, and gains (N, 2); nothing else changes.

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
    """Users, then items, in place of the problem's codes.

    users, items: the rows that may change, None for all. one_by_one: no two items side by side.
    """
    before = total_loss(problem, pool)
    B, D = problem.codes.B, problem.codes.D
    user_flips = _sweep_users(problem, propose, pool, _rows(users, len(B)))
    rows = _rows(items, len(D))
    count = max(1, len(rows) if one_by_one else min(len(rows), ITEM_BLOCKS))
    moved = np.full(len(D), -1, dtype=np.int32)
    blocks = (np.ascontiguousarray(rows[at::count]) for at in range(count))
    item_flips = sum(_sweep_items(problem, propose, pool, block, moved) for block in blocks)
    return SweepResult(before, total_loss(problem, pool), user_flips, item_flips)


def total_loss(problem: Problem, pool: ThreadPool) -> float:
    """The sum over the triplets of l(x) + lambda l(y)."""
    starts = problem.lists.user_starts
    blocks = row_ranges(len(starts) - 1)  # so the loss is summed in pieces that any engine has
    pieces = np.zeros(len(blocks))

    def add(piece: int) -> None:
        first, past = blocks[piece]
        pieces[piece] = pair_losses(problem, starts[first], starts[past])

    pool.map(len(pieces), add)
    return float(pieces.sum())


def _sweep_users(problem: Problem, propose: Proposer, pool: ThreadPool, rows: Rows) -> int:
    codes = problem.codes
    Z, _ = _propose(problem, propose, pool, USER, rows)
    flips = int(np.count_nonzero(codes.B[rows] != Z))
    codes.B[rows] = Z
    codes.b_words[rows] = pack_signs(Z)
    return flips


def _sweep_items(
    problem: Problem, propose: Proposer, pool: ThreadPool, rows: Rows, moved: npt.NDArray[np.int32]
) -> int:
    Z, gains = _propose(problem, propose, pool, ITEM, rows)
    proposals = Proposals(rows, Z, problem.codes.d_words[rows], pack_signs(Z), gains)
    return int(accept(problem, proposals, moved))


def _propose(
    problem: Problem, propose: Proposer, pool: ThreadPool, kind: int, rows: Rows
) -> tuple[Signs, Floats]:
    Z = np.empty((len(rows), problem.codes.B.shape[1]), dtype=np.int8)
    gains = np.empty((len(rows), 2))

    def work(begin: int, end: int) -> None:
        if end > begin:
            part = slice(begin, end)
            Z[part], gains[part] = propose(problem, kind, rows[part])

    pieces = min(_PIECES, len(rows) // (_ROWS_AT_ONCE * pool.threads))
    pool.map_ranges(len(rows), work, max(1, pieces))
    return Z, gains


def _rows(wanted: Rows | None, length: int) -> npt.NDArray[np.int64]:
    if wanted is None:
        return np.arange(length)
    rows = np.unique(np.asarray(wanted, dtype=np.int64))
    if len(rows) and not (rows[0] >= 0 and rows[-1] < length):
        raise DataError(f"rows {rows[0]} to {rows[-1]} are asked for: there are {length}.")
    return rows
