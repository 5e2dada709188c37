"""LightRec's encoder: an item's vector as a sum of codewords, one of each codebook.

Codebooks start from k-means on the items, then on what is left of them, and so on. Before it,
vectors are turned so that the users' second moments are those of white noise, U'U = n I: then
|v - q|^2 is the mean over users of the squared error of the item's scores.

x_1 = v;  logits l_b = x_b M_b C_b' - |c|^2 / 2;  the codeword e_b is the one of the largest logit;
x_{b+1} = x_b - e_b;  q = sum_b e_b. A step back takes the choice for p_b = softmax(l_b / t)
(straight-through), so that the gradient also tells C_b and M_b which codeword to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.kernels import fast_kernel
from xorec.core.threads import ThreadPool


@fast_kernel
def add_rows(sums: Any, words: Any, rows: Any) -> None:
    """sums[words[i]] += rows[i], row after row. sums (W, d), words (P,), rows (P, d)."""
    for i in range(len(words)):
        word = words[i]
        for f in range(rows.shape[1]):
            sums[word, f] += rows[i, f]


@fast_kernel
def through_softmax(shares: Any, gradients: Any, temperature: Any) -> None:
    """Gradients at p = softmax(l / t) become gradients at l: p (g - p.g) / t, in place.

    shares p and gradients (P, W).
    """
    words = shares.shape[1]
    for i in range(len(shares)):
        mean = shares[i, 0] * gradients[i, 0]
        for w in range(1, words):
            mean += shares[i, w] * gradients[i, w]
        for w in range(words):
            gradients[i, w] = shares[i, w] * (gradients[i, w] - mean) / temperature


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


Array = npt.NDArray[Any]
Codes = npt.NDArray[np.uint8]
_PIECES = 16
"""Pieces of the items, the same for any number of threads: each sums its own gradients."""
_ROWS = 1024
"""Rows that a piece works off at a time: their logits stay in the cache."""


@dataclass(frozen=True, eq=False)
class ItemEncoder:
    """codebooks C (B, W, D), transforms M (B, D, D); W is at most 256.

    With M = I the nearest codeword is chosen.
    """

    codebooks: Array
    transforms: Array
    temperature: float

    def encode(self, vectors: Array, pool: ThreadPool) -> tuple[Codes, Array]:
        """The codes (m, B) of the vectors (m, D), and the sums of their codewords (m, D)."""
        codes = np.empty((len(vectors), len(self.codebooks)), dtype=np.uint8)
        sums = np.zeros_like(vectors)
        offsets = self._offsets()

        def encode_rows(rows: slice) -> None:
            x = vectors[rows].copy()
            for b, words in enumerate(self.codebooks):
                logits = x @ self.transforms[b] @ words.T
                logits -= offsets[b]
                chosen = logits.argmax(axis=1)
                codes[rows, b] = chosen
                sums[rows] += words[chosen]
                x -= words[chosen]

        runs = _runs(len(vectors))
        pool.map(len(runs), lambda run: encode_rows(runs[run]))
        return codes, sums

    def gradients(
        self, vectors: Array, codes: Codes, item_gradients: Array, pool: ThreadPool
    ) -> tuple[Array, Array]:
        """The gradients at C and M, from those at q (m, D)."""
        runs = _runs(len(vectors))
        pieces = min(_PIECES, len(runs))
        at_words = np.zeros((pieces, *self.codebooks.shape), dtype=vectors.dtype)
        at_transforms = np.zeros((pieces, *self.transforms.shape), dtype=vectors.dtype)

        def work(piece: int) -> None:
            sums = (at_words[piece], at_transforms[piece])
            for rows in runs[piece::pieces]:
                self._back(vectors[rows], codes[rows], item_gradients[rows], *sums)

        pool.map(pieces, work)
        return at_words.sum(axis=0), at_transforms.sum(axis=0)

    def _back(
        self, x: Array, codes: Codes, at_sum: Array, at_words: Array, at_transforms: Array
    ) -> None:
        """Add the gradients of a few items to at_words (B, W, D) and at_transforms (B, D, D)."""
        offsets, temperature = self._offsets(), x.dtype.type(self.temperature)
        passed = []
        for b, words in enumerate(self.codebooks):
            y = x @ self.transforms[b]
            passed.append((x, y, self._shares(y @ words.T - offsets[b])))
            x = x - words[codes[:, b]]
        at_rest = np.zeros_like(x)  # the gradient at x_{b+1}
        for b in reversed(range(len(self.codebooks))):
            words, (x, y, shares) = self.codebooks[b], passed[b]
            at_word = at_sum - at_rest
            add_rows(at_words[b], codes[:, b], at_word)
            at_logits = at_word @ words.T
            through_softmax(shares, at_logits, temperature)
            at_y = at_logits @ words
            at_words[b] += at_logits.T @ y
            at_words[b] -= at_logits.sum(axis=0)[:, None] * words
            at_transforms[b] += x.T @ at_y
            at_rest += at_y @ self.transforms[b].T

    def _shares(self, logits: Array) -> Array:
        """softmax(l / t) of each row, in place."""
        logits -= logits.max(axis=1, keepdims=True)
        logits /= logits.dtype.type(self.temperature)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def _offsets(self) -> Array:
        """What is taken off the logits, |c|^2 / 2: (B, W)."""
        half = self.codebooks.dtype.type(0.5)
        return np.asarray(half * (self.codebooks * self.codebooks).sum(axis=-1))


def _runs(rows: int) -> list[slice]:
    """All rows, in runs of `_ROWS`."""
    return [slice(begin, min(begin + _ROWS, rows)) for begin in range(0, rows, _ROWS)]
