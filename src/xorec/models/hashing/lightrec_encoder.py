"""LightRec's encoder: an item's vector as a sum of codewords, one of each codebook.

x_1 = v;  logits l_b = x_b M_b C_b' - |c|^2 / 2;  the codeword e_b is the one of the largest logit;
x_{b+1} = x_b - e_b;  q = sum_b e_b. A step back takes the choice for p_b = softmax(l_b / t)
(straight-through), so that the gradient also tells C_b and M_b which codeword to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.models.hashing.lightrec_kernels import add_rows, through_softmax

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

        over_rows(len(vectors), _ROWS, pool, encode_rows)
        return codes, sums

    def gradients(
        self, vectors: Array, codes: Codes, item_gradients: Array, pool: ThreadPool
    ) -> tuple[Array, Array]:
        """The gradients at C and M, from those at q (m, D)."""
        pieces = pieces_of(len(vectors), _ROWS)
        at_words = np.zeros((len(pieces), *self.codebooks.shape), dtype=vectors.dtype)
        at_transforms = np.zeros((len(pieces), *self.transforms.shape), dtype=vectors.dtype)

        def work(piece: int) -> None:
            for rows in pieces[piece]:
                self._back(
                    vectors[rows],
                    codes[rows],
                    item_gradients[rows],
                    at_words[piece],
                    at_transforms[piece],
                )

        pool.map(len(pieces), work)
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


def pieces_of(rows: int, size: int) -> list[list[slice]]:
    """At most 16 pieces of the rows, the same for any number of threads, each in runs of `size`."""
    cuts = [slice(begin, min(begin + size, rows)) for begin in range(0, rows, size)]
    count = min(_PIECES, len(cuts))
    return [cuts[piece::count] for piece in range(count)]


def over_rows(rows: int, size: int, pool: ThreadPool, work: Callable[[slice], object]) -> None:
    """work(slice) for runs of `size` rows that cover all."""
    pieces = pieces_of(rows, size)
    pool.map(len(pieces), lambda piece: [work(run) for run in pieces[piece]])
