"""Codes and MaskedCodes: users and items as short rows of bits, ranked by Hamming distance."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import digest, float_rows
from xorec.core.bits import (
    MOST_BITS,
    MOST_OFFSET,
    NO_OFFSETS,
    Bytes,
    CodeRows,
    Words,
    as_offsets,
    bytes_for,
    pack_signs,
    popcount,
    unpack_signs,
)
from xorec.core.errors import DataError
from xorec.core.kernels import kernel, numpy_first
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Floats, Representation, Rows, Scores, Tensors
from xorec.representations.look_up import look_up

CodeLike = CodeRows | npt.NDArray[Any]
"""Words uint64 (n, W), what a file keeps of them, or codes that are checked already."""


class Coded(Representation):
    """Base of representations by codes of `bits` bits: user_rows, item_rows."""

    def __init__(self, user_codes: CodeLike, item_codes: CodeLike, bits: int) -> None:
        self.user_rows = CodeRows.of(user_codes, bits, "user codes")
        self.item_rows = CodeRows.of(item_codes, bits, "item codes")
        self.n_users, self.n_items = len(self.user_rows), len(self.item_rows)
        self.bits = self.code_length = self.query_length = bits

    @property
    def user_codes(self) -> Words:
        """Words (n, W)."""
        return self.user_rows.words

    @property
    def item_codes(self) -> Words:
        """Words (m, W)."""
        return self.item_rows.words

    def codes_of(self, items: Rows) -> Words:
        return self.item_rows[items]

    def metadata(self) -> dict[str, Any]:
        """`codes`: their length, and a digest that is the same on every machine."""
        words = {"users": self.user_codes, "items": self.item_codes}
        found = digest({name: words[name].astype("<u8", copy=False) for name in words})
        return {"codes": {"bits": self.bits, "digest": found}}

    def tensors(self) -> Tensors:
        return {
            "user_codes": self.user_rows.stored,
            "item_codes": self.item_rows.stored,
            "bits": np.array([self.bits]),
        }


@kernel
def agreement(queries: Any, items: Any, offsets: Any, bits: Any, out: Any) -> None:
    """out[q, i] = 1 - (hamming - offset) / bits, for words queries (q, W) and items (m, W).

    offsets (m,), or empty where there are none.
    """
    words = queries.shape[1]
    step = np.float32(1) / np.float32(bits)
    for q in range(queries.shape[0]):
        for i in range(items.shape[0]):
            distance = np.uint64(0)
            for w in range(words):
                distance += popcount(queries[q, w] ^ items[i, w])
            nearer = np.int64(distance) - (np.int64(offsets[i]) if len(offsets) else 0)
            out[q, i] = np.float32(1) - np.float32(nearer) * step


@kernel
def masked_agreement(queries: Any, items: Any, bits: Any, out: Any) -> None:
    """out[q, i] = 1 - |query and not item| / bits, for words queries (q, W) and items (m, W)."""
    words = queries.shape[1]
    step = np.float32(1) / np.float32(bits)
    for q in range(queries.shape[0]):
        for i in range(items.shape[0]):
            distance = np.uint64(0)
            for w in range(words):
                distance += popcount(queries[q, w] & ~items[i, w])
            out[q, i] = np.float32(1) - np.float32(distance) * step


@kernel
def byte_tables(queries: Any, tables: Any) -> None:
    """tables[q, b, v] = sum over the 8 bits of byte b, in order, of +-query[8b + bit], as v has it.

    queries: float32 (q, d), d up to 8 * bytes; tables: float32 (q, bytes, 256).
    """
    for q in range(queries.shape[0]):
        for b in range(tables.shape[1]):
            table = tables[q, b]
            table[:] = np.float32(0)
            for f in range(8 * b, min(8 * b + 8, queries.shape[1])):
                for value in range(256):
                    sign = np.float32(2 * ((value >> (f - 8 * b)) & 1) - 1)
                    table[value] += sign * queries[q, f]


def distances(query: Words, codes: Words, *, masked: bool = False) -> npt.NDArray[np.int64]:
    """The bits in which codes (m, W) differ from a query (W,), or lack of it if masked: (m,)."""
    total = np.zeros(len(codes), dtype=np.int64)
    for word, column in zip(query, codes.T, strict=True):
        total += np.bitwise_count(word & ~column if masked else word ^ column)
    return total


def hamming_scores(distance: npt.NDArray[np.integer], bits: int) -> Scores:
    """1 - distance / bits, in float32."""
    step = np.float32(1) / np.float32(bits)
    scores: Scores = np.float32(1) - distance.astype(np.float32) * step
    return scores


@numpy_first(agreement)
def _agreement(queries: Words, items: Words, offsets: Any, bits: int, out: Scores) -> None:
    found = distances(queries[0], items)
    out[0] = hamming_scores(found - offsets if len(offsets) else found, bits)


@numpy_first(masked_agreement)
def _masked_agreement(queries: Words, items: Words, bits: int, out: Scores) -> None:
    out[0] = hamming_scores(distances(queries[0], items, masked=True), bits)


@numpy_first(byte_tables)
def _byte_tables(queries: Floats, tables: Floats) -> None:
    size, values = tables.shape[1], np.arange(256)
    padded = np.zeros(8 * size, dtype=np.float32)
    padded[: queries.shape[1]] = queries[0]
    tables[0] = 0
    for bit, column in enumerate(padded.reshape(size, 8).T):
        tables[0] += column[:, None] * (2 * ((values >> bit) & 1) - 1).astype(np.float32)


ROWS_AT_ONCE = 65_536
"""Codes whose bits are unpacked at once."""


class Codes(Coded):
    """score(u, i) = 1 - (hamming(u, i) - o_i) / bits = 1/2 + (b_u.d_i + 2 o_i) / (2 bits).

    user_codes, item_codes: uint64 words (n, W), (m, W), or bytes, see `xorec.core.bits`. With
    `user_vectors` (n, bits) scoring is asymmetric: a float user against the item's bits, b_u.d_i by
    look-up tables of bytes. `item_offsets` (m,), 0 to 15: o_i, a number of bits that an item's
    distance is reduced by; with None, scores are in [0, 1]. `similar` compares codes alone.

    >>> codes = Codes.from_signs(np.array([[1, 1, -1, 1]]), np.array([[1, 1, 1, 1], [1, 1, -1, 1]]))
    >>> codes.scores(np.array([0]))
    array([[0.75, 1.  ]], dtype=float32)
    """

    kind = "codes"
    schema: ClassVar[Schema] = {
        "bits": Tensor("int64", (1,), least=1, most=MOST_BITS),
        "user_codes": Tensor(("uint8", "uint64"), ("users", "code length")),
        "item_codes": Tensor(("uint8", "uint64"), ("items", "code length")),
        "user_vectors": Tensor("float32", ("users", "dimensions"), optional=True),
        "item_offsets": Tensor("uint8", ("items",), most=MOST_OFFSET, optional=True),
    }

    def __init__(
        self,
        user_codes: CodeLike,
        item_codes: CodeLike,
        bits: int,
        user_vectors: Floats | None = None,
        item_offsets: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(user_codes, item_codes, bits)
        if user_vectors is not None:
            user_vectors = float_rows(user_vectors, "user_vectors")
        if user_vectors is not None and user_vectors.shape != (self.n_users, bits):
            raise DataError(
                f"the users' vectors have the shape {user_vectors.shape}: codes of {bits} bits "
                f"need {(self.n_users, bits)}."
            )
        offsets = as_offsets(item_offsets, self.n_items)
        if len(offsets) and user_vectors is not None:
            raise DataError("offsets are added to bits that agree: float users take none.")
        self.user_vectors = user_vectors
        self.item_offsets = offsets if len(offsets) else None

    @classmethod
    def from_signs(
        cls, users: npt.NDArray[Any], items: npt.NDArray[Any], *, asymmetric: bool = False
    ) -> Codes:
        """Codes from the signs of vectors (n, d), (m, d); asymmetric keeps the user vectors."""
        vectors = np.asarray(users, dtype=np.float32) if asymmetric else None
        return cls(pack_signs(users), pack_signs(items), users.shape[1], vectors)

    @cached_property
    def mean_item(self) -> Floats:
        """The mean of the items' signs, (bits,)."""
        total = np.zeros(self.bits, dtype=np.float64)
        for begin in range(0, self.n_items, ROWS_AT_ONCE):
            part = unpack_signs(self.item_rows[begin : begin + ROWS_AT_ONCE], self.bits)
            total += part.sum(axis=0, dtype=np.float64)
        return np.asarray(total / max(1, self.n_items), dtype=np.float32)

    def queries(self, users: Rows) -> Words | Floats:
        return self.user_rows[users] if self.user_vectors is None else self.user_vectors[users]

    def score(self, queries: Any) -> Scores:
        queries = np.ascontiguousarray(np.atleast_2d(queries))
        if queries.dtype != np.uint64:
            return look_up(self.columns, self.tables(queries))
        scores = np.empty((len(queries), self.n_items), dtype=np.float32)
        offsets = NO_OFFSETS if self.item_offsets is None else self.item_offsets
        _agreement(queries, self.item_codes, offsets, self.bits, scores)
        return scores

    @cached_property
    def columns(self) -> Bytes:
        """The items' bytes, (bytes, n_items): what float users look up."""
        return np.ascontiguousarray(self.item_bytes.T)

    @property
    def item_bytes(self) -> Bytes:
        """The items' bytes, (n_items, ceil(bits / 8)), from the first bit on."""
        return self.item_rows.bytes

    def tables(self, queries: Any) -> Floats:
        """What each byte of an item adds for float users (B, bits): (B, bytes, 256)."""
        rows = np.ascontiguousarray(np.atleast_2d(queries), dtype=np.float32)
        tables = np.empty((len(rows), bytes_for(self.bits), 256), dtype=np.float32)
        _byte_tables(rows, tables)
        return tables

    def among_items(self) -> Codes:
        return Codes(self.item_rows, self.item_rows, self.bits)

    def among_users(self) -> Codes:
        return Codes(self.user_rows, self.user_rows, self.bits)

    def item_distances(self, items: Rows, item: int) -> npt.NDArray[np.integer]:
        differ = self.item_rows[items] ^ self.item_rows[np.array([item])]
        return np.asarray(np.bitwise_count(differ).sum(axis=1, dtype=np.int32))

    @property
    def score_description(self) -> str:
        if self.user_vectors is not None:
            return "the user's numbers, added where the item's bit is set, else subtracted"
        shared = "the share of bits in which user and item agree"
        return shared if self.item_offsets is None else f"{shared}, and the item's offset"

    def query_code(self, query: Any) -> Words:
        """Of a float user: the signs."""
        words = np.atleast_2d(query)[:1]
        code: Words = (words if words.dtype == np.uint64 else pack_signs(words))[0]
        return code

    def bits_agreed(self, query: Any, item: int) -> int:
        differ = self.query_code(query) ^ self.item_rows[np.array([item])]
        return self.bits - int(np.bitwise_count(differ).sum())

    def tensors(self) -> Tensors:
        tensors = super().tensors()
        if self.user_vectors is not None:
            tensors["user_vectors"] = self.user_vectors
        if self.item_offsets is not None:
            tensors["item_offsets"] = self.item_offsets
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        bits = int(tensors["bits"][0])
        codes = (tensors["user_codes"], tensors["item_codes"])
        return cls(*codes, bits, tensors.get("user_vectors"), tensors.get("item_offsets"))


class MaskedCodes(Codes):
    """score(u, i) = 1 - |u and not i| / bits, in [0, 1]: the projected Hamming distance.

    The user's set bits are the mask under which both codes are compared. A set bit is 1.

    >>> codes = MaskedCodes.from_bits(np.array([[1, 1, 0, 0]]), np.array([[1, 0, 1, 1]]))
    >>> codes.scores(np.array([0]))
    array([[0.75]], dtype=float32)
    """

    kind = "masked-codes"
    score_description = "the share of bits in which the item does not lack what the user has"

    def __init__(
        self,
        user_codes: CodeLike,
        item_codes: CodeLike,
        bits: int,
        user_vectors: Floats | None = None,
        item_offsets: npt.ArrayLike | None = None,
    ) -> None:
        if user_vectors is not None or item_offsets is not None:
            raise DataError(
                "a mask is made of bits: masked codes take no user vectors and no offsets."
            )
        super().__init__(user_codes, item_codes, bits)

    @classmethod
    def from_bits(cls, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> MaskedCodes:
        """From bits (n, d), (m, d): bool, or 0 and 1."""
        packed = [pack_signs(np.where(np.asarray(bits) > 0, 1, -1)) for bits in (users, items)]
        return cls(packed[0], packed[1], users.shape[1])

    def score(self, queries: Any) -> Scores:
        queries = np.ascontiguousarray(np.atleast_2d(queries))
        scores = np.empty((len(queries), self.n_items), dtype=np.float32)
        _masked_agreement(queries, self.item_codes, self.bits, scores)
        return scores

    def bits_agreed(self, query: Any, item: int) -> int:
        """The bits in which the item does not lack what the user has."""
        lacks = self.query_code(query) & ~self.item_rows[np.array([item])]
        return self.bits - int(np.bitwise_count(lacks).sum())
