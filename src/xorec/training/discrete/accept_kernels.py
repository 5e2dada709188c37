"""Items that were given new codes side by side take them one after another, if the loss falls.

Each proposal was made while all items stood still, and its change of the loss is known for that
moment. Items that moved since only matter where they share a triplet with the item: the change is
corrected there. So the loss never rises, at a fraction of what the proposals cost. These sums have
one order, whatever else the lists hold: on a cluster they hold such triplets alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.kernels import inlined, kernel
from xorec.training.discrete.triplet_kernels import LEAST_GAIN, hamming_distance, triplet_loss


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
    """What the items that moved since add to the change by proposal `at`.

    Such an item w has gone from old[moved[w]] to its present code.
    """
    codes, lists, tables = problem.codes, problem.lists, problem.tables
    v, old, new = proposals.rows[at], proposals.old, proposals.new
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    count, total = lists.negatives.shape[1], 0.0
    for place in range(lists.positive_starts[v], lists.positive_starts[v + 1]):
        pair = lists.positive_pairs[place]
        for k in range(count):
            w = lists.negatives[pair, k]
            if w >= 0 and moved[w] >= 0:
                u, slot = lists.users[pair], moved[w]
                total += triplet_loss(tables, d, b, u, new, at, e, w)
                total -= triplet_loss(tables, d, b, u, old, at, e, w)
                total -= triplet_loss(tables, d, b, u, new, at, old, slot)
                total += triplet_loss(tables, d, b, u, old, at, old, slot)
    for place in range(lists.negative_starts[v], lists.negative_starts[v + 1]):
        w = lists.negative_positives[place]
        if moved[w] >= 0:
            u, slot = lists.negative_users[place], moved[w]
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
