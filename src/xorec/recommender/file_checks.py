"""What a model file says is checked before a kernel sees it: sizes, types, ranges, offsets.

A digest finds bytes that were changed by accident; these checks find a file that was written wrong,
or on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.state import RecommenderState
from xorec.recommender.storage import corrupt


def check_sizes(path: Path, state: RecommenderState) -> None:
    """Refuse arrays that do not fit together. Reads no array but the last offsets."""
    users, items = len(state.users), len(state.items)
    indptr, seen = state.seen
    learned = (state.representation.n_users, state.representation.n_items)
    if learned != (users, items):
        raise corrupt(path, f"{users} x {items} ids, but {learned[0]} x {learned[1]} were learned")
    expected: dict[str, tuple[npt.NDArray[Any], tuple[int, ...], str]] = {
        "seen.indptr": (indptr, (users + 1,), "int64"),
        "seen.items": (seen, (int(indptr[-1]) if indptr.size else 0,), "int32"),
        "prior": (state.prior, (items,), "int64"),
        "tie_rank": (state.tie_rank, (items,), "int32"),
    }
    for name, (array, shape, dtype) in expected.items():
        if array.shape != shape or array.dtype != np.dtype(dtype):
            found = f"{array.dtype} {array.shape}"
            raise corrupt(path, f"{name} is {found} and should be {dtype} {shape}")
    if state.names is not None and len(state.names) != items:
        raise corrupt(path, f"{len(state.names)} names for {items} items")


def check_values(path: Path, state: RecommenderState) -> None:
    """Refuse rows and offsets that point outside their arrays. Reads all of them."""
    indptr, seen = state.seen
    items = len(state.items)
    _check_offsets(path, "seen.indptr", indptr, len(seen))
    if len(seen) and not (int(seen.min()) >= 0 and int(seen.max()) < items):
        raise corrupt(path, f"seen.items has rows that are not those of {items} items")
    if not _is_permutation(state.tie_rank):
        raise corrupt(path, "tie_rank does not have each rank once")
    texts: dict[str, Ids | Text | None] = {
        "user_ids": state.users,
        "item_ids": state.items,
        "item_names": state.names,
    }
    for name, ids in texts.items():
        text = ids.values if isinstance(ids, Ids) else ids
        if isinstance(text, Text):
            _check_offsets(path, f"{name}.offsets", text.offsets, len(text.data))


def _check_offsets(path: Path, name: str, offsets: npt.NDArray[Any], length: int) -> None:
    whole = len(offsets) and offsets[0] == 0 and offsets[-1] == length
    if not whole or (np.diff(offsets) < 0).any():
        raise corrupt(path, f"{name} does not rise from 0 to {length}")


def _is_permutation(ranks: npt.NDArray[np.int32]) -> bool:
    if len(ranks) and not (int(ranks.min()) >= 0 and int(ranks.max()) < len(ranks)):
        return False
    return bool((np.bincount(ranks, minlength=len(ranks)) == 1).all())
