"""Codebooks: an item is a sum of learned vectors, one from each book; a user is a vector."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xorec.core.errors import DataError
from xorec.core.kernels import kernel, numpy_first
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.representations.base import Bytes, Floats, Representation, Rows, Scores
from xorec.representations.look_up import look_up
from xorec.representations.vectors import Vectors

MAX_WORDS = 256
"""The most words of a book: an item names one by a byte."""


@kernel
def word_tables(queries: Any, books: Any, tables: Any) -> None:
    """tables[q, b, w] = sum over f of queries[q, f] books[b, f, w], f ascending.

    queries (q, D), books (B, D, W), tables: zeros (q, B, 256).
    """
    words = books.shape[2]
    for q in range(len(queries)):
        for b in range(len(books)):
            table = tables[q, b, :words]
            for f in range(books.shape[1]):
                factor, row = queries[q, f], books[b, f]
                for w in range(words):
                    table[w] += factor * row[w]


@numpy_first(word_tables)
def add_words(queries: Floats, books: Floats, tables: Floats) -> None:
    """`word_tables`."""
    for factor, rows in zip(queries[0], books.transpose(1, 0, 2), strict=True):
        tables[0, :, : books.shape[2]] += factor * rows


class Codebooks(Representation):
    """score(u, i) = user_vectors[u] . sum over the books b of codebooks[b, item_codes[i, b]].

    user_vectors (n, D); item_codes uint8 (m, B); codebooks (B, W, D), W up to 256. The products of
    a query with all B W words are computed once; an item then costs B look-ups, which are added in
    float32 from the first book to the last, in `score` and in every search.
    """

    kind = "codebooks"
    score_description = "the dot product of the user's vector and the sum of the item's words"
    schema: ClassVar[Schema] = {
        "user_vectors": Tensor("float32", ("users", "dimensions")),
        "item_codes": Tensor("uint8", ("items", "books"), rows_of="words"),
        "codebooks": Tensor("float32", ("books", "words", "dimensions")),
    }

    def __init__(self, user_vectors: Floats, item_codes: Bytes, codebooks: Floats) -> None:
        self.user_vectors, self.item_codes, self.codebooks = user_vectors, item_codes, codebooks
        check_tensors(self.tensors(), self.schema, {})
        if not 1 <= codebooks.shape[1] <= MAX_WORDS:
            raise DataError(f"a book has {codebooks.shape[1]} words: give 1 to {MAX_WORDS}.")
        self.n_users, self.n_items = len(user_vectors), len(item_codes)
        self.query_length = int(codebooks.shape[2])
        """D, the numbers of a query."""

    @cached_property
    def columns(self) -> Bytes:
        """The items by columns, uint8 (B, m)."""
        return np.ascontiguousarray(self.item_codes.T)

    @cached_property
    def item_vectors(self) -> Floats:
        """The sums of the items' words, (m, D)."""
        vectors = np.zeros((self.n_items, self.query_length), dtype=np.float32)
        for book, words in zip(self.codebooks, self.columns, strict=True):
            vectors += book[words]
        return vectors

    @cached_property
    def _by_dimension(self) -> Floats:
        """The books with their words side by side, (B, D, W)."""
        return np.ascontiguousarray(self.codebooks.transpose(0, 2, 1), dtype=np.float32)

    def queries(self, users: Rows) -> Floats:
        return self.user_vectors[users]

    def tables(self, queries: Any) -> Floats:
        """The products of queries (q, D) with every word: (q, books, 256)."""
        rows = np.ascontiguousarray(np.atleast_2d(queries), dtype=np.float32)
        tables = np.zeros((len(rows), len(self.codebooks), MAX_WORDS), dtype=np.float32)
        add_words(rows, self._by_dimension, tables)
        return tables

    def score(self, queries: Any) -> Scores:
        return look_up(self.columns, self.tables(queries))

    def among_items(self) -> Vectors:
        """Cosines of the items' vectors."""
        return Vectors(self.user_vectors, self.item_vectors).among_items()

    def among_users(self) -> Vectors:
        """Cosines."""
        return Vectors(self.user_vectors, self.item_vectors).among_users()

    def metadata(self) -> dict[str, Any]:
        """`codebooks`: how many, of how many words each."""
        books, words, size = self.codebooks.shape
        return {"codebooks": {"books": books, "words": words, "dimensions": size}}
