"""The bound's A and c of users or items at the present codes, and what a new code changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel
from xorec.training.discrete.triplet_kernels import (
    USER,
    gather_triplets,
    make_row_triplets,
    most_triplets,
    triplets_loss,
)
from xorec.training.losses.bound import (
    TangentPoints,
    TripletRows,
    assemble_item,
    assemble_user,
)

LOWER = 1e-12  # a share of sum |A| + sum |c|: a value must fall by more


@fast_kernel
def assemble_rows(kind: int, rows: Any, problem: Any, A: Any, c: Any, gains: Any) -> None:
    """A (N, d, d), c (N, d) of the bound on each row's triplets; gains[:, 1]: their loss.

    phi = x and eta = y at the present codes, where the bound touches the loss.
    """
    codes, tables = problem.codes, problem.tables
    capacity = most_triplets(kind, rows, problem.lists)
    triplets, users = make_row_triplets(capacity), np.empty(capacity, np.int32)
    points = TangentPoints(np.empty(capacity), np.empty(capacity), np.ones(capacity))
    of_triplets = TripletRows(users, triplets.q, triplets.p)
    numbers, words = np.arange(capacity), codes.b_words if kind == USER else codes.d_words
    signs, loss = (codes.B, codes.D), (tables.roles, tables.lambda_)
    for at in range(len(rows)):
        first, n = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        gains[at, 1] = triplets_loss(triplets, n, tables)
        for t in range(n):
            points.phi[t], points.eta[t] = tables.x[triplets.X[t]], tables.y[triplets.Y[t]]
            users[t] = triplets.q[t] if t < first else triplets.p[t]
        if kind == USER:
            assemble_user(A[at], c[at], signs, of_triplets, points, numbers[:n], loss)
        else:
            roles = (numbers[:first], numbers[first:n])
            assemble_item(A[at], c[at], signs, of_triplets, points, roles, loss)


@fast_kernel
def keep_lower(A: Any, c: Any, old: Any, Z: Any) -> None:
    """Put the old code back into Z (N, d) wherever the new one is not strictly lower."""
    d = Z.shape[1]
    for at in range(len(Z)):
        change, size = 0.0, 0.0
        for r in range(d):
            new, before = 0.0, 0.0
            for s in range(d):
                new += A[at, r, s] * Z[at, s]
                before += A[at, r, s] * old[at, s]
                size += abs(A[at, r, s])
            change += Z[at, r] * (new + c[at, r]) - old[at, r] * (before + c[at, r])
            size += abs(c[at, r])
        if change >= -LOWER * size:
            for f in range(d):
                Z[at, f] = old[at, f]


@fast_kernel
def changes_of_loss(kind: int, rows: Any, problem: Any, words: Any, gains: Any) -> None:
    """gains[:, 0] = the loss of each row's triplets at its new code in `words`, less gains[:, 1].

    All other codes are the present ones.
    """
    triplets = make_row_triplets(most_triplets(kind, rows, problem.lists))
    for at in range(len(rows)):
        _, n = gather_triplets(kind, rows[at], words, at, problem, triplets)
        gains[at, 0] = triplets_loss(triplets, n, problem.tables) - gains[at, 1]
