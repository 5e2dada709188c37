"""EASE (Steck 2019): every item is predicted from all others, by least squares in closed form.

minimise  |X - X B|^2 + reg |B|^2  over B with a zero diagonal, X the users x items matrix of ones,
or of the roots of the weights.
With P = (X'X + reg I)^-1 the answer is B_ij = -P_ij / P_jj, and a user's scores are x_u B.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.errors import OptionError
from xorec.core.kernels import kernel
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import Part
from xorec.models.baselines.item_knn import ItemModel, root_matrix, root_weights
from xorec.models.linear_algebra import bytes_needed, negative_inverse, rows_within
from xorec.representations.base import Representation
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.search.top_k import score_key, select
from xorec.training.config import Float, ModelConfig, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@kernel
def count_together(by_user: Any, by_item: Any, found: Any, begin: Any, end: Any) -> None:
    """Rows begin..end of the lower half of X'X into found (end - begin, m): users who have both.

    by_user (indptr, items, roots), by_item (indptr, users, roots): roots of the weights, or empty.
    """
    indptr, indices, roots = by_user
    item_indptr, item_users, item_roots = by_item
    for i in range(begin, end):
        row = found[i - begin]
        row[: i + 1] = 0
        for at in range(item_indptr[i], item_indptr[i + 1]):
            user = item_users[at]
            for pair in range(indptr[user], indptr[user + 1]):
                j = indices[pair]
                if j > i:
                    break
                row[j] += item_roots[at] * roots[pair] if len(roots) else 1


@kernel
def largest_weights(
    weights: Any, tie_rank: Any, item_at: Any, targets: Any, values: Any, begin: Any, end: Any
) -> None:
    """Of rows begin..end of weights (m, m), the columns of the largest values by size.

    Into rows of targets and values (m, width), largest first; equal ones by the tie rule.
    """
    m, width = targets.shape
    keys = np.empty(m, dtype=np.uint64)
    for i in range(begin, end):
        for j in range(m):
            keys[j] = score_key(np.float32(abs(weights[i, j]))) | np.uint64(tie_rank[j])
        if width < m:
            select(keys, m, width)
        keys[:width].sort()
        for place in range(width):
            j = item_at[np.int64(keys[place] & np.uint64(0xFFFFFFFF))]
            targets[i, place] = j
            values[i, place] = weights[i, j]


_SMALL = 5_000
"""So many items, at most, are worked on in float64."""

Weights = npt.NDArray[np.floating[Any]]


class EASEConfig(ModelConfig):
    """Settings of EASE."""

    reg: float = Field(250.0, gt=0, description="L2 penalty of the item-to-item weights (lambda)")
    items: int = Field(0, ge=0, description="only so many most popular items are learned; 0: all")
    neighbours: int = Field(0, ge=0, description="largest weights of an item that are kept; 0: all")


class EASE(ItemModel[EASEConfig]):
    """A linear model from items to items.

    `items` and `neighbours` make it smaller: all weights of m items take 4 m^2 bytes. On ml-1m
    (3,706 items, reg 500, validation NDCG@20) 100 weights an item gave 0.2005, 300 gave 0.2031,
    1,000 gave 0.2047 and all 0.2051; the largest that speak for an item, in place of those that
    it speaks by, gave 0.1983, 0.2025 and 0.2048.

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "rye"), ("eve", "tea")]
    >>> data = xorec.Interactions.from_pairs(pairs)
    >>> shop = xorec.Recommender.from_model(xorec.EASE(reg=1.0).fit(data), data)
    >>> [found.id for found in shop.recommend("eve", 1).items]
    ['rye']
    """

    name = "ease"
    Config = EASEConfig
    work = "dense"
    weighting = "a pair's entry in the matrix is the square root of its weight"
    space: ClassVar[Space] = {"reg": Float(5.0, 2000.0, log=True)}

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        order = tie_rank(train.items, train.item_counts)
        count = min(self.config.items or train.n_items, train.n_items)
        items = np.sort(np.argsort(order)[:count]).astype(np.int32)
        with options.thread_pool() as pool:
            weights = item_weights(train, items, self.config.reg, pool)
            width = self.config.neighbours
            if not width:
                kept = weights.astype(np.float32, copy=False)
                return ItemWeights(kept, items, root_matrix(train))
            similarity = _largest(weights, items, order, min(width, count), pool)
        return Neighbours.of(similarity, root_matrix(train))

    def _kind(self) -> Any:
        return Neighbours if self.config.neighbours else ItemWeights


def item_weights(
    train: Interactions, items: npt.NDArray[np.integer], reg: float, pool: ThreadPool
) -> Weights:
    """B (k, k) between `items` (ascending rows): float64 where they are few, else float32."""
    k = len(items)
    dtype = np.float64 if k <= _SMALL else np.float32
    needed, available = bytes_needed(k, dtype), memory_available()
    if available is not None and needed > available:
        fitting = rows_within(available * 9 // 10, dtype)
        raise OptionError(
            f"ease: {k:,} items need {needed:,} bytes and {available:,} are free: set items, "
            f"for example items={fitting}, to weigh only the most popular ones."
        )
    B = np.empty((k, k), dtype=dtype)
    by_user, by_item = _columns(train, items)
    pool.map_ranges(
        k,
        lambda begin, end: count_together(by_user, by_item, B[begin:end], begin, end),
        per_thread=16,
    )
    B[np.diag_indices(k)] += dtype(reg)
    negative_inverse(B, pool)
    diagonal = -B.diagonal()
    pool.map_ranges(k, lambda begin, end: np.divide(B[begin:end], diagonal, out=B[begin:end]))
    np.fill_diagonal(B, 0)
    return B


def _columns(
    train: Interactions, items: npt.NDArray[np.integer]
) -> tuple[tuple[npt.NDArray[Any], ...], tuple[npt.NDArray[Any], ...]]:
    """The pairs of these items alone, renumbered, and the roots of their weights: by user, by item.

    The roots are empty where there are no weights.
    """
    place = np.full(train.n_items, -1, dtype=np.int32)
    place[items] = np.arange(len(items), dtype=np.int32)
    part = train.select(place[train.indices] >= 0)
    item_indptr, users = part.by_item
    bounds = np.append(item_indptr[items], item_indptr[-1])
    roots = np.empty(0, np.float32) if train.weights is None else root_weights(part)
    item_roots = roots[part.item_order] if len(roots) else roots
    return (part.indptr, place[part.indices], roots), (bounds, users, item_roots)


def _largest(
    weights: Weights,
    items: npt.NDArray[np.int32],
    order: npt.NDArray[np.int32],
    width: int,
    pool: ThreadPool,
) -> csr_array[np.float32]:
    """Of what each item says for others, the largest weights by size: sparse (m, m)."""
    from scipy.sparse import coo_array

    k, m = len(items), len(order)
    rank = np.argsort(np.argsort(order[items])).astype(np.int32)
    targets = np.empty((k, width), dtype=np.int32)
    values = np.empty((k, width), dtype=np.float32)
    known = (weights, rank, np.argsort(rank), targets, values)
    pool.map_ranges(k, lambda begin, end: largest_weights(*known, begin, end))
    places = (np.repeat(items, width), items[targets.ravel()])
    similarity = coo_array((values.ravel(), places), shape=(m, m)).tocsr()
    similarity.eliminate_zeros()
    return similarity


def memory_available(source: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that can be had without swapping, where the system tells (Linux)."""
    try:
        lines = source.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
