"""The contestants of `xorec bench search`: their names, and the ones that search codes."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.experiments.bench.data import SearchData
from xorec.search.hamming.strategies import Method as Kind
from xorec.search.hits import Exclude

Found = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]
"""Items (B, k), distances or scores (B, k), and counts (B,) where the method has them."""

IVF_PROBES = 16
HNSW_LINKS, HNSW_BREADTH = 16, 64


@dataclass(frozen=True, eq=False)
class Method:
    """A contestant that is built. queries: all of them, in the form that `search` takes."""

    name: str
    queries: npt.NDArray[Any]
    search: Callable[[npt.NDArray[Any], Exclude | None], Found]
    bytes_per_item: float
    explanation: str = ""
    build_seconds: float = 0.0
    index: Any = None

    @property
    def ours(self) -> bool:
        return self.name.startswith("xorec")

    @property
    def floats(self) -> bool:
        return self.name.startswith("float-")


Build = Callable[[SearchData, int, int], Method]
"""(data, k, threads) -> the method, built."""


def build(make: Build, data: SearchData, k: int, threads: int) -> Method:
    """The method, with the time that building took."""
    began = time.perf_counter()
    method = make(data, k, threads)
    return replace(method, build_seconds=time.perf_counter() - began)


def xorec(name: str, kind: Kind) -> Build:
    """Our index, by this method."""

    def make(data: SearchData, k: int, threads: int) -> Method:
        index = hamming_index(data, kind, threads)

        def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
            hits = index.search(queries, k, exclude=exclude, threads=threads)
            return hits.items, hits.distances, hits.counts

        size = index.nbytes / data.n_items
        return Method(name, data.query_codes, search, size, index.explain(), index=index)

    return make


def hamming_index(data: SearchData, kind: Kind, threads: int) -> Any:
    """The index that is measured."""
    from xorec.search.hamming.index import HammingIndex

    return HammingIndex(
        data.item_codes, data.bits, tie_rank=data.tie_rank, method=kind, threads=threads
    )


def faiss_flat(data: SearchData, k: int, threads: int) -> Method:
    import faiss

    items, queries = _bytes(data.item_codes, data.bits), _bytes(data.query_codes, data.bits)
    index = faiss.IndexBinaryFlat(8 * items.shape[1])
    index.add(items)
    return Method("faiss-binary-flat", queries, _faiss_search(index, k), items.shape[1])


def faiss_ivf(data: SearchData, k: int, threads: int) -> Method:
    """About sqrt(N) lists, learned from a sample."""
    import faiss

    items, queries = _bytes(data.item_codes, data.bits), _bytes(data.query_codes, data.bits)
    lists = max(1, min(round(sqrt(len(items))), len(items) // 40))
    quantizer = faiss.IndexBinaryFlat(8 * items.shape[1])
    index = faiss.IndexBinaryIVF(quantizer, 8 * items.shape[1], lists)
    index.cp.niter, index.cp.min_points_per_centroid = 10, 1
    index.cp.max_points_per_centroid = 64
    index.train(items[: 64 * lists])
    index.add(items)
    index.nprobe = min(IVF_PROBES, lists)
    about = f"{lists} lists, {index.nprobe} probed"
    return Method("faiss-binary-ivf", queries, _faiss_search(index, k), _size(index), about)


def faiss_hnsw(data: SearchData, k: int, threads: int) -> Method:
    import faiss

    items, queries = _bytes(data.item_codes, data.bits), _bytes(data.query_codes, data.bits)
    index = faiss.IndexBinaryHNSW(8 * items.shape[1], HNSW_LINKS)
    index.hnsw.efSearch = max(HNSW_BREADTH, k)
    index.add(items)
    about = f"M {HNSW_LINKS}, efSearch {index.hnsw.efSearch}"
    return Method("faiss-binary-hnsw", queries, _faiss_search(index, k), _size(index), about)


def _faiss_search(index: Any, k: int) -> Callable[[npt.NDArray[Any], Exclude | None], Found]:
    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        distances, items = index.search(queries, k)
        return items, distances, None

    return search


def _size(index: Any) -> float:
    import faiss

    return float(len(faiss.serialize_index_binary(index)) / index.ntotal)


def _bytes(words: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint8]:
    """Codes as faiss has them: whole bytes, of which the bits after the last are zero."""
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.ascontiguousarray(as_bytes[:, : -(-bits // 8)])


EXTRAS = {"faiss": "faiss", "torch": "torch", "implicit.cpu.topk": "peers"}
"""The extra that brings each module of the peers."""


def missing(modules: Sequence[str]) -> set[str]:
    """Import them; return those that are not installed."""
    lacking = set()
    for module in modules:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(module)
        except ImportError:
            lacking.add(module)
    return lacking
