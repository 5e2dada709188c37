"""The methods that search codes: our index by each strategy, and faiss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.lab.bench.data import BenchData
from xorec.lab.bench.method import Build, Found, Method, Search, Setup
from xorec.lab.bench.seen_lists import part_of
from xorec.recommender.batch import BLOCK_HITS
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Exclude

IVF_PROBES = 16
HNSW_LINKS, HNSW_BREADTH = 16, 64
FAST_WIDTHS = (4, 8, 16, 20, 32, 64)
"""Bytes of a code that faiss has a fast loop for."""
_FEW = 2_000


def by_index(strategy: str) -> Build:
    """Our index, asked in the blocks that `xorec recommend --all-users` asks in."""

    def make(setup: Setup) -> Method:
        index = hamming_index(setup.data, strategy, setup.threads)
        size = max(1, BLOCK_HITS // setup.k)

        def block(queries: Words, exclude: Exclude | None) -> Found:
            hits = index.search(queries, setup.k, exclude=exclude, threads=setup.threads)
            assert hits.distances is not None
            return hits.items, hits.distances, hits.counts

        def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
            if len(queries) <= size:
                return block(queries, exclude)
            found = []
            for low in range(0, len(queries), size):
                high = min(len(queries), low + size)
                lists = None if exclude is None else part_of(exclude, low, high)
                found.append(block(queries[low:high], lists))
            items, distances, counts = (np.concatenate(one) for one in zip(*found, strict=True))
            return items, distances, counts

        codes, about = setup.data.query_codes, index.explain()
        return Method(setup.name, codes, search, index.nbytes, about, index=index)

    return make


def hamming_index(data: BenchData, strategy: str, threads: int) -> HammingIndex:
    """The index that is measured: made as a recommender makes it, with a sample of queries."""
    sample = data.query_codes
    return HammingIndex(
        data.item_codes, data.bits, data.tie_rank, method=strategy, sample=sample, threads=threads
    )


def load_kernels(data: BenchData) -> None:
    """Make a small index of each kind, so that building is timed without loading the kernels."""
    few = min(data.n_items, _FEW)
    ties = data.tie_rank[:few].argsort().argsort().astype(data.tie_rank.dtype)
    small = replace(data, item_codes=data.item_codes[:few], tie_rank=ties)
    hamming_index(small, "scan", 1)
    hamming_index(small, "mih", 1)


def faiss_flat(widths: Sequence[int] = ()) -> Build:
    """IndexBinaryFlat. widths: bytes of a code to choose from; else as few as hold the bits."""

    def make(setup: Setup) -> Method:
        import faiss

        least = -(-setup.data.bits // 8)
        width = next((one for one in widths if one >= least), least)
        items, queries = _bytes_of(setup.data, width)
        index = faiss.IndexBinaryFlat(8 * width)
        index.add(items)
        about = f"codes of {width} bytes, seen items not left out" if widths else ""
        return Method(setup.name, queries, faiss_search(index, setup.k), items.nbytes, about)

    return make


def faiss_ivf(setup: Setup) -> Method:
    """IndexBinaryIVF: about sqrt(N) lists, learned from a sample."""
    import faiss

    width = -(-setup.data.bits // 8)
    items, queries = _bytes_of(setup.data, width)
    lists = max(1, min(round(sqrt(len(items))), len(items) // 40))
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(8 * width), 8 * width, lists)
    index.cp.niter, index.cp.min_points_per_centroid = 10, 1
    index.cp.max_points_per_centroid = 64
    index.train(items[: 64 * lists])
    index.add(items)
    index.nprobe = min(IVF_PROBES, lists)
    about = f"{lists} lists, {index.nprobe} probed"
    return Method(setup.name, queries, faiss_search(index, setup.k), _serialized(index), about)


def faiss_hnsw(setup: Setup) -> Method:
    """IndexBinaryHNSW."""
    import faiss

    width = -(-setup.data.bits // 8)
    items, queries = _bytes_of(setup.data, width)
    index = faiss.IndexBinaryHNSW(8 * width, HNSW_LINKS)
    index.hnsw.efSearch = max(HNSW_BREADTH, setup.k)
    index.add(items)
    about = f"M {HNSW_LINKS}, efSearch {index.hnsw.efSearch}"
    return Method(setup.name, queries, faiss_search(index, setup.k), _serialized(index), about)


def faiss_search(index: Any, k: int) -> Search:
    """The search of an index of faiss, which cannot leave out each query's seen items."""

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        values, items = index.search(queries, k)
        return items, values, None

    return search


def _serialized(index: Any) -> int:
    import faiss

    return len(faiss.serialize_index_binary(index))


def _bytes_of(data: BenchData, width: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    return code_bytes(data.item_codes, width), code_bytes(data.query_codes, width)


def code_bytes(words: Words, width: int) -> npt.NDArray[np.uint8]:
    """Codes as faiss has them: rows of `width` bytes; the bits after the last are zero."""
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    result = np.zeros((len(words), width), dtype=np.uint8)
    kept = min(width, as_bytes.shape[1])
    result[:, :kept] = as_bytes[:, :kept]
    return result
