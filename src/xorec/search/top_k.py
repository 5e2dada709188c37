"""Exact top-k of float scores under the tie rule, seen items out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError
from xorec.data.tie_rank import TieRank
from xorec.search.hits import Exclude, Hits

_BLOCKS = 256
"""At least so many, of which the maxima are taken: see `_near_the_top`."""


def top_k(
    scores: npt.NDArray[np.float32], k: int, tie_rank: TieRank, exclude: Exclude | None = None
) -> Hits:
    """The `k` best items of each row of `scores` (B, m): score descending, then tie rank.

    NaN ranks with -inf, after every number. `k` may exceed m. The scores are only read.

    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.9, 0.9]], dtype=np.float32)
    >>> top_k(scores, 2, tie_rank=np.array([0, 2, 1], dtype=np.int32)).items
    array([[2, 1]], dtype=int32)
    """
    from xorec.search.top_k_kernels import BestRows, TieRanks, top_k_rows

    scores = np.ascontiguousarray(scores, dtype=np.float32)
    rows, m = scores.shape
    _check_tie_rank(tie_rank, m)
    width = min(positive_int(k), m)
    indptr, indices = exclude or (np.zeros(rows + 1, np.int64), np.zeros(0, np.int32))
    if len(indptr) != rows + 1:
        raise DataError(f"exclude has {len(indptr) - 1} rows but the scores have {rows}.")
    best = BestRows(
        np.zeros((rows, width), np.int32),
        np.zeros((rows, width), np.float32),
        np.zeros(rows, np.int64),
    )
    ranks = TieRanks(np.ascontiguousarray(tie_rank, dtype=np.int32), inverse(tie_rank))
    lists = (
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
    )
    top_k_rows(scores, ranks, lists, best)
    return Hits(*best)


def top_k_row(
    scores: npt.NDArray[np.float32],
    k: int,
    tie_rank: TieRank,
    exclude: npt.NDArray[np.integer] | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """`top_k` of one row (m,) in plain NumPy: (items, scores), the same answer.

    For a single request in a fresh process, where loading numba would take longer than ranking.

    >>> import numpy as np
    >>> scores, tie_rank = np.array([0.5, 0.9, 0.9], np.float32), np.array([0, 2, 1], np.int32)
    >>> top_k_row(scores, 2, tie_rank, exclude=np.array([2]))
    (array([1, 0], dtype=int32), array([0.9, 0.5], dtype=float32))
    """
    _check_tie_rank(tie_rank, len(scores))
    k = positive_int(k)
    near = _near_the_top(scores, k, exclude)
    if near is not None:
        items = near[np.lexsort((tie_rank[near], -scores[near]))[:k]]
        return items, scores[items]
    candidates = np.arange(len(scores), dtype=np.int32)
    if exclude is not None and len(exclude):
        candidates = np.delete(candidates, exclude)
    values = scores[candidates]
    values = np.where(np.isnan(values), np.float32(-np.inf), values)
    if k < len(candidates):
        near = values >= np.partition(values, len(values) - k)[len(values) - k]
        candidates, values = candidates[near], values[near]
    items = candidates[np.lexsort((tie_rank[candidates], -values))[:k]]
    return items, scores[items]


def _near_the_top(
    scores: npt.NDArray[np.float32], k: int, exclude: npt.NDArray[np.integer] | None
) -> npt.NDArray[np.int32] | None:
    """Few items with the `k` best of those that may be shown among them; None: rank them all.

    The k-th largest of the maxima of blocks bounds the k-th largest score from below, at the cost
    of one pass over the scores instead of a partition.
    """
    blocks = max(_BLOCKS, 8 * k)
    width = len(scores) // blocks
    if width < 2:
        return None
    shown = scores.copy()
    if exclude is not None:
        shown[exclude] = -np.inf
    maxima = shown[: blocks * width].reshape(blocks, width).max(axis=1)
    bound = np.partition(maxima, blocks - k)[blocks - k]
    if not bound > -np.inf or np.isnan(maxima.max()):
        return None
    return np.flatnonzero(shown >= bound).astype(np.int32)


def inverse(tie_rank: TieRank) -> npt.NDArray[np.int32]:
    """The item at each tie rank, int32 (m,).

    >>> import numpy as np
    >>> inverse(np.array([2, 0, 1], dtype=np.int32))
    array([1, 2, 0], dtype=int32)
    """
    item_at = np.empty(len(tie_rank), dtype=np.int32)
    item_at[tie_rank] = np.arange(len(tie_rank), dtype=np.int32)
    return item_at


def _check_tie_rank(tie_rank: TieRank, m: int) -> None:
    if tie_rank.shape != (m,):
        raise DataError(f"tie_rank has shape {tie_rank.shape} but the scores have {m} items.")
