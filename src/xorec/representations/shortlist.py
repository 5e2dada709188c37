"""Shortlist: codes find the items, vectors (or float users against the codes) put them in order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, positive_int
from xorec.core.bits import Words
from xorec.core.errors import DataError
from xorec.core.lazy_kernel import is_loaded
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations import single_query
from xorec.representations.base import Floats, Representation, Rows, Scores, Tensors
from xorec.representations.codes import Codes
from xorec.representations.quantized import Keep, QuantizedVectors, quantized_schema
from xorec.representations.vectors import Vectors


class Shortlist(Representation):
    """The `size` nearest items by code, in the order of user vector . item vector.

    users, items: the vectors, stored in few bytes. Without `items` the second stage is asymmetric:
    the user's vector (n, bits) against the item's bits. A query has both, as a NumPy record:
    "code" uint64 (W,) and "vector" float32 (d,).
    """

    kind = "shortlist"
    schema: ClassVar[Schema] = {
        **{name: Codes.schema[name] for name in ("bits", "user_codes", "item_codes")},
        **quantized_schema("user"),
        **quantized_schema("item", optional=True),
        "size": Tensor("int64", (1,), least=1),
    }

    def __init__(
        self, codes: Codes, users: QuantizedVectors, items: QuantizedVectors | None, size: int
    ) -> None:
        self.codes, self.users, self.items = codes, users, items
        self.size = positive_int(size, "the size of the shortlist")
        length = codes.bits if items is None else items.rows.shape[1]
        n_items = codes.n_items if items is None else len(items.rows)
        if (len(users.rows), n_items) != (codes.n_users, codes.n_items):
            raise DataError(
                f"there are vectors of {len(users.rows)} users and {n_items} items, but codes of "
                f"{codes.n_users} and {codes.n_items}."
            )
        if users.rows.shape[1] != length:
            raise DataError(
                f"the users' vectors have {users.rows.shape[1]} numbers but the items' {length}."
            )

    @classmethod
    def of(
        cls,
        codes: Codes,
        user_vectors: npt.NDArray[Any],
        item_vectors: npt.NDArray[Any] | None,
        size: int,
        keep: Keep = "float32",
    ) -> Shortlist:
        """From float vectors; None for item vectors: the second stage is asymmetric."""
        items = None if item_vectors is None else QuantizedVectors.of(item_vectors, keep)
        plain = Codes(codes.user_codes, codes.item_codes, codes.bits)
        return cls(plain, QuantizedVectors.of(user_vectors, keep), items, size)

    def with_size(self, size: int) -> Shortlist:
        """The same with a shortlist of `size`."""
        return Shortlist(self.codes, self.users, self.items, size)

    @property
    def n_users(self) -> int:
        return self.codes.n_users

    @property
    def n_items(self) -> int:
        return self.codes.n_items

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors as float32, where items have any."""
        return None if self.items is None else Vectors(self.users.floats(), self.items.floats())

    def queries(self, users: Rows) -> npt.NDArray[np.void]:
        return self.query(self.codes.user_codes[users], self.users.floats(users))

    def query(self, codes: Words, vectors: Floats) -> npt.NDArray[np.void]:
        """Codes (B, W) and vectors (B, d) as B queries."""
        shapes = (codes.shape[1:], vectors.shape[1:])
        made = np.empty(
            len(codes), [("code", np.uint64, shapes[0]), ("vector", np.float32, shapes[1])]
        )
        made["code"], made["vector"] = codes, vectors
        return made

    def score(self, queries: Any) -> Scores:
        """What the second stage gives to every item, on the shortlist or not."""
        vectors = np.atleast_1d(queries)["vector"]
        scores = np.empty((len(vectors), self.n_items), dtype=np.float32)
        every, count = np.arange(self.n_items, dtype=np.int32)[None], np.array([self.n_items])
        with ThreadPool(1) as pool:
            for b in range(len(vectors)):
                scores[b] = self.rescore(vectors[b : b + 1], every, count, pool)[0]
        return scores

    def rescore(
        self,
        vectors: npt.NDArray[Any],
        items: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        pool: ThreadPool,
    ) -> Scores:
        """The scores of counts[b] items (B, s) for each of the vectors (B, d)."""
        from xorec.representations import shortlist_kernels as kernels

        vectors = as_contiguous(np.asarray(vectors, dtype=np.float32))
        scores = np.empty(items.shape, dtype=np.float32)
        work: Any
        arguments: tuple[Any, ...]
        if self.items is None:
            tables = self.codes.tables(vectors)
            work, arguments = kernels.score_bits, (tables, self.codes.item_bytes)
        elif self.items.keep == "float16":
            halves = as_contiguous(self.items.rows).view(np.uint16)
            work, arguments = kernels.score_halves, (vectors, halves)
        else:
            rows, scales = as_contiguous(self.items.rows), as_contiguous(self.items.scales)
            work, arguments = kernels.score_rows, (vectors, rows, scales)
        if len(vectors) == 1 and not is_loaded(work):
            scores[0, : counts[0]] = self._rescore_one(vectors, items[0, : counts[0]])
            return scores
        pool.map_ranges(
            len(vectors), lambda begin, end: work(*arguments, items, counts, begin, end, scores)
        )
        return scores

    def _rescore_one(self, vector: Floats, items: npt.NDArray[np.int32]) -> Scores:
        """The scores of items (s,) for a vector (1, d), in plain NumPy."""
        if self.items is None:
            columns = self.codes.item_bytes[items, : -(-self.codes.bits // 8)].T
            return single_query.look_up(columns, self.codes.tables(vector)[0])
        scales = self.items.scales
        found = scales[items] if len(scales) else scales
        return single_query.products(vector[0], self.items.rows[items], found)

    def arrays(self) -> Tensors:
        """The codes, and the vectors as float32."""
        vectors = {"user_vectors": self.users.floats()}
        return {
            **self.codes.arrays(),
            **(vectors if self.vectors is None else self.vectors.arrays()),
        }

    def among_items(self) -> Representation:
        """By the vectors, or else by the codes."""
        return self.codes.among_items() if self.vectors is None else self.vectors.among_items()

    def among_users(self) -> Representation:
        """By the vectors, or else by the codes."""
        return self.codes.among_users() if self.vectors is None else self.vectors.among_users()

    @property
    def score_description(self) -> str:
        if self.items is None:
            return "the user's numbers, added where the item's bit is set, else subtracted"
        return "the dot product of the user's and the item's vector"

    @property
    def code_length(self) -> int:
        return self.codes.bits

    def bits_agreed(self, query: Any, item: int) -> int:
        return self.codes.bits_agreed(np.atleast_1d(query)["code"], item)

    def item_distances(self, items: Rows, item: int) -> npt.NDArray[np.integer] | None:
        return self.codes.item_distances(items, item) if self.items is None else None

    def metadata(self) -> dict[str, Any]:
        return self.codes.metadata()

    @property
    def second_stage_nbytes(self) -> int:
        """Bytes of the item vectors."""
        return 0 if self.items is None else self.items.nbytes

    def tensors(self) -> Tensors:
        items = {} if self.items is None else self.items.tensors("item")
        size = {"size": np.array([self.size])}
        return {**self.codes.tensors(), **self.users.tensors("user"), **items, **size}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        codes = Codes(tensors["user_codes"], tensors["item_codes"], int(tensors["bits"][0]))
        users = QuantizedVectors.from_tensors(tensors, "user")
        items = (
            QuantizedVectors.from_tensors(tensors, "item") if "item_vectors" in tensors else None
        )
        return cls(codes, users, items, int(tensors["size"][0]))
