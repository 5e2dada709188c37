"""ComposedCodes: several short codes for each user and item, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.bits import CodeRows, Words, popcount, words_for
from xorec.core.errors import DataError
from xorec.core.kernels import kernel, numpy_first
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Bytes, Floats, Rows, Scores, Tensors
from xorec.representations.codes import ROWS_AT_ONCE, Coded, CodeLike, Codes

BLOCK = 512
"""Items whose scores are summed at once."""
_TWO = np.float32(2)


def scratch_for(size: int) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """Room for `score_block` to count the differing bits of groups of `size` bits, (BLOCK,)."""
    return np.empty(BLOCK, np.uint8) if size < 256 else np.empty(BLOCK, np.uint16)


@kernel
def count_first(column: Any, query: Any, counts: Any) -> None:
    """counts[i] = the bits in which column[i] and the query, a byte, differ."""
    for i in range(len(column)):
        counts[i] = popcount(np.uint8(column[i] ^ query))


@kernel
def count_more(column: Any, query: Any, counts: Any) -> None:
    """counts[i] += the bits in which column[i] and the query, a byte, differ."""
    for i in range(len(column)):
        counts[i] += popcount(np.uint8(column[i] ^ query))


@kernel
def add_group(weights: Any, counts: Any, size: Any, eta: Any, scores: Any) -> None:
    """scores[i] += weights[i] (eta (size - 2 counts[i]))."""
    for i in range(len(weights)):
        scores[i] += weights[i] * (eta * (size - _TWO * np.float32(counts[i])))


@kernel
def score_block(
    columns: Any,
    weights: Any,
    size: int,
    query: Any,
    eta: Any,
    begin: int,
    counts: Any,
    scores: Any,
) -> None:
    """The scores of as many items from `begin` on as `scores` is long (at most BLOCK).

    columns (G P, m), weights (G, m): the items; size: bits of a group; query (G P,), eta (G,).
    counts: see `scratch_for`.
    """
    end = begin + len(scores)
    groups = weights.shape[0]
    width = columns.shape[0] // groups
    for i in range(len(scores)):
        scores[i] = np.float32(0)
    for g in range(groups):
        if eta[g] == np.float32(0):
            continue
        first = g * width
        count_first(columns[first, begin:end], query[first], counts)
        for part in range(first + 1, first + width):
            count_more(columns[part, begin:end], query[part], counts)
        add_group(weights[g, begin:end], counts, np.float32(size), eta[g], scores)


@kernel
def score_all(
    columns: Any, weights: Any, size: int, queries: Any, etas: Any, counts: Any, out: Any
) -> None:
    """The scores of all items for queries (B, G P) of weights (B, G), into out (B, m)."""
    for begin in range(0, out.shape[1], BLOCK):
        end = min(out.shape[1], begin + BLOCK)
        for b in range(len(queries)):
            scores = out[b, begin:end]
            score_block(columns, weights, size, queries[b], etas[b], begin, counts, scores)


@numpy_first(score_all)
def _score_all(
    columns: Bytes, weights: Floats, size: int, queries: Bytes, etas: Floats, _: Any, out: Scores
) -> None:
    (query,), (eta,), width = queries, etas, len(columns) // len(weights)
    out[0] = 0
    for g, weight in enumerate(weights):
        if eta[g] == 0:
            continue
        group = slice(g * width, (g + 1) * width)
        counts = np.bitwise_count(columns[group] ^ query[group, None]).sum(axis=0, dtype=np.int64)
        agreed = np.float32(size) - np.float32(2) * counts.astype(np.float32)
        out[0] += weight * (eta[g] * agreed)


def composed_scores(
    columns: Bytes, weights: Floats, size: int, queries: Bytes, etas: Floats
) -> Scores:
    """The scores (B, m) of all items: see `score_all`."""
    scores = np.empty((len(queries), weights.shape[1]), dtype=np.float32)
    _score_all(columns, weights, size, queries, etas, scratch_for(size), scores)
    return scores


class ComposedQueries:
    """Users of ComposedCodes: words (B, W) and weights (B, G)."""

    def __init__(self, words: Words, weights: Floats) -> None:
        self.words = np.atleast_2d(words)
        self.weights = np.atleast_2d(np.asarray(weights, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def shape(self) -> tuple[int, int]:
        """(B, W)."""
        return self.words.shape[0], self.words.shape[1]

    def __getitem__(self, which: Any) -> ComposedQueries:
        return ComposedQueries(self.words[which], self.weights[which])


class ComposedCodes(Coded):
    """score(u, i) = sum over the groups g of eta_ug xi_ig b_ug.d_ig.

    A code of bits = G r bits is G codes of r bits, group g at the bits g r .. (g + 1) r - 1;
    b_ug.d_ig = r - 2 hamming. user_codes, item_codes: words (n, W), (m, W), see `xorec.core.bits`;
    user_weights, item_weights: eta (n, G) and xi (m, G). Groups of weight 0 cost nothing.

    The terms xi (eta (r - 2 hamming)) are added in float32 from the first group to the last, in
    `score` and in every search.
    """

    kind = "composed-codes"
    score_description = (
        "the agreement of each pair of short codes, by the user's and the item's weights"
    )
    schema: ClassVar[Schema] = {
        "bits": Codes.schema["bits"],
        "user_codes": Codes.schema["user_codes"],
        "item_codes": Codes.schema["item_codes"],
        "user_weights": Tensor("float32", ("users", "groups")),
        "item_weights": Tensor("float32", ("items", "groups")),
    }

    def __init__(
        self,
        user_codes: CodeLike,
        item_codes: CodeLike,
        user_weights: Floats,
        item_weights: Floats,
        bits: int,
    ) -> None:
        groups = item_weights.shape[1]
        if groups < 1 or bits % groups:
            raise DataError(f"{bits} bits do not make {groups} groups of equal length.")
        super().__init__(user_codes, item_codes, bits)
        sides = (("user", self.n_users, user_weights), ("item", self.n_items, item_weights))
        for name, rows, weights in sides:
            if weights.shape != (rows, groups):
                raise DataError(
                    f"the {name} weights have shape {weights.shape}: give one for each code and "
                    f"group, {(rows, groups)}."
                )
            if not np.isfinite(weights).all():
                raise DataError(f"the {name} weights have NaN or infinity among them.")
        self.groups, self.group_bits = groups, bits // groups
        """G and r."""
        self.user_weights = np.asarray(user_weights, dtype=np.float32)
        self.item_weights = np.asarray(item_weights, dtype=np.float32)

    def queries(self, users: Rows) -> ComposedQueries:
        return ComposedQueries(self.user_rows[users], self.user_weights[users])

    @cached_property
    def item_columns(self) -> tuple[Bytes, Floats]:
        """Bytes (G P, m), group g in rows g P .. (g + 1) P - 1, and weights (G, m)."""
        as_bytes = group_bytes(self.item_rows, self.bits, self.groups)
        return np.ascontiguousarray(as_bytes.T), np.ascontiguousarray(self.item_weights.T)

    def ready(self, queries: ComposedQueries) -> tuple[Bytes, Floats]:
        """Queries as kernels take them: the bytes of their groups (B, G P), weights (B, G)."""
        shapes = (queries.words.shape[1:], queries.weights.shape[1:])
        if shapes != ((words_for(self.bits),), (self.groups,)):
            raise DataError(
                f"the queries have words and weights of shape {shapes[0]} and {shapes[1]} each, "
                f"but the items {(words_for(self.bits),)} and {(self.groups,)}."
            )
        if not np.isfinite(queries.weights).all():
            raise DataError("the weights of the queries have NaN or infinity among them.")
        weights = np.ascontiguousarray(queries.weights)
        return group_bytes(queries.words, self.bits, self.groups), weights

    def score(self, queries: ComposedQueries) -> Scores:
        return composed_scores(*self.item_columns, self.group_bits, *self.ready(queries))

    def among_items(self) -> ComposedCodes:
        """Items in the place of users, with their own weights on both sides."""
        codes, weights = self.item_rows, self.item_weights
        return ComposedCodes(codes, codes, weights, weights, self.bits)

    def among_users(self) -> ComposedCodes:
        """Users in the place of items, with their own weights on both sides."""
        codes, weights = self.user_rows, self.user_weights
        return ComposedCodes(codes, codes, weights, weights, self.bits)

    def query_code(self, query: ComposedQueries) -> Words:
        code: Words = query.words[0]
        return code

    def bits_agreed(self, query: ComposedQueries, item: int) -> int:
        """Over all groups, whatever their weights."""
        differ = query.words[0] ^ self.item_rows[np.array([item])]
        return self.bits - int(np.bitwise_count(differ).sum())

    def tensors(self) -> Tensors:
        weights = {"user_weights": self.user_weights, "item_weights": self.item_weights}
        return {**super().tensors(), **weights}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        codes = (tensors["user_codes"], tensors["item_codes"])
        weights = (tensors["user_weights"], tensors["item_weights"])
        return cls(*codes, *weights, int(tensors["bits"][0]))


def group_bytes(words: Words | CodeRows, bits: int, groups: int) -> Bytes:
    """The groups of codes (n, W) as whole bytes, each filled up with zeros: (n, G P)."""
    size, n = bits // groups, len(words)
    out = np.empty((n, groups * -(-size // 8)), dtype=np.uint8)
    for begin in range(0, n, ROWS_AT_ONCE):
        part = np.ascontiguousarray(words[begin : begin + ROWS_AT_ONCE], dtype="<u8").view(np.uint8)
        if size % 8 == 0:
            out[begin : begin + ROWS_AT_ONCE] = part[:, : bits // 8]
            continue
        unpacked = np.unpackbits(part, axis=1, count=bits, bitorder="little")
        grouped = unpacked.reshape(len(part), groups, size)
        packed = np.packbits(grouped, axis=2, bitorder="little")
        out[begin : begin + ROWS_AT_ONCE] = packed.reshape(len(part), -1)
    return out
