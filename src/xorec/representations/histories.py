"""Histories: each user's items as sparse rows, of ones or of what each counts, also as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.schema import Tensor
from xorec.representations.base import Tensors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def alone(n_items: int) -> csr_array[np.float32]:
    """For each item somebody who has that item alone: the queries of similar items."""
    from scipy.sparse import eye_array

    return eye_array(n_items, format="csr", dtype=np.float32)


HISTORY = {
    "history_indptr": Tensor("int64", ("users+1",), offsets_of="history_items"),
    "history_items": Tensor("int32", ("pairs",), rows_of="items"),
    "history_weights": Tensor("float32", ("pairs",), optional=True),
}
"""The schema of a history."""


def pack_history(history: csr_array[np.float32]) -> Tensors:
    """The tensors of a history; ones are not kept."""
    weights = {"history_weights": history.data} if is_weighted(history) else {}
    return {
        "history_indptr": history.indptr.astype(np.int64),
        "history_items": history.indices.astype(np.int32),
        **weights,
    }


def by_weight(history: csr_array[np.float32]) -> str:
    """What to add to the description of a score that sums over a history."""
    return ", each times the root of its weight" if is_weighted(history) else ""


def is_weighted(rows: csr_array[np.float32]) -> bool:
    """Whether some item counts more or less than 1."""
    return bool((rows.data != 1).any())


def unpack_history(tensors: Mapping[str, npt.NDArray[Any]], n_items: int) -> csr_array[np.float32]:
    """The inverse of `pack_history`: sparse (n_users, n_items)."""
    from scipy.sparse import csr_array

    indptr, items = tensors["history_indptr"], tensors["history_items"]
    weights = tensors.get("history_weights")
    values = np.ones(len(items), dtype=np.float32) if weights is None else weights
    return csr_array((values, items, indptr), shape=(len(indptr) - 1, n_items))
