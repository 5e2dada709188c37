"""Problems such as training makes, without training: for tests and benchmarks.

Codes are random, or clustered as those of real items are. A block of |T| triplets around one
user or item gives A and c by the one rule of the bound: for a term t = w.z + s of weight omega,

    A += omega p(t) w w'        c += omega (2 p(t) s + 1/2) w        p(t) = tanh(|t|/2) / (4|t|)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class BlockProblems:
    """Draws the sub-problem of one user or item, min z'Az + c'z, and the code it starts from.

    bits: d. triplets: the smallest and the largest |T|. codes: independent bits, or groups around
    a centre with one bit in eight turned. temperature: tau; None is the paper's, d.
    """

    bits: int
    triplets: tuple[int, int] = (50, 500)
    codes: Literal["random", "clustered"] = "clustered"
    temperature: float | None = None
    gamma: float = 1.0
    lambda_: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.triplets[0] <= self.triplets[1]:
            raise OptionError(f"triplets is {self.triplets}: give (fewest, most), 1 or more.")

    def draw(self, n: int, seed: int = 0) -> tuple[Floats, Floats, Codes]:
        """A (n, d, d), c (n, d) and start (n, d): users, positive and negative items in turn."""
        rng = np.random.default_rng(seed)
        A = np.empty((n, self.bits, self.bits))
        c = np.empty((n, self.bits))
        start = np.empty((n, self.bits), dtype=np.int8)
        for row in range(n):
            A[row], c[row], start[row] = self._block(rng, row % 3)
        return A, c, start

    def _block(self, rng: np.random.Generator, role: int) -> tuple[Floats, Floats, Codes]:
        """One block: its own code, and for each triplet the two others (near it, and far)."""
        size = int(rng.integers(self.triplets[0], self.triplets[1] + 1))
        centres = np.where(rng.random((20, self.bits)) < 0.5, -1.0, 1.0)
        near = self._around(rng, centres[rng.integers(0, 2, size)])
        far = self._around(rng, centres[rng.integers(0, 20, size)])
        code = self._around(rng, centres[:1])[0]
        A, c = np.zeros((self.bits, self.bits)), np.zeros(self.bits)
        for omega, w, s in self._terms(role, near, far):
            t = w @ code + s
            p = _curvature(t)
            A += (w * (omega * p)[:, None]).T @ w
            c += (omega * (2 * p * s + 0.5)) @ w
        return (A + A.T) / 2, c, code.astype(np.int8)

    def _terms(
        self, role: int, first: Floats, second: Floats
    ) -> list[tuple[float, Floats, Floats]]:
        """(omega, w, s) of the terms x and y; role 0: user, 1: positive item, 2: negative item.

        first, second (T, d): (d_i, d_j), (b_u, d_j) or (b_u, d_i).
        """
        d, g = self.bits, self.gamma**2
        tau = (self.temperature or d) / d
        dots = (first * second).sum(axis=1)
        if role == 0:
            x, y = (second - first, 0 * dots), (2 * g * second - (1 + g) * first, 2 * g * dots)
        elif role == 1:
            x, y = (-first, dots), (2 * g * second - (1 + g) * first, 2 * g * dots)
        else:
            x, y = (first, -dots), (2 * g * (first + second), -(1 + g) * dots)
        return [
            (1.0, x[0] / (2 * d), x[1] / (2 * d)),
            (self.lambda_, tau * y[0], tau * y[1]),
        ]

    def _around(self, rng: np.random.Generator, centres: Floats) -> Floats:
        """Codes of the group of each centre; unrelated ones if codes are random."""
        turned = 0.5 if self.codes == "random" else 0.125
        return np.where(rng.random(centres.shape) < turned, -centres, centres)


def _curvature(t: Floats) -> Floats:
    """p(t) of the Jaakkola-Jordan bound; p(0) = 1/8."""
    size: Floats = np.maximum(np.abs(t), 1e-6)
    p: Floats = np.tanh(size / 2) / (4 * size)
    return p
