"""The registry of the methods of a benchmark, one line each."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.lab.bench.data import BenchData, Rows, lists_of, part_of
from xorec.lab.bench.float_ranking import BY_KERNEL, BY_NUMPY, FloatRanking, Way, fastest_way
from xorec.recommender.batch import BLOCK_HITS
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Exclude

Found = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]
"""Items (B, k), distances or scores (B, k), and counts (B,) where the method has them."""
Search = Callable[[npt.NDArray[Any], Exclude | None], Found]
"""(queries, their seen lists) -> hits."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What a method is built for. seen: the lists that all its queries will come with, if any."""

    name: str
    data: BenchData
    k: int
    threads: int
    seen: Exclude | None = None


@dataclass(frozen=True, eq=False)
class Method:
    """A method that is built. queries: all of them, in the form that `search` takes. bytes: of all
    that is searched. index: our own, where it is one."""

    name: str
    queries: npt.NDArray[Any]
    search: Search
    bytes: int
    explanation: str = ""
    build_seconds: float = 0.0
    index: Any = None

    @property
    def ours(self) -> bool:
        return self.name.startswith("xorec")

    @property
    def floats(self) -> bool:
        return self.name.startswith("float-")


Build = Callable[[Setup], Method]


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

        def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
            found: list[Found] = []
            for low in range(0, len(queries), size):
                block, lists = queries[low : low + size], exclude
                if exclude is not None and len(queries) > size:
                    lists = part_of(exclude, low, low + len(block))
                hits = index.search(block, setup.k, exclude=lists, threads=setup.threads)
                assert hits.distances is not None
                found.append((hits.items, hits.distances, hits.counts))
            if len(found) == 1:
                return found[0]
            items, distances, counts = (np.concatenate(one) for one in zip(*found, strict=True))
            return items, distances, counts

        codes, about = setup.data.query_codes, index.explain()
        return Method(setup.name, codes, search, index.nbytes, about, index=index)

    return make


def hamming_index(data: BenchData, strategy: str, threads: int) -> HammingIndex:
    """The index that is measured: made as a recommender makes it, with a sample of queries."""
    data_of_index = data.item_codes, data.bits, data.tie_rank
    return HammingIndex(*data_of_index, method=strategy, sample=data.query_codes, threads=threads)


def load_kernels(data: BenchData) -> None:
    """Make a small index of each kind, so that building is timed without loading the kernels."""
    few = min(data.n_items, _FEW)
    ties = data.tie_rank[:few].argsort().argsort().astype(data.tie_rank.dtype)
    small = replace(data, item_codes=data.item_codes[:few], tie_rank=ties)
    for strategy in ("scan", "mih"):
        hamming_index(small, strategy, 1)


def faiss_codes(
    fill: Callable[[int, Any, int], tuple[Any, str]], widths: Sequence[int] = ()
) -> Build:
    """A binary index of faiss, which cannot leave out each query's seen items.

    fill: (bits, items, k) -> an index with the items, and what it is. widths: bytes of a code to
    choose from; else as few as hold the bits.
    """

    def make(setup: Setup) -> Method:
        import faiss

        data = setup.data
        least = -(-data.bits // 8)
        width = next((one for one in widths if one >= least), least)
        items, queries = (code_bytes(words, width) for words in (data.item_codes, data.query_codes))
        index, about = fill(8 * width, items, setup.k)
        flat = isinstance(index, faiss.IndexBinaryFlat)
        size = items.nbytes if flat else len(faiss.serialize_index_binary(index))
        about = f"codes of {width} bytes, seen items not left out" if widths else about
        return Method(setup.name, queries, faiss_search(index, setup.k), size, about)

    return make


def fill_flat(bits: int, items: Any, k: int) -> tuple[Any, str]:
    """IndexBinaryFlat."""
    import faiss

    index = faiss.IndexBinaryFlat(bits)
    index.add(items)
    return index, ""


def fill_ivf(bits: int, items: Any, k: int) -> tuple[Any, str]:
    """IndexBinaryIVF: about sqrt(N) lists, learned from a sample."""
    import faiss

    lists = max(1, min(round(sqrt(len(items))), len(items) // 40))
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(bits), bits, lists)
    index.cp.niter, index.cp.min_points_per_centroid = 10, 1
    index.cp.max_points_per_centroid = 64
    index.train(items[: 64 * lists])
    index.add(items)
    index.nprobe = min(IVF_PROBES, lists)
    return index, f"{lists} lists, {index.nprobe} probed"


def fill_hnsw(bits: int, items: Any, k: int) -> tuple[Any, str]:
    """IndexBinaryHNSW."""
    import faiss

    index = faiss.IndexBinaryHNSW(bits, HNSW_LINKS)
    index.hnsw.efSearch = max(HNSW_BREADTH, k)
    index.add(items)
    return index, f"M {HNSW_LINKS}, efSearch {index.hnsw.efSearch}"


def faiss_search(index: Any, k: int) -> Search:
    """The search of an index of faiss."""

    def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
        values, items = index.search(queries, k)
        return items, values, None

    return search


def code_bytes(words: Words, width: int) -> npt.NDArray[np.uint8]:
    """Codes as faiss has them: rows of `width` bytes; the bits after the last are zero."""
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    result = np.zeros((len(words), width), dtype=np.uint8)
    kept = min(width, as_bytes.shape[1])
    result[:, :kept] = as_bytes[:, :kept]
    return result


TRIAL_QUERIES = 1 << 16
TORCH_SCORES, TORCH_QUERIES = 2 << 20, 256
"""Scores and queries of a block of torch's."""


def by_blas(way: Way | None = None) -> Build:
    """Products by BLAS in blocks: in this way, or in that which is fastest on some queries."""

    def make(setup: Setup) -> Method:
        (items, queries), seen = setup.data.vectors, setup.seen
        if way is None:
            some: Rows = setup.data.spread(min(len(queries), TRIAL_QUERIES))
            lists = None if seen is None else lists_of(seen, some)
            trial = np.ascontiguousarray(queries[some]), lists
            chosen = fastest_way(items, *trial, setup.k, setup.threads)
        else:
            chosen = way
        ranking = FloatRanking(items, setup.k, setup.threads, chosen)

        def search(queries: npt.NDArray[Any], exclude: Exclude | None) -> Found:
            return *ranking.search(queries, exclude), None

        about = "" if way else chosen.text(len(items))
        return Method(setup.name, queries, search, items.nbytes, about)

    return make


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


HUGE = 5_000_000
"""Items from which on copies of the vectors take too much memory."""


@dataclass(frozen=True)
class Registered:
    """module: what it needs. usual: whether it runs unless others are named.

    fewer_than: it is left out, unless it is named, where there are as many items, for a reason.
    """

    build: Build
    module: str | None = None
    usual: bool = True
    fewer_than: int | None = None
    reason: str = "memory"


METHODS = {
    "xorec": Registered(by_index("auto")),
    "xorec-scan": Registered(by_index("scan"), usual=False),
    "xorec-mih": Registered(by_index("mih"), usual=False),
    "faiss-binary-flat": Registered(faiss_codes(fill_flat), "faiss"),
    "faiss-binary-ivf": Registered(faiss_codes(fill_ivf), "faiss"),
    "faiss-binary-hnsw": Registered(
        faiss_codes(fill_hnsw), "faiss", fewer_than=1_000_001, reason="building takes long"
    ),
    "float-numpy": Registered(by_blas(BY_NUMPY)),
    "float-xorec": Registered(by_blas(BY_KERNEL)),
    "float-blas": Registered(by_blas(), usual=False),
    "float-faiss": Registered(by_faiss, "faiss", fewer_than=HUGE),
    "float-torch": Registered(by_torch, "torch", fewer_than=HUGE),
    "float-implicit": Registered(by_implicit, "implicit.cpu.topk", fewer_than=HUGE),
}
EXTRAS = {"faiss": "faiss", "torch": "torch", "implicit.cpu.topk": "peers"}
"""The extra that brings each module of the peers."""


def missing_modules(modules: Iterable[str | None]) -> set[str]:
    """Import them; return those that are not installed."""
    missing = set()
    for module in dict.fromkeys(modules):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if module is not None:
                    importlib.import_module(module)
        except ImportError:
            missing.add(str(module))
    return missing


@contextmanager
def thread_limit(threads: int, modules: Iterable[str | None]) -> Iterator[None]:
    """At most `threads` threads for BLAS, OpenMP and these modules, which are imported."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        if "faiss" in modules:
            import faiss

            faiss.omp_set_num_threads(threads)
        if "torch" not in modules:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
