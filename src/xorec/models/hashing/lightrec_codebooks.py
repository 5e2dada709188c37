"""Where LightRec's codebooks start: k-means on the items, then on what is left of them, and so on.

Before it, vectors are turned so that the users' second moments are those of white noise, U'U = n I:
then |v - q|^2 is the mean over users of the squared error of the item's scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.models.hashing.lightrec_kernels import add_rows

Floats = npt.NDArray[np.float32]
_ROUNDS = 12
_MOST_ROWS = 65_536  # that k-means looks at
_CHUNK = 4096


def code_shape(bits: int, codebook_bits: int = 0) -> tuple[int, int]:
    """How many codebooks, and how many codewords each has: log2 W bits divide the bits of a code.

    codebook_bits: log2 W; 0: the most of 2 to 8 that divides.
    """
    widths = (codebook_bits,) if codebook_bits else range(8, 1, -1)
    width = next((w for w in widths if bits % w == 0), 0)
    if not width:
        near = next(n for n in range(bits, bits + 9) if any(n % w == 0 for w in widths))
        raise OptionError(
            f"lightrec: {bits} bits cannot be cut into codebooks of "
            f"{codebook_bits or '2 to 8'} bits each: take a multiple, as {near}."
        )
    return bits // width, 2**width


def whitening(users: Floats) -> tuple[Floats, Floats]:
    """T and its inverse (D, D), so that users T^-1 have U'U = n I; items are to be times T'.

    Directions that users hardly have count as a thousandth of the mean.
    """
    moments = users.T.astype(np.float64) @ users / max(1, len(users))
    values, directions = np.linalg.eigh(moments)
    least = 1e-3 * max(values.mean(), 1e-12)
    roots = np.sqrt(np.maximum(values, least))
    turn, back = directions * roots @ directions.T, directions / roots @ directions.T
    return turn.astype(np.float32), back.astype(np.float32)


def item_weights(counts: npt.NDArray[np.integer], power: float) -> Floats:
    """What the items' errors count, (1 + users)^power, with a sum of 1."""
    weights = (1.0 + counts) ** power
    return np.asarray(weights / weights.sum(), dtype=np.float32)


def residual_codebooks(
    vectors: Floats, weights: Floats, books: int, words: int, seed: int
) -> Floats:
    """Codebooks (B, W, D): the means of each k-means are taken off before the next.

    weights (m,): what an item counts. Learned from at most 65,536 items.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    rows = np.arange(len(vectors))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rng.choice(rows, _MOST_ROWS, replace=False))
    left, weights = vectors[rows].copy(), weights[rows]
    found = np.empty((books, words, vectors.shape[1]), dtype=np.float32)
    for b in range(books):
        found[b], nearest = _k_means(left, weights, words, rng)
        left -= found[b][nearest]
    return found


def _k_means(
    rows: Floats, weights: Floats, words: int, rng: np.random.Generator
) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The weighted means, and the nearest of each row. A mean without rows takes a far row."""
    first = rng.permutation(len(rows))[:words]
    means = np.zeros((words, rows.shape[1]), dtype=np.float32)
    means[: len(first)] = rows[first]
    weighted = rows * weights[:, None]
    for _ in range(_ROUNDS):
        nearest, distances = _nearest(rows, means)
        sums = np.zeros_like(means)
        add_rows(sums, nearest, weighted)
        total = np.bincount(nearest, weights, minlength=words)
        full = total > 0
        means[full] = sums[full] / total[full, None].astype(np.float32)
        empty = np.flatnonzero(~full)
        far = np.argsort(-distances * weights, kind="stable")[: len(empty)]
        means[empty[: len(far)]] = rows[far]
    return means, _nearest(rows, means)[0]


def _nearest(rows: Floats, means: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """The nearest mean of each row, and the squared distance to it."""
    half = np.float32(0.5) * np.einsum("wd,wd->w", means, means)
    nearest = np.empty(len(rows), dtype=np.intp)
    best = np.empty(len(rows), dtype=np.float32)
    for begin in range(0, len(rows), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        logits = rows[part] @ means.T - half
        nearest[part] = logits.argmax(axis=1)
        best[part] = logits[np.arange(len(logits)), nearest[part]]
    squares: Any = np.einsum("md,md->m", rows, rows)
    return nearest, np.asarray(squares - 2 * best, dtype=np.float32)
