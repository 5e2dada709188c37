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
def through_softmax(shares: Any, slopes: Any, temperature: Any) -> None:
    """Slopes at p = softmax(l / t) become slopes at l: p (slope - p.slope) / t, in place.

    shares p and slopes (P, W).
    """
    words = shares.shape[1]
    for i in range(len(shares)):
        mean = shares[i, 0] * slopes[i, 0]
        for w in range(1, words):
            mean += shares[i, w] * slopes[i, w]
        for w in range(words):
            slopes[i, w] = shares[i, w] * (slopes[i, w] - mean) / temperature
