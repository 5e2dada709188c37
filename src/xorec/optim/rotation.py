"""Rotation (ITQ, Gong & Lazebnik 2011): turn vectors so that taking signs loses least.

Alternate Z = sign(XQ) and Q = argmin |Z - XQ| over orthogonal Q (Procrustes: Z'X = W S V',
Q = V W'). Dot products of vectors do not change under Q, so a model ranks as before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def quantisation_error(
    vectors: npt.NDArray[np.floating], rotation: npt.NDArray[np.floating]
) -> float:
    """|sign(XQ) - XQ|^2 / (n d) for rows of unit length times sqrt(d): 0 if they are codes."""
    turned = _scaled(vectors) @ rotation
    return float(np.mean((_signs(turned) - turned) ** 2))


def learn_rotation(vectors: Floats, *, rounds: int = 50, seed: int = 0) -> Floats:
    """An orthogonal (d, d) matrix that lowers the quantisation error; from a random start."""
    d = vectors.shape[1]
    rng = np.random.Generator(np.random.Philox(seed))
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    rows = _scaled(vectors)
    for _ in range(rounds):
        codes = _signs(rows @ rotation)
        left, _, right = np.linalg.svd(rows.T @ codes)
        rotation = left @ right
    return np.asarray(rotation, dtype=np.float32)


def _scaled(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Rows of length sqrt(d), the length of codes; rows of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)
    return np.asarray(unit * np.sqrt(vectors.shape[1]), dtype=np.float64)


def _signs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(values >= 0, 1.0, -1.0)
