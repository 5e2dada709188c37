"""The convexified bound of branch and bound (docs/bqp.md).

Turn the signs so that the best code known is all ones, and write the problem with one more
variable, fixed at 1, for the linear part: minimise y'Cy with C = [[A, c/2], [c'/2, 0]] and its
diagonal set to zero (y_i^2 = 1 makes it a constant). For any u with N = C + diag(u) positive
definite, y'Ny - sum(u) is convex and equals y'Cy on signs, so its minimum over the reals is a
lower bound. The best u is the dual of the max-cut SDP

    max -sum(u), N positive semidefinite        min <C, X>, X positive semidefinite, X_ii = 1

`convexify_roughly` climbs its log barrier one u_i at a time; `convexify` is the interior-point
method of Helmberg, Rendl, Vanderbei and Wolkowicz (1996). Both stop well inside the cone: at its
rim N is singular, and fixing a few bits would raise the bound by nothing.

These kernels keep the order of IEEE sums: whether a pivot is positive must not be optimised away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel

TINY = 1e-14  # beside C, whose entries sum to about 1
PASSES, FALL = 8, 0.6  # of `convexify_roughly`: mu falls to this share at each pass
STEPS = 40
LOSS = 0.6  # `convexify` stops when what it loses is this share of the gap to the best code


@kernel
def homogenise(A: Any, c: Any, z: Any, scale: float, C: Any) -> float:
    """Write scale * C (d+1, d+1), turned so that z becomes all ones; return z's value of y'Cy."""
    d, value = len(c), 0.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            C[i, j] = scale * A[i, j] * (z[i] * z[j])
            total += C[i, j]
        C[i, d] = C[d, i] = 0.5 * scale * c[i] * z[i]
        value += total - C[i, i] + 2.0 * C[i, d]
        C[i, i] = 0.0
    C[d, d] = 0.0
    return value


@kernel
def copy(source: Any, target: Any) -> None:
    """target[:] = source for matrices; numba takes seconds to compile that."""
    for i in range(len(source)):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel
def trace(N: Any) -> float:
    """The sum of the diagonal."""
    total = 0.0
    for i in range(len(N)):
        total += N[i, i]
    return total


@kernel
def invert(N: Any, W: Any) -> bool:
    """W = the inverse of N by Gauss-Jordan; False as soon as N is found not positive definite."""
    n = len(N)
    copy(N, W)
    for k in range(n):
        row = W[k]
        if not row[k] > 0.0:
            return False
        pivot = 1.0 / row[k]
        row[k] = 1.0
        for j in range(n):
            row[j] *= pivot
        for i in range(n):
            if i != k:
                other = W[i]
                factor = other[k]
                other[k] = 0.0
                for j in range(n):
                    other[j] -= factor * row[j]
    return True


@kernel
def eliminate(H: Any, right: Any) -> bool:
    """Solve H x = right in place of `right` (LDL' in the upper half); False if H is not PD."""
    n = len(H)
    for k in range(n):
        row = H[k]
        if not row[k] > 0.0:
            return False
        for i in range(k + 1, n):
            factor = row[i] / row[k]
            other = H[i]
            for j in range(i, n):
                other[j] -= factor * row[j]
            right[i] -= factor * right[k]
    for k in range(n - 1, -1, -1):
        row = H[k]
        total = right[k]
        for j in range(k + 1, n):
            total -= row[j] * right[j]
        right[k] = total / row[k]
    return True


@kernel
def longest(M: Any, direction: Any, scratch: Any, nothing: Any) -> float:
    """A step length, at most 1, that keeps M + length * direction positive definite."""
    n, length = len(M), 1.0
    for _ in range(30):
        for i in range(n):
            for j in range(n):
                scratch[i, j] = M[i, j] + length * direction[i, j]
            nothing[i] = 0.0
        if eliminate(scratch, nothing):
            return length if length == 1.0 else 0.95 * length
        length *= 0.7
    return 0.0


@kernel
def improve(W: Any, X: Any, mu: float, step: Any, move: Any, H: Any) -> bool:
    """The step of u and the move of X (HRVW 1996): both aim at N X = mu I."""
    n = len(W)
    for i in range(n):
        for j in range(n):
            H[i, j] = W[i, j] * X[i, j]
        step[i] = mu * W[i, i] - 1.0
    if not eliminate(H, step):
        return False
    for i in range(n):
        row = H[i]
        for j in range(n):
            row[j] = mu * W[i, j] - X[i, j]
        for k in range(n):
            factor = W[i, k] * step[k]
            other = X[k]
            for j in range(n):
                row[j] -= factor * other[j]
    for i in range(n):
        for j in range(n):
            move[i, j] = 0.5 * (H[i, j] + H[j, i])
    return True


@kernel
def centre(N: Any, W: Any, mu: float, row: Any) -> None:
    """One pass over u: each u_i in turn to where W_ii = 1/mu, the barrier's best; W follows."""
    n = len(N)
    for i in range(n):
        pivot = W[i, i]
        step = mu - 1.0 / pivot
        N[i, i] += step
        factor = step / (mu * pivot)
        for a in range(n):
            row[a] = W[i, a]
        for a in range(n):
            other, scale = W[a], factor * row[a]
            for b in range(n):
                other[b] -= scale * row[b]


@kernel
def dominate(N: Any, factor: float) -> None:
    """Set the diagonal of N so that it is positive definite for certain: Gershgorin's circles."""
    for i in range(len(N)):
        N[i, i] = 0.0
        total = TINY
        for j in range(len(N)):
            total += abs(N[i, j])
        N[i, i] = factor * total


@kernel
def convexify_roughly(N: Any, W: Any) -> bool:
    """Choose u by a few passes of `centre`; W = the inverse of N. Good enough for d = 20."""
    n = len(N)
    row = np.empty(n)
    dominate(N, 1.0)
    if not invert(N, W):
        return False
    mu = trace(N) / n
    for _ in range(PASSES):
        mu *= FALL
        centre(N, W, mu, row)
    return True


@kernel
def convexify(N: Any, W: Any, best: float, tolerance: float) -> bool:
    """Choose u near the optimum of the SDP; W = the inverse of N.

    best: the value of the best code known, of y'Cy. The primal X keeps its diagonal at 1, so
    <X, N> is how far -sum(u) can still rise: it stops where that is little beside the gap.
    """
    n = len(N)
    X, move, H, step = np.eye(n), np.empty((n, n)), np.empty((n, n)), np.empty(n)
    shift, zero = np.zeros((n, n)), np.empty(n)
    dominate(N, 1.1)
    if not invert(N, W):
        return False
    bound = -trace(N)
    gap = -bound
    mu = gap / (2.0 * n)
    for _ in range(STEPS):
        if bound >= best - tolerance or gap <= LOSS * (best - bound):
            break
        if not improve(W, X, mu, step, move, H):
            break
        for i in range(n):
            shift[i, i] = step[i]
        primal, dual = longest(X, move, H, zero), longest(N, shift, H, zero)
        for i in range(n):
            N[i, i] += dual * step[i]
        if dual == 0.0 or not invert(N, H):
            for i in range(n):
                N[i, i] -= dual * step[i]
            break
        copy(H, W)
        gap = 0.0
        for i in range(n):
            for j in range(n):
                X[i, j] += primal * move[i, j]
                gap += X[i, j] * N[i, j]
        bound = -trace(N)
        mu = gap / (2.0 * n)
        if primal + dual > 1.6:
            mu *= 0.1 if primal + dual > 1.9 else 0.5
    return True
