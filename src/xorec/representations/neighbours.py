"""Neighbours: for each item the items that it speaks for, and each user's own items.

What item-kNN, SLIM and EASE with few weights have learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.errors import DataError
from xorec.core.kernels import is_loaded
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations.base import Representation, Rows, Scores, Tensors
from xorec.representations.histories import (
    HISTORY,
    Histories,
    alone,
    by_weight,
    pack_history,
    unpack_history,
)
from xorec.representations.postings import NO_SCALES, Keep, Postings
from xorec.representations.scratch import Scratches

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Neighbours(Representation):
    """score(u, j) = sum over the items i of u of weight[i, j], times what i counts for u.

    postings: row i holds the items j for which i speaks; history: sparse (n, m). A query is a row
    of items (`Histories`, or a sparse matrix of one row).
    """

    kind = "neighbours"
    schema: ClassVar[Schema] = {
        "neighbour_indptr": Tensor("int64", ("items+1",), offsets_of="neighbour_items"),
        "neighbour_items": Tensor(("int32", "uint16"), ("neighbours",), rows_of="items"),
        "neighbour_weights": Tensor(("float32", "float16", "int8"), ("neighbours",)),
        "neighbour_scales": Tensor("float32", ("items",), optional=True),
        **HISTORY,
    }

    def __init__(
        self, postings: Postings, history: csr_array[np.float32], n_items: int | None = None
    ) -> None:
        """n_items: that can be recommended, where not all that speak for others can."""
        self.postings, self.history = postings, history
        self._n_items = postings.n_items if n_items is None else n_items

    @classmethod
    def of(
        cls,
        similarity: csr_array[np.float32],
        history: csr_array[np.float32],
        keep: Keep = "float32",
    ) -> Neighbours:
        """Of a sparse matrix (m, m) whose row i holds what item i says for others."""
        return cls(Postings.of(similarity, keep), history)

    @property
    def n_users(self) -> int:
        return int(self.history.shape[0])

    @property
    def n_items(self) -> int:
        return self._n_items

    @property
    def similarity(self) -> csr_array[np.float32]:
        """The weights as a sparse matrix (m, m)."""
        return self.postings.matrix()

    @cached_property
    def _histories(self) -> Histories:
        return Histories.of(self.history)

    def queries(self, users: Rows) -> Histories:
        return self._histories[users]

    @cached_property
    def kernel_postings(self) -> Postings:
        """The postings as kernels take them."""
        return Postings(*(as_contiguous(array) for array in self.postings.for_kernels()))

    @cached_property
    def scratches(self) -> Scratches:
        """Arrays for sums, kept between searches."""
        return Scratches(self.n_items)

    def histories(self, queries: Any) -> Histories:
        """Queries, as rows of these items."""
        found = Histories.of(queries)
        if found.n_items != self.postings.n_items:
            count = self.postings.n_items
            raise DataError(f"a query has {found.n_items} items but there are {count}.")
        return found

    def score(self, queries: Any) -> Scores:
        from xorec.representations.neighbours_kernels import add_all

        found = self.histories(queries)
        if len(found) == 1 and not is_loaded(add_all):
            return self.score_one(found)[None]
        scores = np.zeros((len(found), self.n_items), dtype=np.float32)
        add_all(self.kernel_postings, (found.indptr, found.indices, found.data), scores)
        return scores

    def score_one(self, query: Histories) -> Scores:
        """The scores (n_items,) of one query in plain NumPy, to the bit those of `score`."""
        sums = np.zeros(self.n_items, dtype=np.float32)
        for place, item in enumerate(query.indices):
            spoken_for, weights = self.postings.row(int(item), query.value(place))
            sums[spoken_for] += weights
        return sums

    def rescore(
        self,
        queries: Any,
        candidates: npt.NDArray[np.integer],
        counts: npt.NDArray[np.integer],
        pool: ThreadPool,
    ) -> Scores:
        """The scores (B, s) of the items candidates[b, :counts[b]] alone; zero behind them.

        To the bit those of `score`.
        """
        from xorec.representations.neighbours_kernels import score_candidates

        found = self.histories(queries)
        if candidates.shape[:1] != (len(found),) or counts.shape != (len(found),):
            raise DataError(f"candidates are of {len(candidates)} queries, not of {len(found)}.")
        scores = np.empty(candidates.shape, dtype=np.float32)
        histories = (found.indptr, found.indices, found.data)
        asked = (as_contiguous(candidates), as_contiguous(counts))

        def work(begin: int, end: int) -> None:
            with self.scratches.one() as scratch:
                known = (self.kernel_postings, histories)
                score_candidates(*known, *asked, scores, scratch, (begin, end))

        pool.map_ranges(len(found), work)
        return scores

    def item_range(self, start: int, stop: int) -> Neighbours:
        """All items of a user speak, for the items of the range alone."""
        return Neighbours(self.postings.between(start, stop), self.history, stop - start)

    def among_items(self) -> Neighbours:
        """An item as somebody who has that item alone."""
        return Neighbours(self.postings, alone(self.n_items))

    def likeness(self, items: Rows, item: int) -> Scores:
        """What each of `items` adds to the score of `item` where it counts 1."""
        found = np.zeros(len(items), dtype=np.float32)
        for place, i in enumerate(items):
            spoken_for, weights = self.postings.row(int(i))
            found[place] = weights[spoken_for == item].sum()
        return found

    @property
    def score_description(self) -> str:
        return (
            f"the sum of what each of the user's items says for the item{by_weight(self.history)}"
        )

    def tensors(self) -> Tensors:
        postings = self.postings
        scales = {"neighbour_scales": postings.scales} if len(postings.scales) else {}
        return {
            "neighbour_indptr": postings.indptr,
            "neighbour_items": postings.items,
            "neighbour_weights": postings.weights,
            **scales,
            **pack_history(self.history),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        indptr, items, weights = (
            tensors[f"neighbour_{name}"] for name in ("indptr", "items", "weights")
        )
        scales = tensors.get("neighbour_scales", NO_SCALES)
        if (weights.dtype == np.int8) != (len(scales) > 0):
            raise DataError("weights of bytes have scales, and others have none")
        postings = Postings(indptr, items, weights, scales)
        return cls(postings, unpack_history(tensors, postings.n_items))
