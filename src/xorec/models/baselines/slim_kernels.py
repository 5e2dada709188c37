"""The kernels of SLIM: for each item the ridge regression on its neighbours, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.cholesky_kernels import solve_spd
from xorec.core.kernels import fast_kernel, inlined

_USERS_AT_ONCE = 1 << 16
"""Users of a cut, at least: their heads take 256 kB."""
_PAIRS_OF_A_CUT = 16
"""Pairs of a neighbour in a cut, on average and at least: shorter cuts are not worth their loop."""


@fast_kernel
def ridge_by_users(
    by_item: Any, users: int, most: int, penalty: Any, nearest: Any, part: Any
) -> None:
    """The weights of the neighbours of items nearest.rows[part[0]:part[1]], into nearest.weights.

    by_item (indptr, users, roots): roots of the pairs' weights, or none. G between the neighbours
    is counted by the users who have two of them: each user keeps a chain of the neighbours that
    were met, and each one more meets those; users come in cuts whose chains stay in the cache,
    in the same order whatever the cuts are. penalty: (of a neighbour (m,), of the item that is
    predicted (m,)), which are added up. most: pairs of N items, at most.
    """
    indptr, item_users, roots = by_item
    rows, items, weights, counts = nearest
    of_neighbour, of_item = penalty
    head = np.full(users, -1, dtype=np.int32)
    chain = np.empty((most, 2), dtype=np.int32)
    worth = np.empty(most if len(roots) else 0, dtype=np.float32)
    system, right = _room(items.shape[1])
    sizes = np.empty(items.shape[1] + 1)
    begins, ends = np.empty((2, items.shape[1] + 1), dtype=np.int64)
    for at_row in range(part[0], part[1]):
        j, n = rows[at_row], counts[at_row]
        padded = _clear(system, right, n)
        pairs = 0
        for p in range(n + 1):
            i = items[at_row, p] if p < n else j
            begins[p], sizes[p] = indptr[i], 0.0
            pairs += indptr[i + 1] - indptr[i]
        cuts = max(1, min(users // _USERS_AT_ONCE, pairs // (_PAIRS_OF_A_CUT * (n + 1))))
        width = (users + cuts - 1) // cuts
        for first in range(0, users, width):
            links = 0
            for p in range(n + 1):
                i, row = (items[at_row, p], system[p]) if p < n else (j, right)
                at, size = begins[p], sizes[p]
                while at < indptr[i + 1] and item_users[at] < first + width:
                    user = item_users[at] - first
                    link = head[user]
                    if len(roots):
                        while link >= 0:
                            row[chain[link, 0]] += np.float64(roots[at]) * worth[link]
                            link = chain[link, 1]
                        size += np.float64(roots[at]) * roots[at]
                    else:
                        while link >= 0:
                            row[chain[link, 0]] += 1
                            link = chain[link, 1]
                        size += 1
                    if p < n:
                        chain[links, 0], chain[links, 1] = p, head[user]
                        if len(roots):
                            worth[links] = roots[at]
                        head[user] = links
                        links += 1
                    at += 1
                ends[p], sizes[p] = at, size
            for p in range(n):
                for at in range(begins[p], ends[p]):
                    head[item_users[at] - first] = -1
            begins[: n + 1] = ends[: n + 1]
        for p in range(n):
            system[p, p] = sizes[p] + of_neighbour[items[at_row, p]] + of_item[j]
        solve_spd(system, padded, right)
        for p in range(n):
            weights[at_row, p] = right[p]


@fast_kernel
def ridge_by_matrix(G: Any, penalty: Any, nearest: Any, part: Any) -> None:
    """`ridge_by_users` where G = X'X is there, of which the lower half is read."""
    rows, items, weights, counts = nearest
    of_neighbour, of_item = penalty
    system, right = _room(items.shape[1])
    for at_row in range(part[0], part[1]):
        j, n = rows[at_row], counts[at_row]
        padded = _clear(system, right, n)
        for p in range(n):
            i = items[at_row, p]
            for q in range(p):
                other = items[at_row, q]
                system[p, q] = G[i, other] if i > other else G[other, i]
            system[p, p] = G[i, i] + of_neighbour[i] + of_item[j]
            right[p] = G[i, j] if i > j else G[j, i]
        solve_spd(system, padded, right)
        for p in range(n):
            weights[at_row, p] = right[p]


@inlined
def _room(width: Any) -> Any:
    """(system, right) for so many neighbours, rounded up to whole fours."""
    padded = (width + 3) // 4 * 4
    return np.empty((padded, padded + 8)), np.empty(padded)


@inlined
def _clear(system: Any, right: Any, n: Any) -> Any:
    """Zeros, and ones on the diagonal behind n; returns n rounded up to whole fours."""
    padded = (n + 3) // 4 * 4
    system[:padded, :padded] = 0
    right[:padded] = 0
    for p in range(n, padded):
        system[p, p] = 1
    return padded
