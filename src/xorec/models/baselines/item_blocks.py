"""Items in blocks: each finds its neighbours from all pairs, which every block can see."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, row_ranges
from xorec.data.interactions import Interactions

_LEAST = 16
"""Items of a block, at least: they differ much in what they cost."""


def item_blocks(rows: npt.NDArray[np.int32]) -> list[Arrays]:
    """These items, some at a time."""
    return [{"rows": rows[begin:end]} for begin, end in row_ranges(len(rows), least=_LEAST)]


def shared_pairs(train: Interactions, roots: npt.NDArray[np.float32]) -> dict[str, Any]:
    """The pairs by user and by item, and the roots of what each counts."""
    indptr, users = train.by_item
    by_user = {"user_starts": train.indptr, "items": train.indices, "roots": roots}
    by_item = {"item_starts": indptr, "users": users, "item_roots": roots[train.item_order]}
    return {**by_user, **by_item}


def pairs_of(shared: Arrays) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """by_user, by_item as kernels take them."""
    by_user = shared["user_starts"], shared["items"], shared["roots"]
    return by_user, (shared["item_starts"], shared["users"], shared["item_roots"])


def nearest_block(block: Arrays, shared: Arrays, width: int, shrink: float) -> Arrays:
    """The nearest items of the items of a block: see `nearest_items`."""
    from xorec.models.baselines.item_knn_kernels import nearest_items, no_neighbours

    rows = block["rows"]
    nearest = no_neighbours(rows, width)
    about = shared["tie_rank"], shared["item_at"], shared["sizes"]
    nearest_items(*pairs_of(shared), about, np.float32(shrink), nearest, 0, len(rows))
    return {"items": nearest.items, "weights": nearest.weights, "counts": nearest.counts}
