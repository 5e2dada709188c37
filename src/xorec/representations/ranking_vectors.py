"""RankingVectors: the vectors that put candidates in order, in few bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.errors import DataError
from xorec.core.kernels import is_loaded
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations import single_query
from xorec.representations.base import Floats, Scores, Tensors
from xorec.representations.codes import Codes
from xorec.representations.quantized import Keep, QuantizedVectors, quantized_schema
from xorec.representations.vectors import Vectors

RANKING_VECTORS: Schema = {
    **quantized_schema("user", optional=True),
    **quantized_schema("item", optional=True),
    "item_bias": Tensor("float32", ("items",), optional=True),
}
"""The schema of the tensors."""


@dataclass(frozen=True, eq=False)
class RankingVectors:
    """score(u, i) = user . item (+ bias of the item), or the user's floats against the item's bits.

    users, items: vectors as they are stored; no items: the bits of their codes stand for them.
    """

    users: QuantizedVectors
    items: QuantizedVectors | None
    bias: Floats | None = None

    @classmethod
    def of(
        cls,
        users: npt.NDArray[Any],
        items: npt.NDArray[Any] | None,
        keep: Keep = "float32",
        bias: Floats | None = None,
    ) -> RankingVectors:
        """From float vectors; None for those of items: against the bits of their codes."""
        stored = None if items is None else QuantizedVectors.of(items, keep)
        return cls(QuantizedVectors.of(users, keep), stored, bias)

    def check(self, codes: Codes) -> None:
        """Refuse vectors of other users, items or lengths than the codes have."""
        length = codes.bits if self.items is None else self.items.rows.shape[1]
        n_items = codes.n_items if self.items is None else len(self.items.rows)
        if (len(self.users.rows), n_items) != (codes.n_users, codes.n_items):
            raise DataError(
                f"there are vectors of {len(self.users.rows)} users and {n_items} items, but codes "
                f"of {codes.n_users} and {codes.n_items}."
            )
        if self.users.rows.shape[1] != length:
            raise DataError(
                f"the users' vectors have {self.users.rows.shape[1]} numbers but the items' "
                f"{length}."
            )
        if self.bias is not None and self.bias.shape != (codes.n_items,):
            raise DataError(f"there are {len(self.bias)} biases for {codes.n_items} items.")

    def floats(self) -> Vectors | None:
        """The vectors as float32, where items have any."""
        if self.items is None:
            return None
        return Vectors(self.users.floats(), self.items.floats(), self.bias)

    @property
    def description(self) -> str:
        """What a score is, in words."""
        if self.items is None:
            return "the user's numbers, added where the item's bit is set, else subtracted"
        bias = "" if self.bias is None else ", and the item's own bias"
        return f"the dot product of the user's and the item's vector{bias}"

    @property
    def item_nbytes(self) -> int:
        """Bytes of the items' part."""
        items = 0 if self.items is None else self.items.nbytes
        return items + (0 if self.bias is None else self.bias.nbytes)

    @cached_property
    def kernel_rows(self) -> tuple[npt.NDArray[Any], Floats]:
        """The items' rows, one after another (float16 as its bits), and scales, for kernels."""
        assert self.items is not None
        rows = as_contiguous(self.items.rows).reshape(-1)
        halves = rows.dtype == np.float16
        return rows.view(np.uint16) if halves else rows, as_contiguous(self.items.scales)

    def rescore(
        self,
        codes: Codes,
        vectors: Floats,
        candidates: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]],
        pool: ThreadPool,
    ) -> Scores:
        """The scores (B, s) of candidates: (items (B, s), counts (B,)), for vectors (B, d).

        Behind the counts: items are any rows, scores mean nothing.
        """
        from xorec.representations import ranking_kernels as kernels

        items, counts = candidates
        scores = np.zeros(items.shape, dtype=np.float32)  # behind `counts`, too
        work: Any
        arguments: tuple[Any, ...]
        if self.items is None:
            work, arguments = kernels.score_bits, (codes.tables(vectors), codes.item_bytes)
        else:
            work, arguments = kernels.score_rows, (vectors, *self.kernel_rows)
        if len(vectors) == 1 and not is_loaded(work):
            scores[0, : counts[0]] = self._rescore_one(codes, vectors, items[0, : counts[0]])
        else:
            pool.map_ranges(
                len(vectors), lambda begin, end: work(*arguments, items, counts, begin, end, scores)
            )
        if self.bias is not None:
            scores += self.bias[items]
        return scores

    def _rescore_one(self, codes: Codes, vector: Floats, items: npt.NDArray[np.int32]) -> Scores:
        """The scores of items (s,) for a vector (1, d), in plain NumPy."""
        if self.items is None:
            return single_query.look_up(codes.item_bytes[items].T, codes.tables(vector)[0])
        scales = self.items.scales
        found = scales[items] if len(scales) else scales
        return single_query.products(vector[0], self.items.rows[items], found)

    def tensors(self) -> Tensors:
        items = {} if self.items is None else self.items.tensors("item")
        bias = {} if self.bias is None else {"item_bias": self.bias}
        return {**self.users.tensors("user"), **items, **bias}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> RankingVectors | None:
        """The inverse of `tensors`; None where there are none."""
        if "user_vectors" not in tensors:
            return None
        there = "item_vectors" in tensors
        items = QuantizedVectors.from_tensors(tensors, "item") if there else None
        users = QuantizedVectors.from_tensors(tensors, "user")
        return cls(users, items, tensors.get("item_bias"))
