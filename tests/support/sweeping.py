"""Small problems for sweeps over codes, and descent by single bits as a plain loop."""

from __future__ import annotations

import itertools

import numpy as np

from xorec.training.passes import Triplets


def random_problem(
    seed: int, n: int = 7, m: int = 9, d: int = 10, pairs: int = 40, count: int = 3
) -> tuple[np.ndarray, np.ndarray, Triplets]:
    """Codes and triplets at random, some negatives missing; items take both roles everywhere."""
    rng = np.random.default_rng(seed)
    B = rng.choice([-1, 1], size=(n, d)).astype(np.int8)
    D = rng.choice([-1, 1], size=(m, d)).astype(np.int8)
    users = np.sort(rng.integers(n, size=pairs)).astype(np.int32)
    positives = rng.integers(m - 1, size=pairs).astype(np.int32)
    shift = rng.integers(1, m - 1, size=(pairs, count))
    negatives = ((positives[:, None] + shift) % (m - 1)).astype(np.int32)
    negatives[rng.random((pairs, count)) < 0.1] = -1
    return B, D, Triplets(users, positives, negatives)  # the last item has no triplets


def descended(
    A: np.ndarray, c: np.ndarray, z: np.ndarray, passes: int, least: float = 1e-9
) -> np.ndarray:
    """Each bit in turn becomes -sign(sum over the others of A_kl z_l + c_k / 2).

    It stays where that is at most `least`.
    """
    z = z.astype(np.float64)
    for _, k in itertools.product(range(passes), range(len(z))):
        slope = A[k] @ z - A[k, k] * z[k] + c[k] / 2
        z[k] = z[k] if abs(slope) <= least else -np.sign(slope)
    return z
