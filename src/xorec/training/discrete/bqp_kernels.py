"""The bound's A and c of users or items at the present codes, and what a new code changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel
from xorec.training.discrete.sweep_kernels import USER, gather, loss_of, make_scratch, most_triplets
from xorec.training.losses.bound_kernels import assemble_item, assemble_user

LOWER = 1e-12  # a share of sum |A| + sum |c|: a value must fall by more


@fast_kernel
def assemble_rows(
    kind: int, rows: Any, codes: Any, lists: Any, tables: Any, roles: Any, lambda_: float,
    A: Any, c: Any, gains: Any,
) -> None:  # fmt: skip
    """A (N, d, d), c (N, d) of the bound on each row's triplets; gains[:, 1]: their loss.

    phi = x and eta = y at the present codes, where the bound touches the loss.
    """
    capacity = most_triplets(kind, rows, 0, len(rows), lists)
    block, users = make_scratch(capacity), np.empty(capacity, np.int32)
    phi, eta, weights = np.empty(capacity), np.empty(capacity), np.ones(capacity)
    numbers, own = np.arange(capacity), codes.b_words if kind == USER else codes.d_words
    for at in range(len(rows)):
        first, n = gather(kind, rows[at], own, rows[at], codes, lists, block)
        gains[at, 1] = loss_of(block, n, tables)
        for t in range(n):
            phi[t], eta[t] = tables.x[block.X[t]], tables.y[block.Y[t]]
            users[t] = block.q[t] if t < first else block.p[t]
        points = (phi, eta, weights)
        if kind == USER:
            rest = (numbers[:n], roles, lambda_)
            assemble_user(A[at], c[at], codes.D, block.q, block.p, *points, *rest)
        else:
            parts = (numbers[:first], numbers[first:n], roles, lambda_)
            triplets = (users, block.q, block.p)
            assemble_item(A[at], c[at], codes.B, codes.D, *triplets, *points, *parts)


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
def losses_of(
    kind: int, rows: Any, codes: Any, lists: Any, tables: Any, words: Any, gains: Any
) -> None:
    """gains[:, 0] = the loss of each row's triplets at its new code in `words`, less gains[:, 1].

    All other codes are the present ones.
    """
    block = make_scratch(most_triplets(kind, rows, 0, len(rows), lists))
    for at in range(len(rows)):
        _, n = gather(kind, rows[at], words, at, codes, lists, block)
        gains[at, 0] = loss_of(block, n, tables) - gains[at, 1]
