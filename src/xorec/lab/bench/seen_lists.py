"""Seen lists: the items that each query of a benchmark has seen, and that its answer leaves out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.data.text import gather_spans
from xorec.lab.bench.data import BenchData, Rows
from xorec.search.hits import Exclude, Hits

BLOCK = 8_192
"""Queries whose lists are drawn at once."""
_STREAM = 4
"""The random stream of the lists, beside those of `data`."""


class SearchIndex(Protocol):
    """What finds the nearest items: our index."""

    def search(self, queries: Words, k: int, *, threads: int) -> Hits: ...


def draw_seen(
    data: BenchData, index: SearchIndex, length: int, near: int, seed: int, threads: int
) -> Exclude:
    """A seen list of `length` items for each query, ascending: (indptr, indices).

    Half of a list comes from the query's `near` nearest items, as people have what suits them; the
    other half from anywhere. At most half of all items are seen.
    """
    length, near = min(length, data.n_items // 2), min(near, data.n_items)
    rng = np.random.default_rng((seed, _STREAM))
    lists = [
        seen_lists(index.search(codes, near, threads=threads).items, data.n_items, length, rng)
        for begin in range(0, data.n_queries, BLOCK)
        for codes in [data.query_codes[begin : begin + BLOCK]]
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
    while True:  # what was drawn twice is drawn anew
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
