"""The loops of LightRec's encoder that are not products of matrices."""

from __future__ import annotations

from typing import Any

from xorec.core.kernels import fast_kernel


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
