"""The data of a benchmark: codes and the vectors behind them, drawn by seed or learned.

Rows are drawn in blocks, each from a random stream of its own, so ten million items need no more
memory than what is kept of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.bits import Words, pack_signs, unpack_signs, words_for
from xorec.core.errors import DataError, OptionError
from xorec.data.interactions import Interactions
from xorec.data.text import gather_spans
from xorec.data.tie_rank import TieRank, tie_rank
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats, Vectors
from xorec.search.hits import Exclude
from xorec.search.index import Index

Rows = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, int, int], Floats]
"""(generator, first row, number of rows) -> vectors (rows, bits)."""

RANK = 16
NOISE = 0.3
BLOCK = 65_536
_MIXING, _ITEMS, _QUERIES, _TIES, _LISTS, _USERS = range(6)
"""Random streams."""


@dataclass(frozen=True, eq=False)
class BenchData:
    """Items and queries as codes (n, words), and as vectors (n, dimensions) of the same taste.

    The vectors are None where no float method needs them. name: what the codes are.
    """

    name: str
    bits: int
    item_codes: Words
    query_codes: Words
    tie_rank: TieRank
    item_vectors: Floats | None = None
    query_vectors: Floats | None = None

    @property
    def n_items(self) -> int:
        return len(self.item_codes)

    @property
    def n_queries(self) -> int:
        return len(self.query_codes)

    @property
    def vectors(self) -> tuple[Floats, Floats]:
        """Of items and of queries, where they were kept."""
        assert self.item_vectors is not None
        assert self.query_vectors is not None
        return self.item_vectors, self.query_vectors

    def spread(self, count: int) -> Rows:
        """`count` queries, evenly spaced."""
        return np.arange(count) * self.n_queries // count


def make_data(
    codes: str, items: int, bits: int | None, queries: int, seed: int, vectors: bool = True
) -> BenchData:
    """`low-rank`, `uniform`, or the users and items of a model file; vectors: keep them.

    A model file has its own number of bits, and `items` is at most what it has.
    """
    if codes in ("low-rank", "uniform"):
        return _drawn(codes, items, bits or 64, queries, seed, vectors)
    if codes.endswith(".xorec"):
        return _of_model_file(Path(codes), items, bits, queries, seed, vectors)
    raise OptionError(f"codes is {codes!r}: give low-rank, uniform or a model file, FILE.xorec.")


def _drawn(codes: str, items: int, bits: int, queries: int, seed: int, vectors: bool) -> BenchData:
    """low-rank: users and items are normal factors, mixed, with some noise. uniform: all normal."""
    mixing = np.random.default_rng((seed, _MIXING)).standard_normal((RANK, bits), dtype=np.float32)

    def low_rank(rng: np.random.Generator, begin: int, rows: int) -> Floats:
        factors = rng.standard_normal((rows, RANK), dtype=np.float32)
        noise = rng.standard_normal((rows, bits), dtype=np.float32)
        return np.asarray(factors @ mixing + np.float32(NOISE) * noise)

    def uniform(rng: np.random.Generator, begin: int, rows: int) -> Floats:
        return rng.standard_normal((rows, bits), dtype=np.float32)

    draw = low_rank if codes == "low-rank" else uniform
    item_codes, item_vectors = _rows(draw, items, bits, (seed, _ITEMS), vectors)
    query_codes, query_vectors = _rows(draw, queries, bits, (seed, _QUERIES), vectors)
    ties = np.random.default_rng((seed, _TIES)).permutation(items).astype(np.int32)
    return BenchData(codes, bits, item_codes, query_codes, ties, item_vectors, query_vectors)


def _rows(
    draw: Draw, count: int, bits: int, key: tuple[int, int], keep: bool
) -> tuple[Words, Floats | None]:
    """The signs of `count` rows, packed, and the rows themselves where they are to be kept."""
    words = np.empty((count, words_for(bits)), dtype=np.uint64)
    vectors = np.empty((count, bits), dtype=np.float32) if keep else None
    for begin in range(0, count, BLOCK):
        rows = min(BLOCK, count - begin)
        part = draw(np.random.default_rng((*key, begin // BLOCK)), begin, rows)
        words[begin : begin + rows] = pack_signs(part)
        if vectors is not None:
            vectors[begin : begin + rows] = part
    return words, vectors


def _of_model_file(
    path: Path, items: int, bits: int | None, queries: int, seed: int, vectors: bool
) -> BenchData:
    """Codes of a model file. Its vectors are gone: ours have its signs and normal magnitudes."""
    from xorec.recommender.recommender import Recommender

    model = Recommender.load(path)
    codes = model.representation
    if not isinstance(codes, Codes):
        raise OptionError(f"{path} holds {codes.kind}, not codes: give a model such as dsiml.")
    if bits not in (None, codes.bits):
        raise OptionError(f"bits is {bits} but {path} has {codes.bits} bits: leave --bits out.")
    users = np.random.default_rng((seed, _USERS)).permutation(codes.n_users)[:queries]
    item_codes = np.array(codes.item_codes[:items], dtype=np.uint64)
    query_codes = np.array(codes.user_codes[users], dtype=np.uint64)
    ties = np.argsort(np.argsort(model.tie_rank[: len(item_codes)])).astype(np.int32)

    def vectors_of(words: Words, stream: int) -> Floats | None:
        def draw(rng: np.random.Generator, begin: int, rows: int) -> Floats:
            signs = unpack_signs(words[begin : begin + rows], codes.bits)
            return np.asarray(signs * np.abs(rng.standard_normal(signs.shape, dtype=np.float32)))

        return _rows(draw, len(words), codes.bits, (seed, stream), True)[1] if vectors else None

    of_items, of_queries = vectors_of(item_codes, _ITEMS), vectors_of(query_codes, _QUERIES)
    return BenchData(path.name, codes.bits, item_codes, query_codes, ties, of_items, of_queries)


def learned_data(
    codes: Representation, vectors: Representation, seen: Interactions, seed: int = 0
) -> tuple[BenchData, Exclude]:
    """What two models have learned from the pairs `seen`, one codes, the other vectors; and the
    seen lists."""
    if not isinstance(codes, Codes) or codes.user_vectors is not None:
        raise OptionError(f"codes are {codes.kind} here: give codes on both sides, as dsiml's.")
    if not isinstance(vectors, Vectors):
        raise OptionError(f"vectors are {vectors.kind} here: give vectors, such as bpr's.")
    for name, one in (("codes", codes), ("vectors", vectors)):
        if (one.n_users, one.n_items) != (seen.n_users, seen.n_items):
            raise DataError(
                f"the {name} are of {one.n_users:,} users and {one.n_items:,} items but the pairs "
                f"of {seen.n_users:,} and {seen.n_items:,}: give models that learned from them."
            )
    users, items = without_bias(vectors)
    ties = tie_rank(seen.items, seen.item_counts, seed)
    data = BenchData("learned", codes.bits, codes.item_codes, codes.user_codes, ties, items, users)
    return data, (as_contiguous(seen.indptr), as_contiguous(seen.indices))


def without_bias(vectors: Vectors) -> tuple[Floats, Floats]:
    """Users and items whose dot products are the scores: a bias is one more dimension."""
    users, items = vectors.user_vectors, vectors.item_vectors
    if vectors.item_bias is not None:
        ones = np.ones((len(users), 1), dtype=np.float32)
        users = np.concatenate([users, ones], axis=1)
        items = np.concatenate([items, vectors.item_bias[:, None]], axis=1)
    return np.ascontiguousarray(users, np.float32), np.ascontiguousarray(items, np.float32)


LISTS_AT_ONCE = 8_192
"""Queries whose lists are drawn at once."""


def draw_seen(
    data: BenchData, index: Index, length: int, near: int, seed: int, threads: int
) -> Exclude:
    """A seen list of `length` items for each query, ascending: (indptr, indices).

    Half of a list comes from the query's `near` nearest items, as people have what suits them; the
    other half from anywhere. At most half of all items are seen.
    """
    length, near = min(length, data.n_items // 2), min(near, data.n_items)
    rng = np.random.default_rng((seed, _LISTS))
    lists = [
        seen_lists(index.search(codes, near, threads=threads).items, data.n_items, length, rng)
        for begin in range(0, data.n_queries, LISTS_AT_ONCE)
        for codes in [data.query_codes[begin : begin + LISTS_AT_ONCE]]
    ]
    indptr = np.arange(data.n_queries + 1, dtype=np.int64) * length
    return indptr, np.concatenate(lists).reshape(-1)


def seen_lists(
    nearest: npt.NDArray[np.int32], n_items: int, length: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Lists (Q, length), ascending: half of the `nearest` items (Q, near), the rest of all."""
    half = min(length // 2, nearest.shape[1])
    places = rng.random(nearest.shape, dtype=np.float32).argsort(axis=1)[:, :half]
    lists = np.empty((len(nearest), length), dtype=np.int32)
    lists[:, :half] = np.take_along_axis(nearest, places, axis=1)
    lists[:, half:] = rng.integers(n_items, size=(len(nearest), length - half))
    while True:  # what was drawn twice is drawn again
        lists.sort(axis=1)
        twice = np.zeros(lists.shape, dtype=np.bool_)
        twice[:, 1:] = lists[:, 1:] == lists[:, :-1]
        if not twice.any():
            return lists
        lists[twice] = rng.integers(n_items, size=np.count_nonzero(twice))


def lists_of(exclude: Exclude, queries: Rows) -> Exclude:
    """The seen lists of these queries."""
    indptr, indices = exclude
    places, cut = gather_spans(np.asarray(indptr, dtype=np.int64), queries)
    return cut, indices[places]


def part_of(exclude: Exclude, begin: int, end: int) -> Exclude:
    """The seen lists of the queries begin:end."""
    indptr, indices = exclude
    cut = indices[indptr[begin] : indptr[end]]
    return indptr[begin : end + 1] - indptr[begin], cut
