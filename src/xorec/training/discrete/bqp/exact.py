"""The exact solver: tabu, then depth-first branch and bound with a convexified bound (docs/bqp.md).

Put the bits in a fixed order and factor their part of N = [[M, b], [b', .]] as M = G'G with G
lower triangular. With G'e = b, every code x has

    y'Cy = sum over k of (e_k + sum_{j <= k} G_kj x_j)^2  -  |e|^2 - sum over the bits of u

Each square depends on earlier bits only, and real numbers could make all later squares zero. So the
sum so far is the minimum over the rest, and a node costs one row of G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from xorec.core.errors import OptionError
from xorec.core.kernels import fast_helper, kernel
from xorec.training.discrete.bqp.bound_kernels import convexify, convexify_roughly, homogenise
from xorec.training.discrete.bqp.local_search import (
    BatchSolver,
    Stack,
    magnitude,
    make_scratch,
    tabu,
)

SMALLEST = 1e-300
TOLERANCE = 1e-11  # a share of sum |A| + sum |c|: a code that is better by less is not looked for
ROUGH_BITS, ROUGH_NODES = 40, 4000  # up to here a rough bound is tried first, for so many nodes


@kernel
def arrange(W: Any, order: Any) -> None:
    """Order the bits (d,), given the inverse of N: each next one would raise the bound most if
    it were turned against the best code (all ones), when those before it are not."""
    d = len(order)
    V, x, taken = np.empty((d, d)), np.empty(d), np.zeros(d, dtype=np.bool_)
    for i in range(d):
        factor = W[i, d] / W[d, d]
        x[i] = factor
        for j in range(d):
            V[i, j] = W[i, j] - factor * W[d, j]
    for place in range(d):
        k, most = 0, -1.0
        for i in range(d):
            rise = (1.0 + x[i]) * (1.0 + x[i]) / V[i, i]
            if not taken[i] and rise > most:
                k, most = i, rise
        order[place], taken[k] = k, True
        row, pivot, move = V[k], V[k, k], 1.0 - x[k]
        for i in range(d):
            if not taken[i]:
                factor = row[i] / pivot
                x[i] += factor * move
                other = V[i]
                for j in range(d):
                    other[j] -= factor * row[j]


@kernel
def factor(N: Any, order: Any, lift: float, G: Any, e: Any) -> bool:
    """Write G (d, d) and e (d,), of N with `lift` added to its diagonal; False if not PD."""
    d = len(order)
    for i in range(d):
        for j in range(d):
            G[i, j] = N[order[i], order[j]]
        G[i, i] += lift
        e[i] = N[order[i], d]
    for k in range(d - 1, -1, -1):
        row = G[k]
        if not row[k] > 0.0:
            return False
        pivot = 1.0 / np.sqrt(row[k])
        for j in range(k + 1):
            row[j] *= pivot
        e[k] *= pivot
        for i in range(k):
            other, size = G[i], row[i]
            for j in range(i + 1):
                other[j] -= size * row[j]
            e[i] -= size * e[k]
    return True


@fast_helper
def explore(
    G: Any, e: Any, lower: float, best: float, tolerance: float, limit: int, found: Any
) -> tuple[float, int]:
    """Search the tree for codes below `best - tolerance`; return (best value, nodes).

    lower: the bound at the root. found (d,), in the order of G: the best code, if one is better.
    `limit` nodes were not enough when more than that are returned.
    """
    d = len(e)
    x, target, below = np.ones(d), np.empty(d), np.empty(d)
    second = np.zeros(d, dtype=np.bool_)
    if lower >= best - tolerance:
        return best, 0
    below[0] = lower
    nodes, k, enter = 0, 0, True
    while k >= 0:
        if enter:
            row, total = G[k], e[k]
            for j in range(k):
                total += row[j] * x[j]
            target[k], second[k] = total, False
            x[k] = -1.0 if total > 0.0 else 1.0
        elif second[k]:
            k -= 1
            continue
        else:
            x[k], second[k] = -x[k], True
        nodes += 1
        if nodes > limit:
            break
        size = target[k] + G[k, k] * x[k]
        bound = below[k] + size * size
        enter = False
        if bound >= best - tolerance:
            k -= 1  # the other value of this bit was tried, or is no better
        elif k == d - 1:
            best = bound
            for j in range(d):
                found[j] = x[j]
        else:
            k += 1
            below[k] = bound
            enter = True
    return best, nodes


@kernel
def prove(N: Any, W: Any, best: float, limit: int, code: Any) -> tuple[bool, int]:
    """Search the tree of N, whose diagonal is chosen; code (d,) holds the best code, in place.

    Returns (whether the search was whole, nodes).
    """
    d = len(code)
    order, G, e, found = np.empty(d, np.int64), np.empty((d, d)), np.empty(d), np.ones(d)
    arrange(W, order)
    lift = 0.0
    while not factor(N, order, lift, G, e):
        lift = max(10.0 * lift, TOLERANCE)
        if lift > 1.0:
            return False, 0
    lower = -d * lift
    for i in range(d):
        lower -= N[i, i] + e[i] * e[i]
    _, nodes = explore(G, e, lower, best, TOLERANCE, limit, found)
    for i in range(d):
        if found[i] < 0.0:
            code[order[i]] = -code[order[i]]
    return nodes <= limit, nodes


@kernel
def exact(A: Any, c: Any, code: Any, seed: int, limit: int, s: Any) -> tuple[bool, int]:
    """The best code of one problem, in place of `code` (d,): (proven, nodes)."""
    d = len(c)
    size = magnitude(A, c)
    if size < SMALLEST:
        return size == 0.0, 0
    tabu(A, c, code, 2 + d // 8, d, seed, s)
    scale = 1.0 / size
    N, W = np.empty((d + 1, d + 1)), np.empty((d + 1, d + 1))
    whole, nodes = False, 0
    if d <= ROUGH_BITS:
        value = homogenise(A, c, code, scale, N)
        if convexify_roughly(N, W):
            whole, nodes = prove(N, W, value, min(ROUGH_NODES, limit), code)
    if not whole and nodes <= limit:
        value = homogenise(A, c, code, scale, N)
        if convexify(N, W, value, TOLERANCE):
            whole, more = prove(N, W, value, limit - nodes, code)
            nodes += more
    return whole, nodes


@kernel
def exact_range(stack: Any, seed: int, limit: int, begin: int, end: int) -> None:
    """Problems [begin, end); proven is False where `limit` nodes did not suffice."""
    s = make_scratch(stack.Z.shape[1])
    for row in range(begin, end):
        A, c, code = stack.A[row], stack.c[row], stack.Z[row]
        stack.proven[row], stack.steps[row] = exact(A, c, code, seed, limit, s)


@dataclass(frozen=True, kw_only=True)
class Exact(BatchSolver):
    """Proves the optimum, to 1e-11 of sum |A| + sum |c|.

    Of problems such as training makes, it proved all that were tried up to d = 128.

    node_limit: when so many nodes do not suffice, the best code found is returned and `proven`
    is False. Ten million take about half a second.
    """

    name: ClassVar[str] = "exact"
    node_limit: int = 10_000_000

    def __post_init__(self) -> None:
        if self.node_limit < 1:
            raise OptionError(f"node_limit is {self.node_limit}: give 1 or more.")

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        A, c = (of.astype(np.float64, copy=False) for of in (stack.A, stack.c))
        double = stack._replace(A=A, c=c)
        return lambda begin, end: exact_range(double, seed, self.node_limit, begin, end)
