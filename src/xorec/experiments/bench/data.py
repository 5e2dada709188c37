"""The data of `xorec bench search`: codes, the vectors behind them, seen lists. All by seed.

Rows are drawn in blocks, each from a random stream of its own, so ten million items need no more
memory than what is kept of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, pack_signs, unpack_signs, words_for
from xorec.core.errors import OptionError
from xorec.data.tie_rank import TieRank
from xorec.search.hits import Exclude

Floats = npt.NDArray[np.float32]
Draw = Callable[[np.random.Generator, int, int], Floats]
"""(generator, first row, number of rows) -> vectors (rows, bits)."""

RANK = 16
NOISE = 0.3
BLOCK = 65_536
NEAR = 1_000
_MIXING, _ITEMS, _QUERIES, _TIES, _SEEN, _USERS = range(6)


@dataclass(frozen=True, eq=False)
class SearchData:
    """Items and queries as codes (n, words), and as the vectors (n, bits) that have their signs.

    The vectors are None where no float method asks for them.
    """

    codes: str
    bits: int
    item_codes: Words
    query_codes: Words
    tie_rank: TieRank
    item_vectors: Floats | None
    query_vectors: Floats | None

    @property
    def n_items(self) -> int:
        return len(self.item_codes)

    @property
    def n_queries(self) -> int:
        return len(self.query_codes)


def make_data(
    codes: str, items: int, bits: int | None, queries: int, seed: int, vectors: bool = True
) -> SearchData:
    """`low-rank`, `uniform`, or the users and items of a model file; vectors: keep them.

    A model file has its own number of bits, and `items` is at most what it has.
    """
    if codes in ("low-rank", "uniform"):
        return _drawn(codes, items, bits or 64, queries, seed, vectors)
    if codes.endswith(".xorec"):
        return _of_model(Path(codes), items, bits, queries, seed, vectors)
    raise OptionError(f"codes is {codes!r}: give low-rank, uniform or a model file, FILE.xorec.")


def _drawn(codes: str, items: int, bits: int, queries: int, seed: int, vectors: bool) -> SearchData:
    """low-rank: users and items are normal factors, mixed, with some noise. uniform: all normal."""
    mixing = _generator(seed, _MIXING).standard_normal((RANK, bits), dtype=np.float32)

    def low_rank(rng: np.random.Generator, begin: int, rows: int) -> Floats:
        factors = rng.standard_normal((rows, RANK), dtype=np.float32)
        noise = rng.standard_normal((rows, bits), dtype=np.float32)
        return np.asarray(factors @ mixing + np.float32(NOISE) * noise)

    def uniform(rng: np.random.Generator, begin: int, rows: int) -> Floats:
        return rng.standard_normal((rows, bits), dtype=np.float32)

    draw = low_rank if codes == "low-rank" else uniform
    item_codes, item_vectors = _rows(draw, items, bits, (seed, _ITEMS), vectors)
    query_codes, query_vectors = _rows(draw, queries, bits, (seed, _QUERIES), vectors)
    tie_rank = _generator(seed, _TIES).permutation(items).astype(np.int32)
    return SearchData(codes, bits, item_codes, query_codes, tie_rank, item_vectors, query_vectors)


def _rows(
    draw: Draw, count: int, bits: int, key: tuple[int, int], keep: bool
) -> tuple[Words, Floats | None]:
    """The signs of `count` rows, packed, and the rows themselves where they are to be kept."""
    words = np.empty((count, words_for(bits)), dtype=np.uint64)
    vectors = np.empty((count, bits), dtype=np.float32) if keep else None
    for begin in range(0, count, BLOCK):
        rows = min(BLOCK, count - begin)
        part = draw(_generator(*key, begin // BLOCK), begin, rows)
        words[begin : begin + rows] = pack_signs(part)
        if vectors is not None:
            vectors[begin : begin + rows] = part
    return words, vectors


def _of_model(
    path: Path, items: int, bits: int | None, queries: int, seed: int, vectors: bool
) -> SearchData:
    """Codes of a model file. Its vectors are gone: ours have its signs and normal magnitudes."""
    from xorec.recommender.recommender import Recommender
    from xorec.representations.codes import Codes

    model = Recommender.load(path)
    found = model.representation
    if not isinstance(found, Codes):
        raise OptionError(f"{path} holds {found.kind}, not codes: give a model such as dsiml.")
    if bits not in (None, found.bits):
        raise OptionError(f"bits is {bits} but {path} has {found.bits} bits: leave --bits out.")
    users = _generator(seed, _USERS).permutation(found.n_users)[:queries]
    item_codes = np.array(found.item_codes[:items], dtype=np.uint64)
    query_codes = np.array(found.user_codes[users], dtype=np.uint64)
    tie_rank = np.argsort(np.argsort(model.tie_rank[: len(item_codes)])).astype(np.int32)

    def like(words: Words) -> Draw:
        def draw(rng: np.random.Generator, begin: int, rows: int) -> Floats:
            signs = unpack_signs(words[begin : begin + rows], found.bits)
            return np.asarray(signs * np.abs(rng.standard_normal(signs.shape, dtype=np.float32)))

        return draw

    item_vectors = query_vectors = None
    if vectors:
        key = (seed, _ITEMS)
        _, item_vectors = _rows(like(item_codes), len(item_codes), found.bits, key, True)
        key = (seed, _QUERIES)
        _, query_vectors = _rows(like(query_codes), len(query_codes), found.bits, key, True)
    return SearchData(
        path.name, found.bits, item_codes, query_codes, tie_rank, item_vectors, query_vectors
    )


def seen_lists(
    nearest: npt.NDArray[np.integer[Any]], n_items: int, length: int, seed: int
) -> Exclude:
    """A seen list of `length` items for each query, ascending: (indptr, indices).

    Half of a list comes from the query's `nearest` items (Q, up to NEAR), as people have what
    suits them; the other half from anywhere.
    """
    rng = _generator(seed, _SEEN)
    lists = np.empty((len(nearest), length), dtype=np.int32)
    for row, near in zip(lists, nearest, strict=True):
        half = rng.choice(near, min(length // 2, len(near)), replace=False)
        anywhere = rng.choice(n_items, min(2 * length, n_items), replace=False)
        rest = anywhere[~np.isin(anywhere, half)][: length - len(half)]
        row[:] = np.sort(np.concatenate([half, rest]))
    return np.arange(len(lists) + 1, dtype=np.int64) * length, lists.reshape(-1)


def part_of(exclude: Exclude, begin: int, end: int) -> Exclude:
    """The seen lists of the queries begin:end."""
    indptr, indices = exclude
    cut = indices[indptr[begin] : indptr[end]]
    return indptr[begin : end + 1] - indptr[begin], cut


def _generator(*key: int) -> np.random.Generator:
    return np.random.default_rng(key)
