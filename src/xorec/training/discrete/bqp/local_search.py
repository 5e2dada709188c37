"""Local search for min z'Az + c'z over {-1,+1}^d: 1-flip descent, and tabu with kicks.

It nearly always finds the optimum, but cannot prove it. Turning bit i changes the value by
change_i = 4 A_ii - 2 z_i (2Az + c)_i. Turning bit k changes every other change_i by 8 A_ik z_i z_k
and reverses the sign of change_k, so a turn and the next choice cost one pass over d numbers.

`descend` and `tabu` take one problem; `descend_range` and `tabu_range` take problems [begin, end)
of a stack, for `map_ranges`. A may be float32: sums are float64. What is found depends on the
problem and the seed, not on its place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import fast_helper, fast_kernel, kernel
from xorec.core.rng import below, draw, stream
from xorec.core.threads import ThreadPool
from xorec.training.discrete.bqp.base import (
    Codes,
    Floats,
    Solution,
    Solver,
    check_code,
    check_problem,
    check_seed,
    value_of,
)


class BatchSolver(Solver):
    """A solver with a kernel over [begin, end) of a stack."""

    def solve_many(
        self,
        A: npt.ArrayLike,
        c: npt.ArrayLike,
        Z: Codes,
        seed: int = 0,
        pool: ThreadPool | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Improve the codes Z (n, d), int8, in place; return (steps (n,), proven (n,)).

        A (n, d, d), c (n, d). Each problem ends as `solve` ends it, whatever the pool.
        """
        check_seed(seed)
        A, c = check_problem(A, c, stack=True)
        if check_code(Z, c.shape, "Z") is not Z:
            raise DataError(f"Z holds {Z.dtype}: give an array of int8, which is changed in place.")
        stack = _stack(A, c, Z)
        work = self._work(stack, seed)
        if pool is None:
            work(0, len(Z))
        else:
            pool.map_ranges(len(Z), work)
        return stack.steps, stack.proven

    def _solve(self, A: Floats, c: Floats, z: Codes, seed: int) -> Solution:
        stack = _stack(A[None], c[None], z[None].copy())
        self._work(stack, seed)(0, 1)
        found, proven, steps = stack.Z[0], bool(stack.proven[0]), int(stack.steps[0])
        return Solution(found, value_of(A, c, found), proven, steps)

    @abstractmethod
    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        """A function that solves the problems [begin, end)."""


def _stack(A: Floats, c: Floats, Z: Codes) -> Stack:
    return Stack(A, c, Z, np.zeros(len(Z), np.int64), np.zeros(len(Z), np.bool_))


FAR = 1e300  # above every value; infinities do not mix with fast sums
LEAST_GAIN = 1e-12  # a turn must gain this share of sum |A| + sum |c|: rounding gains less


class Stack(NamedTuple):
    """n problems, solved in place of their codes.

    A (n, d, d), c (n, d), Z (n, d) int8; steps (n,): turns of a bit, or nodes; proven (n,).
    """

    A: npt.NDArray[np.floating]
    c: npt.NDArray[np.floating]
    Z: npt.NDArray[np.int8]
    steps: npt.NDArray[np.int64]
    proven: npt.NDArray[np.bool_]


class SearchState(NamedTuple):
    """Room for one search, each (d,): its code, what turning each bit changes, when each bit is
    free again, and the best code so far."""

    z: npt.NDArray[np.float64]
    change: npt.NDArray[np.float64]
    free_at: npt.NDArray[np.float64]
    best: npt.NDArray[np.float64]


@kernel
def make_scratch(d: int) -> Any:
    """Room for searches of d bits."""
    return SearchState(np.empty(d), np.empty(d), np.empty(d), np.empty(d))


@fast_helper
def put(source: Any, target: Any) -> None:
    """target[:] = source, which takes numba seconds to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@fast_helper
def changes(A: Any, c: Any, z: Any, change: Any) -> float:
    """Write what turning each bit would change (d,); return the value z'Az + c'z."""
    d = len(z)
    value = 0.0
    for i in range(d):
        row = A[i]
        total = 0.0
        for j in range(d):
            total += row[j] * z[j]
        change[i] = 4.0 * row[i] - 2.0 * z[i] * (2.0 * total + c[i])
        value += z[i] * (total + c[i])
    return value


@fast_helper
def magnitude(A: Any, c: Any) -> float:
    """sum |A| + sum |c|: no value is larger than that."""
    total = 0.0
    for i in range(len(c)):
        row = A[i]
        part = 0.0
        for j in range(len(c)):
            part += abs(row[j])
        total += part + abs(c[i])
    return total


@fast_helper
def turn(A: Any, z: Any, change: Any, k: int) -> float:
    """Turn bit k; return the least change that another bit would make now."""
    row = A[k]
    factor, turned, lowest = 8.0 * z[k], change[k], FAR
    change[k] = FAR
    for i in range(len(z)):
        new = change[i] + factor * z[i] * row[i]
        change[i] = new
        lowest = new if new < lowest else lowest
    change[k] = -turned
    z[k] = -z[k]
    return lowest


@fast_helper
def turn_free(A: Any, z: Any, change: Any, free_at: Any, now: float, k: int) -> tuple[float, float]:
    """As `turn`; also the least change by a bit that is free (free_at <= now)."""
    row = A[k]
    factor, turned, lowest, lowest_free = 8.0 * z[k], change[k], FAR, FAR
    change[k] = FAR
    for i in range(len(z)):
        new = change[i] + factor * z[i] * row[i]
        change[i] = new
        lowest = new if new < lowest else lowest
        free = new if free_at[i] <= now else FAR
        lowest_free = free if free < lowest_free else lowest_free
    change[k] = -turned
    z[k] = -z[k]
    return lowest, lowest_free


@fast_helper
def go_down(A: Any, z: Any, change: Any, least: float) -> tuple[int, float]:
    """Turn the bit that gains most until none gains more than `least`: (turns, value gained)."""
    lowest = FAR
    for i in range(len(z)):
        lowest = change[i] if change[i] < lowest else lowest
    steps, gained = 0, 0.0
    while lowest < -least:
        k = 0
        while change[k] != lowest:
            k += 1
        gained += lowest
        lowest = turn(A, z, change, k)
        steps += 1
    return steps, gained


@fast_helper
def walk(A: Any, s: Any, lead: float, flips: int, key: Any, least: float) -> float:
    """`flips` tabu steps from s.z: each turns the best free bit, or one that gives a new best.

    lead: the value at s.z above that of s.best. Writes a better code to s.best; returns what is
    gained on it. A bit that was turned waits for 2 to 5 steps (measured: longer is worse).
    Where all wait, the last bit is turned.
    """
    z, change, free_at = s.z, s.change, s.free_at
    d = len(z)
    gained = 0.0
    lowest, lowest_free = FAR, FAR
    for i in range(d):
        free_at[i] = 0.0
        lowest = change[i] if change[i] < lowest else lowest
    lowest_free = lowest
    for now in range(flips):
        wanted = lowest if lead + lowest < -least else lowest_free
        k = 0
        while k < d - 1 and change[k] != wanted:
            k += 1
        lead += change[k]
        lowest, lowest_free = turn_free(A, z, change, free_at, now + 1.0, k)
        free_at[k] = now + 3.0 + below(draw(key, now), 4)
        if lead < -least:
            gained += lead
            lead = 0.0
            put(z, s.best)
    return gained


@fast_helper
def descend(A: Any, c: Any, code: Any, s: Any) -> int:
    """1-flip descent of one problem, in place of `code` (d,); return the turns."""
    put(code, s.z)
    changes(A, c, s.z, s.change)
    steps, _ = go_down(A, s.z, s.change, LEAST_GAIN * magnitude(A, c))
    if steps:
        put(s.z, code)
    return steps


@fast_helper
def tabu(A: Any, c: Any, code: Any, starts: int, flips: int, seed: int, s: Any) -> int:
    """Tabu with kicks for one problem, in place of `code` (d,); return the turns.

    From the code, then `starts - 1` times from the best code with about a quarter of its bits
    turned: descent, then `flips` tabu steps.
    """
    z, change, best = s.z, s.change, s.best
    least = LEAST_GAIN * magnitude(A, c)
    put(code, best)
    best_value, steps = 0.0, 0
    for start in range(starts):
        key = stream(seed, start, 0)
        put(best, z)
        if start:
            for i in range(len(z)):
                if draw(key, flips + i) >> np.uint64(62) == 0:
                    z[i] = -z[i]
        value = changes(A, c, z, change)
        if start == 0:
            best_value = value
        turns, gained = go_down(A, z, change, least)
        value += gained
        if value < best_value - least:
            best_value = value
            put(z, best)
        best_value += walk(A, s, value - best_value, flips, key, least)
        steps += turns + flips
    put(best, code)
    return steps


@fast_kernel
def descend_range(stack: Any, begin: int, end: int) -> None:
    """Problems [begin, end)."""
    s = make_scratch(stack.Z.shape[1])
    for row in range(begin, end):
        stack.steps[row] = descend(stack.A[row], stack.c[row], stack.Z[row], s)


@fast_kernel
def tabu_range(stack: Any, starts: int, flips: int, seed: int, begin: int, end: int) -> None:
    """Problems [begin, end)."""
    s = make_scratch(stack.Z.shape[1])
    for row in range(begin, end):
        A, c, code = stack.A[row], stack.c[row], stack.Z[row]
        stack.steps[row] = tabu(A, c, code, starts, flips, seed, s)


@dataclass(frozen=True)
class Descent(BatchSolver):
    """Turn the bit that gains most until no single bit gains."""

    name: ClassVar[str] = "descent"

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        return lambda begin, end: descend_range(stack, begin, end)


@dataclass(frozen=True, kw_only=True)
class Tabu(BatchSolver):
    """Descent and a tabu walk, from the start and then from kicks of the best code.

    starts: walks in all. flips: steps of a walk; None takes d.
    """

    name: ClassVar[str] = "tabu"
    starts: int = 8
    flips: int | None = None

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise OptionError(f"starts is {self.starts}: give 1 or more.")
        if self.flips is not None and self.flips < 0:
            raise OptionError(f"flips is {self.flips}: give 0 or more, or leave it out.")

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        flips = stack.Z.shape[1] if self.flips is None else self.flips
        return lambda begin, end: tabu_range(stack, self.starts, flips, seed, begin, end)
