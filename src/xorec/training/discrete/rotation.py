"""Rotation (ITQ, Gong & Lazebnik 2011): turn vectors so that taking signs loses least.

Alternate Z = sign(XQ) and Q = argmin |Z - XQ| over orthogonal Q (Procrustes: Z'X = W S V',
Q = V W'). Dot products of vectors do not change under Q, so a model ranks as before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
_MOST_ROWS = 32_768


def learn_rotation(*parts: Floats, rounds: int = 50, seed: int = 0) -> Floats:
    """An orthogonal (d, d) matrix Q that lowers |sign(XQ) - XQ|^2, for rows X of unit length.

    parts (., d): the rows. From a random start, and at most 32,768 of the rows, spread evenly: more
    do not change it.
    """
    d = parts[0].shape[1]
    rng = np.random.Generator(np.random.Philox(seed))
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    rows = unit_rows(_spread_evenly(parts))
    rotation = np.asarray(rotation, dtype=np.float32)
    for _ in range(rounds):
        codes = np.where(rows @ rotation >= 0, np.float32(1), np.float32(-1))
        left, _, right = np.linalg.svd((rows.T @ codes).astype(np.float64))
        rotation = np.asarray(left @ right, dtype=np.float32)
    return rotation


def _spread_evenly(parts: Sequence[Floats]) -> Floats:
    """At most 32,768 rows of all parts one below the other, at even distances."""
    step = max(1, -(-sum(map(len, parts)) // _MOST_ROWS))
    chosen, before = [], 0
    for part in parts:
        chosen.append(part[-before % step :: step])
        before += len(part)
    return np.vstack(chosen)


def to_dimensions(users: Floats, items: Floats, size: int) -> tuple[Floats, Floats]:
    """Vectors of length `size` whose dot products are nearest to the given ones.

    Longer vectors are laid on their first principal directions (not centred); shorter ones get
    zeros, which the rotation spreads.
    """
    given = users.shape[1]
    if given < size:
        users, items = (np.pad(rows, ((0, 0), (0, size - given))) for rows in (users, items))
    elif given > size:
        both = np.vstack([users, items]).astype(np.float64)
        _, directions = np.linalg.eigh(both.T @ both)
        basis = directions[:, ::-1][:, :size].astype(np.float32)
        users, items = users @ basis, items @ basis
    return users, items


def unit_rows(rows: npt.NDArray[np.floating]) -> Floats:
    """Rows of unit length; rows of zeros stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)
