"""The float contestants of `xorec bench search`: exact top-k of dot products.

All but faiss and implicit, which have loops of their own, work on blocks of items whose scores
stay in the cache, and merge the best of each block: at a million items that is up to twice as
fast as whole rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.experiments.bench.data import Floats, SearchData
from xorec.experiments.bench.methods import Found, Method
from xorec.search.hits import Exclude

SCORES = 2 << 20
"""Scores of a block, 8 MB."""
QUERIES = 256

Best = Callable[[Floats, Floats, int], tuple[npt.NDArray[Any], npt.NDArray[Any]]]
"""(queries, items of a block, k) -> places in the block and scores (B, k), in any order."""


def numpy_floats(data: SearchData, k: int, threads: int) -> Method:
    """A product by BLAS and argpartition."""

    def best(queries: Floats, items: Floats, k: int) -> tuple[Any, Any]:
        scores = queries @ items.T
        places = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
        return places, np.take_along_axis(scores, places, axis=1)

    return _in_blocks("float-numpy", data, k, best)


def xorec_floats(data: SearchData, k: int, threads: int) -> Method:
    """A product by BLAS and our selection kernel."""
    from xorec.search.top_k_kernels import BestRows, TieRanks, top_k_rows

    rank = np.arange(min(SCORES, data.n_items), dtype=np.int32)
    none = np.zeros(0, dtype=np.int32)

    def best(queries: Floats, items: Floats, k: int) -> tuple[Any, Any]:
        scores, rows = queries @ items.T, len(queries)
        places, values = np.empty((rows, k), np.int32), np.empty((rows, k), np.float32)
        nobody, counts = np.zeros(rows + 1, np.int64), np.empty(rows, np.int64)
        own = rank[: len(items)]
        into = BestRows(places, values, counts)
        top_k_rows(scores, TieRanks(own, own), (nobody, none), into)
        return places, values

    return _in_blocks("float-xorec", data, k, best)


def torch_floats(data: SearchData, k: int, threads: int) -> Method:
    """torch.mm and torch.topk, on the same memory."""
    import torch

    def best(queries: Floats, items: Floats, k: int) -> tuple[Any, Any]:
        scores = torch.mm(torch.from_numpy(queries), torch.from_numpy(items).T)
        values, places = torch.topk(scores, k, sorted=False)
        return places.numpy(), values.numpy()

    return _in_blocks("float-torch", data, k, best)


def faiss_floats(data: SearchData, k: int, threads: int) -> Method:
    """IndexFlatIP; it keeps a copy of the vectors."""
    import faiss

    items, queries = _vectors(data)
    index = faiss.IndexFlatIP(data.bits)
    index.add(items)

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        scores, found = index.search(queries, k)
        return found, scores, None

    return Method("float-faiss", queries, search, 4 * data.bits)


def implicit_floats(data: SearchData, k: int, threads: int) -> Method:
    """The function that implicit's models recommend by."""
    from implicit.cpu.topk import topk

    items, queries = _vectors(data)

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        found, scores = topk(items, queries, k, num_threads=threads)
        return found, scores, None

    return Method("float-implicit", queries, search, 4 * data.bits)


def _in_blocks(name: str, data: SearchData, k: int, best: Best) -> Method:
    items, queries = _vectors(data)

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        parts = [
            _merge(items, queries[begin : begin + QUERIES], k, best)
            for begin in range(0, len(queries), QUERIES)
        ]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), None

    return Method(name, queries, search, 4 * data.bits)


def _merge(items: Floats, queries: Floats, k: int, best: Best) -> tuple[Any, Any]:
    """The `k` best of all blocks of items, best first."""
    size = max(k, SCORES // len(queries))
    all_places, all_scores = [], []
    for begin in range(0, len(items), size):
        block = items[begin : begin + size]
        places, scores = best(queries, block, min(k, len(block)))
        all_places.append(places.astype(np.int64) + begin)
        all_scores.append(scores)
    places, scores = np.concatenate(all_places, axis=1), np.concatenate(all_scores, axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _vectors(data: SearchData) -> tuple[Floats, Floats]:
    assert data.item_vectors is not None
    assert data.query_vectors is not None
    return data.item_vectors, data.query_vectors
