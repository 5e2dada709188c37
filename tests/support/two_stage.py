"""Two stages made by hand: for tests of what finds and of what puts in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.representations.base import StoredAs
from xorec.representations.codes import Codes
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage


def two_stage(
    codes: Codes,
    users: npt.NDArray[Any],
    items: npt.NDArray[Any] | None,
    size: int,
    keep: StoredAs = "float32",
) -> TwoStage:
    """The `size` nearest codes, in the order of vectors; no items: against their bits."""
    return TwoStage(codes, RankingVectors.of(users, items, keep), None, Sources(size))


def random_weights(
    rng: np.random.Generator, users: int, items: int, per_item: int, keep: StoredAs = "float32"
) -> Neighbours:
    """Small whole weights of both signs, and histories of up to 12 items."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(items), per_item)
    columns = np.concatenate(
        [rng.choice(items, min(per_item, items), replace=False) for _ in range(items)]
    )
    rows = rows[: len(columns)] if per_item <= items else np.repeat(np.arange(items), items)
    weights = rng.integers(-3, 6, len(columns)).astype(np.float32)
    if keep == "int8":  # the scale is 1
        weights[np.unique(rows, return_index=True)[1]] = 127
    similarity = csr_array((weights, (rows, columns)), shape=(items, items))
    lengths = rng.integers(0, min(items, 12) + 1, users)
    own = [np.sort(rng.choice(items, length, replace=False)) for length in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *own])
    ones = np.ones(len(indices), dtype=np.float32)
    history = csr_array((ones, indices, indptr), shape=(users, items))
    return Neighbours.of(similarity, history, keep)
