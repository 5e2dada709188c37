"""RankingVectors: vectors in few bytes that rank candidates, and their kernels.

Kernels: items (B, s) has counts[b] rows of the catalogue for query b; out (B, s) gets their scores,
for the queries `begin` to `end`. Products are added in float64, so that NumPy's scores are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, empty_aligned
from xorec.core.errors import DataError
from xorec.core.kernels import fast_helper, fast_kernel, kernel, numpy_first
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations.base import (
    NO_SCALES,
    Bytes,
    Floats,
    Rows,
    Scores,
    StoredAs,
    Tensors,
)
from xorec.representations.codes import Codes
from xorec.representations.neighbours_kernels import number_at
from xorec.representations.vectors import Vectors


@fast_helper
def product(query: Any, rows: Any, item: Any) -> Any:
    """query (d,) . row of an item, in float64; rows (m d,): numbers as `number_at` reads them."""
    first, total = np.uint64(item) * np.uint64(len(query)), 0.0
    for f in range(np.uint64(len(query))):
        total += np.float64(query[f]) * np.float64(number_at(rows, first + f))
    return total


@fast_kernel
def score_rows(
    queries: Any, rows: Any, scales: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """out = queries . rows[items], times scales[items] where there are scales (of int8 rows)."""
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            total = product(queries[b], rows, item)
            out[b, place] = total * scales[item] if len(scales) else total


@kernel
def score_bits(
    tables: Any, codes: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """Float users against bits: tables of bytes (`codes.byte_tables`), codes as bytes."""
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            total = np.float32(0)
            for byte in range(tables.shape[1]):
                total += tables[b, byte, codes[item, byte]]
            out[b, place] = total


@numpy_first(score_rows)
def _score_rows(
    queries: Floats, rows: Any, scales: Any, items: Any, counts: Any, _: int, __: int, out: Scores
) -> None:
    chosen = items[0, : counts[0]]
    numbers = rows.view(np.float16) if rows.dtype == np.uint16 else rows
    table = numbers.reshape(-1, queries.shape[1])
    total = table[chosen].astype(np.float64) @ queries[0].astype(np.float64)
    out[0, : len(chosen)] = total * scales[chosen] if len(scales) else total


@numpy_first(score_bits)
def _score_bits(
    tables: Floats, codes: Bytes, items: Any, counts: Any, _: int, __: int, out: Scores
) -> None:
    chosen = items[0, : counts[0]]
    for byte, table in enumerate(tables[0]):
        out[0, : len(chosen)] += table[codes[chosen, byte]]


def quantized_schema(name: str, *, optional: bool = False) -> Schema:
    """The schema of the vectors of users or items."""
    stored = ("float32", "float16", "int8")
    return {
        f"{name}_vectors": Tensor(stored, (f"{name}s", "dimensions"), optional=optional),
        f"{name}_scales": Tensor("float32", (f"{name}s",), optional=True),
    }


@dataclass(frozen=True, eq=False)
class QuantizedVectors:
    """Vectors in few bytes: rows (n, d) of float32 or float16, or int8 times scales (n,).

    The error of float16 is at most 2**-11 of the number, of int8 1/254 of the largest in its row.

    >>> QuantizedVectors.of(np.array([[1.0, -0.5, 0.25]]), "int8").rows
    array([[127, -64,  32]], dtype=int8)
    """

    rows: npt.NDArray[Any]
    scales: Floats

    @classmethod
    def of(cls, vectors: npt.NDArray[Any], keep: StoredAs) -> QuantizedVectors:
        """Vectors as `keep` says."""
        vectors = np.asarray(vectors, dtype=np.float32)
        if keep == "int8":
            scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
            steps = vectors / np.where(scales > 0, scales, np.float32(1))[:, None]
            rows = empty_aligned(vectors.shape, np.int8)  # a search gathers rows: fewer lines
            return cls(np.rint(steps, out=rows, casting="unsafe"), scales)
        rows = empty_aligned(vectors.shape, keep)
        with np.errstate(over="ignore"):
            rows[:] = vectors
        if not np.isfinite(rows).all():
            raise DataError(f"some vectors are too large for {keep}, or not finite: keep float32.")
        return cls(rows, NO_SCALES)

    def floats(self, rows: Rows | slice = slice(None)) -> Floats:
        """The vectors of some rows as float32."""
        if not len(self.scales):
            return self.rows[rows].astype(np.float32, copy=False)
        found: Floats = np.multiply(self.rows[rows], self.scales[rows, None], dtype=np.float32)
        return found

    def grown(self, count: int, rows: Rows, vectors: Floats) -> QuantizedVectors:
        """`count` rows: these, `vectors` at `rows`, and zeros elsewhere."""
        fresh, more = QuantizedVectors.of(vectors, self.keep), count - len(self.rows)
        stored = empty_aligned((count, self.rows.shape[1]), self.rows.dtype)
        stored[: len(self.rows)], stored[len(self.rows) :] = self.rows, 0
        stored[rows] = fresh.rows
        if self.keep != "int8":
            return QuantizedVectors(stored, NO_SCALES)
        scales = np.concatenate([self.scales, np.zeros(more, dtype=np.float32)])
        scales[rows] = fresh.scales
        return QuantizedVectors(stored, scales)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.scales.nbytes

    @property
    def keep(self) -> StoredAs:
        """The stored type: the setting `vector_dtype`."""
        stored_as: StoredAs = self.rows.dtype.name  # type: ignore[assignment]
        return stored_as

    def tensors(self, name: str) -> Tensors:
        """The arrays to store."""
        scales = {f"{name}_scales": self.scales} if len(self.scales) else {}
        return {f"{name}_vectors": self.rows, **scales}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], name: str) -> QuantizedVectors:
        """The inverse of `tensors`."""
        rows, scales = tensors[f"{name}_vectors"], tensors.get(f"{name}_scales", NO_SCALES)
        if len(scales) != (len(rows) if rows.dtype == np.int8 else 0):
            raise DataError(f"{len(rows)} {name}_vectors of {rows.dtype} have {len(scales)} scales")
        return cls(rows, scales)


RANKING_VECTORS: Schema = {
    **quantized_schema("user", optional=True),
    **quantized_schema("item", optional=True),
    "item_bias": Tensor("float32", ("items",), optional=True),
}
"""The schema of the tensors."""


@dataclass(frozen=True, eq=False)
class RankingVectors:
    """score(u, i) = user . item (+ item bias); items None: floats against the item's bits."""

    users: QuantizedVectors
    items: QuantizedVectors | None
    bias: Floats | None = None

    @classmethod
    def of(
        cls,
        users: npt.NDArray[Any],
        items: npt.NDArray[Any] | None,
        keep: StoredAs = "float32",
        bias: Floats | None = None,
    ) -> RankingVectors:
        """From float vectors; items None: users against the bits of codes."""
        stored = None if items is None else QuantizedVectors.of(items, keep)
        return cls(QuantizedVectors.of(users, keep), stored, bias)

    def check(self, codes: Codes) -> None:
        """Refuse vectors of other users, items or lengths than the codes have."""
        length = codes.bits if self.items is None else self.items.rows.shape[1]
        n_items = codes.n_items if self.items is None else len(self.items.rows)
        n_users, size = self.users.rows.shape
        if (n_users, n_items) != (codes.n_users, codes.n_items):
            raise DataError(
                f"there are vectors of {n_users} users and {n_items} items, but codes of "
                f"{codes.n_users} and {codes.n_items}."
            )
        if size != length:
            raise DataError(f"the users' vectors have {size} numbers but the items' {length}.")
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
        """The scores (B, s) of candidates, (items (B, s), counts (B,)), for vectors (B, d).

        Behind the counts, items are any rows and scores have no meaning.
        """
        items, counts = candidates
        scores = np.zeros(items.shape, dtype=np.float32)  # behind `counts`, too
        work: Any
        arguments: tuple[Any, ...]
        if self.items is None:
            work, arguments = _score_bits, (codes.tables(vectors), codes.item_bytes)
        else:
            work, arguments = _score_rows, (vectors, *self.kernel_rows)
        pool.map_ranges(
            len(vectors), lambda begin, end: work(*arguments, items, counts, begin, end, scores)
        )
        if self.bias is not None:
            scores += self.bias[items]
        return scores

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
