"""The kernels of SLIM: for each item the ridge regression on its neighbours, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.cholesky_kernels import solve_spd
from xorec.core.kernels import fast_kernel, inlined


@fast_kernel
def ridge_by_users(
    by_item: Any, users: int, most: int, penalty: Any, nearest: Any, part: Any
) -> None:
    """The weights of the neighbours of items nearest.rows[part[0]:part[1]], into nearest.weights.

    by_item (indptr, users, roots): roots of the pairs' weights, or none. G between the neighbours
    is counted by the users who have two of them: each user keeps a chain of the neighbours that
    were met, and each one more meets those. penalty: (of a neighbour (m,), of the item that is
    predicted (m,)), which are added up. most: pairs of N items, at most.
    """
    indptr, item_users, roots = by_item
    rows, items, weights, counts = nearest
    of_neighbour, of_item = penalty
    head = np.full(users, -1, dtype=np.int32)
    chain = np.empty((most, 2), dtype=np.int32)
    worth = np.empty(most if len(roots) else 0, dtype=np.float32)
    system, right = _room(items.shape[1])
    for at_row in range(part[0], part[1]):
        j, n = rows[at_row], counts[at_row]
        padded = _clear(system, right, n)
        links = 0
        for p in range(n + 1):
            i, row = (items[at_row, p], system[p]) if p < n else (j, right)
            size = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                user = item_users[at]
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
                if p < n:
                    chain[links, 0], chain[links, 1] = p, head[user]
                    if len(roots):
                        worth[links] = roots[at]
                    head[user] = links
                    links += 1
            if p < n:
                size = size if len(roots) else indptr[i + 1] - indptr[i]
                system[p, p] = size + of_neighbour[i] + of_item[j]
        for p in range(n):
            i = items[at_row, p]
            for at in range(indptr[i], indptr[i + 1]):
                head[item_users[at]] = -1
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
