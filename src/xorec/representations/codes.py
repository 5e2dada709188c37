"""Codes: users and items as short rows of bits, ranked by Hamming distance."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_array, as_contiguous, digest, float_rows, positive_int
from xorec.core.bits import MOST_BITS, Words, has_bits_behind, pack_signs, unpack_signs, words_for
from xorec.core.errors import DataError
from xorec.core.lazy_kernel import is_loaded
from xorec.core.schema import Schema, Tensor
from xorec.representations import single_query
from xorec.representations.base import Bytes, Floats, Representation, Rows, Scores, Tensors

ROWS_AT_ONCE = 65_536
"""Codes whose bits are unpacked at once: memory stays small."""


class Codes(Representation):
    """score(u, i) = 1 - hamming(u, i) / bits = 1/2 + b_u.d_i / (2 bits), in [0, 1].

    user_codes, item_codes: uint64 words (n, W), (m, W); see `xorec.core.bits`. With `user_vectors`
    (n, bits) scoring is asymmetric: a float user against the item's bits, b_u.d_i by look-up
    tables of bytes; the users' codes stay for whoever wants them.

    >>> codes = Codes.from_signs(np.array([[1, 1, -1, 1]]), np.array([[1, 1, 1, 1], [1, 1, -1, 1]]))
    >>> codes.scores(np.array([0]))
    array([[0.75, 1.  ]], dtype=float32)
    """

    kind = "codes"
    schema: ClassVar[Schema] = {
        "bits": Tensor("int64", (1,), least=1, most=MOST_BITS),
        "user_codes": Tensor("uint64", ("users", "words")),
        "item_codes": Tensor("uint64", ("items", "words")),
        "user_vectors": Tensor("float32", ("users", "dimensions"), optional=True),
    }

    def __init__(
        self,
        user_codes: Words,
        item_codes: Words,
        bits: int,
        user_vectors: Floats | None = None,
    ) -> None:
        check_words(user_codes, item_codes, bits)
        if user_vectors is not None:
            user_vectors = float_rows(user_vectors, "user_vectors")
        if user_vectors is not None and user_vectors.shape != (len(user_codes), bits):
            raise DataError(
                f"the users' vectors have the shape {user_vectors.shape}: codes of {bits} bits "
                f"need {(len(user_codes), bits)}."
            )
        self.user_codes, self.item_codes, self.bits = user_codes, item_codes, bits
        self.user_vectors = user_vectors

    @classmethod
    def from_signs(
        cls, users: npt.NDArray[Any], items: npt.NDArray[Any], *, asymmetric: bool = False
    ) -> Codes:
        """Codes from the signs of vectors (n, d), (m, d); asymmetric keeps the user vectors."""
        vectors = np.asarray(users, dtype=np.float32) if asymmetric else None
        return cls(pack_signs(users), pack_signs(items), users.shape[1], vectors)

    @property
    def n_users(self) -> int:
        return len(self.user_codes)

    @property
    def n_items(self) -> int:
        return len(self.item_codes)

    @cached_property
    def mean_item(self) -> Floats:
        """The mean of the items' signs, (bits,)."""
        total = np.zeros(self.bits, dtype=np.float64)
        for begin in range(0, self.n_items, ROWS_AT_ONCE):
            part = unpack_signs(self.item_codes[begin : begin + ROWS_AT_ONCE], self.bits)
            total += part.sum(axis=0, dtype=np.float64)
        return np.asarray(total / max(1, self.n_items), dtype=np.float32)

    def queries(self, users: Rows) -> Words | Floats:
        return self.user_codes[users] if self.user_vectors is None else self.user_vectors[users]

    def score(self, queries: Any) -> Scores:
        from xorec.representations import codes_kernels

        queries = np.ascontiguousarray(np.atleast_2d(queries))
        scores = np.empty((len(queries), self.n_items), dtype=np.float32)
        alone = len(queries) == 1
        if queries.dtype == np.uint64:
            if alone and not is_loaded(codes_kernels.agreement):
                found = single_query.distances(queries[0], self.item_codes)
                return single_query.agreement(found, self.bits)[None]
            codes_kernels.agreement(queries, self.item_codes, self.bits, scores)
            return scores
        from xorec.representations.look_up_kernels import look_up_all

        if alone and not is_loaded(look_up_all):
            return single_query.look_up(self.columns, self.tables(queries)[0])[None]
        look_up_all(self.columns, self.tables(queries), scores)
        return scores

    @cached_property
    def columns(self) -> Bytes:
        """The items' bytes, (bytes, n_items): what float users look up."""
        return np.ascontiguousarray(self.item_bytes[:, : -(-self.bits // 8)].T)

    @property
    def item_bytes(self) -> Bytes:
        """The items' words as bytes, (n_items, 8 W), from the first bit on."""
        words = np.ascontiguousarray(self.item_codes, dtype="<u8")
        return as_contiguous(words).view(np.uint8)

    @property
    def query_length(self) -> int:
        """The numbers of a float user."""
        return self.bits

    def tables(self, queries: Any) -> Floats:
        """What each byte of an item adds for float users (B, bits): (B, bytes, 256)."""
        from xorec.representations.codes_kernels import byte_tables

        rows = np.ascontiguousarray(np.atleast_2d(queries), dtype=np.float32)
        size = -(-self.bits // 8)
        if len(rows) == 1 and not is_loaded(byte_tables):
            return single_query.byte_tables(rows[0], size)[None]
        tables = np.empty((len(rows), size, 256), dtype=np.float32)
        byte_tables(rows, tables)
        return tables

    def among_items(self) -> Codes:
        return Codes(self.item_codes, self.item_codes, self.bits)

    def among_users(self) -> Codes:
        return Codes(self.user_codes, self.user_codes, self.bits)

    def item_distances(self, items: Rows, item: int) -> npt.NDArray[np.integer]:
        differ = self.item_codes[items] ^ self.item_codes[item]
        return np.asarray(np.bitwise_count(differ).sum(axis=1, dtype=np.int32))

    @property
    def score_description(self) -> str:
        if self.user_vectors is not None:
            return "the user's numbers, added where the item's bit is set, else subtracted"
        return "the share of bits in which user and item agree"

    @property
    def code_length(self) -> int:
        return self.bits

    def bits_agreed(self, query: Any, item: int) -> int:
        words = np.atleast_2d(query)
        words = words if words.dtype == np.uint64 else pack_signs(words)
        return self.bits - int(np.bitwise_count(words[0] ^ self.item_codes[item]).sum())

    def metadata(self) -> dict[str, Any]:
        return codes_metadata(self.user_codes, self.item_codes, self.bits)

    def tensors(self) -> Tensors:
        tensors: Tensors = {
            "user_codes": self.user_codes,
            "item_codes": self.item_codes,
            "bits": np.array([self.bits]),
        }
        if self.user_vectors is not None:
            tensors["user_vectors"] = self.user_vectors
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        bits = int(tensors["bits"][0])
        codes = (tensors["user_codes"], tensors["item_codes"])
        return cls(*codes, bits, tensors.get("user_vectors"))


def check_words(user_codes: Words, item_codes: Words, bits: int) -> None:
    """Refuse codes whose words do not hold exactly `bits` bits."""
    if positive_int(bits, "bits") > MOST_BITS:
        raise DataError(f"bits is {bits}: give a number from 1 to {MOST_BITS}.")
    for name, words in (("user", user_codes), ("item", item_codes)):
        found = as_array(words, f"the {name} codes")
        if found.dtype != np.uint64 or found.ndim != 2:
            raise DataError(
                f"the {name} codes are {found.dtype} of shape {found.shape}, not uint64 of two "
                "dimensions: pack them with xorec.core.bits.pack_signs."
            )
        if found.shape[1] != words_for(bits):
            raise DataError(
                f"the {name} codes have {found.shape[1]} words but {bits} bits fill "
                f"{words_for(bits)}: pack them with xorec.core.bits.pack_signs."
            )
        if has_bits_behind(words, bits):
            raise DataError(f"the {name} codes have bits behind the last of {bits}.")


def codes_metadata(user_codes: Words, item_codes: Words, bits: int) -> dict[str, Any]:
    """`codes`: their length, and a digest that equal codes share on every machine."""
    words = {"users": user_codes, "items": item_codes}
    found = digest({name: words[name].astype("<u8", copy=False) for name in words})
    return {"codes": {"bits": bits, "digest": found}}
