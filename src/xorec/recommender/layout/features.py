"""What a layout is made of: bits, vectors, or directions of item weights, a row an item."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import one_blas_thread
from xorec.recommender.state import RecommenderState
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.representations.shared_scores import SharedScores

_DIRECTIONS = 8
_ROUNDS = 24
_MOST = 4e9
"""Products of a weight and a number, in all rounds: fewer rounds where there are many weights."""


def weight_directions(weights: Any) -> npt.NDArray[np.float32]:
    """Leading directions (m, 8) of the weights between m items, sparse or dense; unit columns.

    Subspace iteration with S = D^-1/2 (|W| + |W|') D^-1/2, D the row sums, without its first
    direction sqrt(D), which tells apart nothing: items that speak for the same items lie near each
    other. It starts from fixed numbers and has one order of sums: same weights, same bits.

    >>> two = np.array([[0, 2, 0, 0], [2, 0, .1, 0], [0, .1, 0, 2], [0, 0, 2, 0]], np.float32)
    >>> np.sign(weight_directions(two)[:, 0]).tolist() in ([1, 1, -1, -1], [-1, -1, 1, 1])
    True
    """
    size, first = _symmetric(weights)
    n, count = len(first), getattr(weights, "nnz", None) or max(1, np.size(weights))
    wanted = max(1, min(_DIRECTIONS, n - 1))
    rounds = int(np.clip(_MOST / (count * wanted * 2), 4, _ROUNDS))
    with one_blas_thread():
        block = np.sin(np.outer(np.arange(1, n + 1), np.arange(1, wanted + 1)) * 1.6180339887)
        for _ in range(rounds):
            block = _orthonormal(size(block) + block, first)  # + block: no eigenvalue below 0
        _, turned = np.linalg.eigh(block.T @ size(block))
        return np.ascontiguousarray(block @ turned[:, ::-1], dtype=np.float32)


def _symmetric(weights: Any) -> tuple[Any, npt.NDArray[np.float64]]:
    """The product with S, and its first direction."""
    W = abs(weights)
    degrees = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(np.maximum(degrees, 1e-12)).astype(np.float64)
    inverse = (1 / np.where(degrees > 0, root, np.inf))[:, None]
    first = np.where(degrees > 0, root, 0)
    T = W.T.tocsr() if hasattr(W, "tocsr") else W.T

    def product(block: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        scaled = (block * inverse).astype(np.float32)
        return np.asarray(inverse * (W @ scaled + T @ scaled), dtype=np.float64)

    return product, first / max(float(np.linalg.norm(first)), 1e-12)


def _orthonormal(
    block: npt.NDArray[np.float64], first: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Orthonormal columns of the same span, without `first`."""
    rest = block - np.outer(first, first @ block)
    q, r = np.linalg.qr(rest)
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


Floats = npt.NDArray[np.float32]
_GOLDEN = 0.6180339887498949


class Features:
    """Rows of numbers (m, d), made piece by piece: bits of a million items stay packed.

    >>> codes = np.array([[0b01], [0b11]], dtype=np.uint64)
    >>> Features(codes, bits=2).rows(slice(0, 2))
    array([[ 1., -1.],
           [ 1.,  1.]], dtype=float32)
    """

    def __init__(self, stored: npt.NDArray[Any], bits: int = 0) -> None:
        self._stored, self._bits = stored, bits

    def __len__(self) -> int:
        return len(self._stored)

    def rows(self, which: slice) -> Floats:
        """Some rows: bits as -1 and 1."""
        some = np.ascontiguousarray(self._stored[which])
        if not self._bits:
            return some.astype(np.float32, copy=False)
        spread = np.unpackbits(some.view(np.uint8), axis=1, bitorder="little", count=self._bits)
        return spread.astype(np.float32) * 2 - 1


def item_codes(state: RecommenderState) -> tuple[Words, int] | None:
    """The items' codes and their bits, where the model has codes."""
    bits = state.representation.code_length
    codes = state.representation.arrays().get("item_codes") if bits else None
    return None if codes is None or not bits else (codes, bits)


def features_of(state: RecommenderState) -> Features:
    """Codes before vectors before item weights; where items are not compared, their popularity."""
    learned, coded = state.representation, item_codes(state)
    if coded is not None:
        return Features(*coded)
    vectors = learned.arrays().get("item_vectors")
    if vectors is not None:
        return Features(vectors)
    if isinstance(learned, Neighbours):
        return Features(weight_directions(learned.similarity))
    if isinstance(learned, ItemWeights):
        found = weight_directions(learned.weights)
        spread = np.zeros((learned.n_items, found.shape[1]), dtype=np.float32)
        spread[learned.items] = found
        return Features(spread)
    scores = learned.item_scores if isinstance(learned, SharedScores) else state.prior
    return Features(_along_a_line(np.asarray(scores), state.tie_rank))


def _along_a_line(scores: npt.NDArray[Any], tie_rank: npt.NDArray[np.int32]) -> Floats:
    """The score to the right, and apart from each other by the tie order: nothing is alike."""
    size = np.log1p(np.maximum(scores, 0).astype(np.float64))
    apart = (tie_rank * _GOLDEN) % 1 - 0.5
    spread = np.column_stack([size / max(float(size.max(initial=0)), 1e-9), 0.3 * apart])
    return spread.astype(np.float32)
