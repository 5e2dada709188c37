"""The methods that rank vectors, exactly: our blocks of BLAS products, torch, faiss, implicit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.lab.bench.data import Rows
from xorec.lab.bench.float_ranking import FloatRanking, Way, fastest_way
from xorec.lab.bench.hamming_methods import faiss_search
from xorec.lab.bench.method import Build, Found, Method, Setup
from xorec.lab.bench.seen_lists import lists_of
from xorec.search.hits import Exclude

TRIAL_QUERIES = 1 << 16
TORCH_SCORES, TORCH_QUERIES = 2 << 20, 256
"""Scores and queries of a block of torch's."""


def by_blas(way: Way | None = None) -> Build:
    """Products by BLAS in blocks: in this way, or in that which is fastest on some queries."""

    def make(setup: Setup) -> Method:
        items, queries = setup.data.vectors
        chosen = way or fastest_way(items, *_some(setup), setup.k, setup.threads)
        ranking = FloatRanking(items, setup.k, setup.threads, chosen)

        def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
            return *ranking.search(queries, exclude), None

        about = "" if way else chosen.text(len(items))
        return Method(setup.name, queries, search, items.nbytes, about)

    return make


def _some(setup: Setup) -> tuple[npt.NDArray[np.float32], Exclude | None]:
    """Queries to try ways on, with their seen lists."""
    some: Rows = setup.data.spread(min(setup.data.n_queries, TRIAL_QUERIES))
    queries = np.ascontiguousarray(setup.data.vectors[1][some])
    return queries, None if setup.seen is None else lists_of(setup.seen, some)


def by_torch(setup: Setup) -> Method:
    """torch.mm and torch.topk, on the same memory, in blocks whose scores stay in the cache."""
    import torch

    items, queries = map(torch.from_numpy, setup.data.vectors)
    k = setup.k

    def block(queries: Any) -> tuple[Any, Any]:
        width = max(k, TORCH_SCORES // len(queries))
        best = []
        for begin in range(0, len(items), width):
            scores = torch.mm(queries, items[begin : begin + width].T)
            values, places = torch.topk(scores, min(k, scores.shape[1]), sorted=False)
            best.append((values, places + begin))
        values, places = (torch.cat(one, dim=1) for one in zip(*best, strict=True))
        values, order = torch.topk(values, k)
        return places.gather(1, order), values

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        found = [block(part) for part in torch.from_numpy(queries).split(TORCH_QUERIES)]
        places, values = (torch.cat(one).numpy() for one in zip(*found, strict=True))
        return places, values, None

    return Method(setup.name, queries.numpy(), search, setup.data.vectors[0].nbytes)


def by_faiss(setup: Setup) -> Method:
    """IndexFlatIP; it keeps a copy of the vectors."""
    import faiss

    items, queries = setup.data.vectors
    index = faiss.IndexFlatIP(items.shape[1])
    index.add(items)
    about = "" if setup.seen is None else "seen items not left out"
    return Method(setup.name, queries, faiss_search(index, setup.k), items.nbytes, about)


def by_implicit(setup: Setup) -> Method:
    """The function that implicit's models recommend by."""
    from implicit.cpu.topk import topk

    items, queries = setup.data.vectors

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        found, scores = topk(items, queries, setup.k, num_threads=setup.threads)
        return found, scores, None

    return Method(setup.name, queries, search, items.nbytes)
