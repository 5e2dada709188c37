"""Items that were given new codes side by side take them one after another, if the loss falls.

Each proposal was made while all items stood still, and its change of the loss is known for that
moment. Items that moved since only matter where they share a triplet with the item: the change is
corrected there. So the loss never rises, at a fraction of what the proposals cost.
"""

from __future__ import annotations

from typing import Any

from xorec.core.kernels import fast_helper, fast_kernel
from xorec.training.discrete.sweep_kernels import LEAST_GAIN, apart, triplet_loss


@fast_helper
def _corrections(
    codes: Any, lists: Any, tables: Any, v: int, old: Any, new: Any, at: int, moved: Any
) -> float:
    """What the items that moved since add to the change by item v, from old[at] to new[at].

    Such an item w has gone from old[moved[w]] to its present code.
    """
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


@fast_kernel
def accept(
    rows: Any, codes: Any, lists: Any, tables: Any, Z: Any, old: Any, new: Any, gains: Any,
    moved: Any,
) -> int:  # fmt: skip
    """Give the items `rows` their codes Z (N, d), where the loss falls; return the bits flipped.

    old, new (N, words): their codes before, and Z; gains (N, 2): the change while all stood
    still, and the loss of the item's triplets then. moved (m,): -1 at the call and after it.
    """
    flips, any_moved = 0, False
    for at in range(len(rows)):
        v, change = rows[at], gains[at, 0]
        far = apart(old, at, new, at)
        if far == 0:
            continue
        if any_moved:
            change += _corrections(codes, lists, tables, v, old, new, at, moved)
        if change < -LEAST_GAIN * gains[at, 1]:
            for f in range(Z.shape[1]):
                codes.D[v, f] = Z[at, f]
            for word in range(new.shape[1]):
                codes.d_words[v, word] = new[at, word]
            moved[v], any_moved = at, True
            flips += far
    for row in rows:
        moved[row] = -1
    return flips
