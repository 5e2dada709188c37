"""Solvers of min z'Az + c'z over z in {-1,+1}^d.

`solve` checks the problem and never returns a code worse than `start`. The same problem, start and
seed give the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import kernel
from xorec.core.rng import below, draw, stream

Floats = npt.NDArray[np.floating]
Codes = npt.NDArray[np.int8]

MOST_BITS = 256
LARGEST = 1e285
ROUNDING = {"float32": 1e-5, "float64": 1e-9}
"""The asymmetry that rounding explains, as a share of the largest |A_ij|."""


@dataclass(frozen=True)
class Solution:
    """A solver's result.

    z: the code, int8 (d,). value: z'Az + c'z. proven: no code is better (beyond rounding).
    steps: nodes of the tree, or turns of a bit.
    """

    z: Codes
    value: float
    proven: bool
    steps: int


class Solver(ABC):
    """Solves one problem at a time."""

    name: ClassVar[str]

    def solve(
        self,
        A: npt.ArrayLike,
        c: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        seed: int = 0,
    ) -> Solution:
        """The best code found. A: symmetric (d, d); c: (d,); start: a code (d,), or None.

        Without `start` the search begins at signs drawn from the seed.
        """
        check_seed(seed)
        A, c = check_problem(A, c)
        z = random_code(len(c), seed) if start is None else check_code(start, c.shape)
        found = self._solve(A, c, z, seed)
        if found.value <= value_of(A, c, z):
            return found
        return Solution(z, value_of(A, c, z), found.proven, found.steps)

    @abstractmethod
    def _solve(self, A: Floats, c: Floats, z: Codes, seed: int) -> Solution: ...


def value_of(A: Floats, c: Floats, z: Codes) -> float:
    """z'Az + c'z in float64."""
    code = z.astype(np.float64)
    return float(code @ A.astype(np.float64) @ code + c.astype(np.float64) @ code)


def check_seed(seed: int) -> None:
    """Refuse a seed that is no key of a stream."""
    if not 0 <= seed < 2**63:
        raise OptionError(f"seed is {seed}: give a number from 0 to 2**63 - 1.")


def check_problem(
    A: npt.ArrayLike, c: npt.ArrayLike, *, stack: bool = False
) -> tuple[Floats, Floats]:
    """A (d, d) and c (d,), or a stack (n, d, d) and (n, d), as contiguous floats, or a DataError.

    float32 stays.
    """
    A, c = _floats(A, "A"), _floats(c, "c")
    if A.ndim != 2 + stack or A.shape[-1] != A.shape[-2]:
        needed = "a stack of square matrices (n, d, d)" if stack else "a square matrix (d, d)"
        raise DataError(f"A has shape {A.shape}: give {needed}.")
    if c.shape != A.shape[:-1]:
        raise DataError(f"c has shape {c.shape} but A has {A.shape}: give c as {A.shape[:-1]}.")
    if not stack:
        return _check_entries(A[None], c[None])[0], c
    return _check_entries(A, c) if len(A) else A, c


def check_code(z: npt.ArrayLike, shape: tuple[int, ...], name: str = "start") -> Codes:
    """The code, or stack of codes, as int8 of `shape`, or a DataError."""
    code = np.asarray(z)
    if code.shape != shape:
        raise DataError(f"{name} has shape {code.shape}: give {shape}.")
    wrong = code[(code != 1) & (code != -1)]
    if len(wrong):
        raise DataError(f"{name} has the entry {wrong[0]}: every entry must be -1 or +1.")
    return code.astype(np.int8, copy=False)


@kernel
def random_code(d: int, seed: int) -> Codes:
    """Signs drawn from the seed, int8 (d,)."""
    code = np.empty(d, dtype=np.int8)
    key = stream(seed, 0, 0)
    for at in range(d):
        code[at] = 1 - 2 * below(draw(key, at), 2)
    return code


def _floats(values: npt.ArrayLike, name: str) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {array.dtype}, not real numbers.")
    return np.ascontiguousarray(array, None if array.dtype == np.float32 else np.float64)


def _check_entries(A: Floats, c: Floats) -> Floats:
    """Refuse a stack with too many bits, NaN, infinities, huge or asymmetric entries.

    Returns A, symmetric to the last bit.
    """
    if not 1 <= c.shape[1] <= MOST_BITS:
        raise DataError(f"the problem has {c.shape[1]} bits: give 1 to {MOST_BITS}.")
    for name, array in (("A", A), ("c", c)):
        largest = min(LARGEST, float(np.finfo(array.dtype).max))
        wrong = np.argwhere(~(np.abs(array) <= largest))
        if len(wrong):
            problem, *at = (int(i) for i in wrong[0])
            where = f"{name}{at}" + (f" of problem {problem}" if len(A) > 1 else "")
            raise DataError(
                f"{where} is {array[problem, *at]}: every entry must be finite and below 1e285."
            )
    with np.errstate(over="ignore"):
        difference = np.abs(A - A.swapaxes(1, 2)).max(axis=(1, 2))
    allowed = ROUNDING[A.dtype.name] * np.abs(A).max(axis=(1, 2))
    if (difference > allowed).any():
        raise DataError(
            f"A is not symmetric: A and A.T differ by up to {difference.max():.3g}; "
            "pass (A + A.T)/2."
        )
    return (A + A.swapaxes(1, 2)) / 2 if difference.any() else A
