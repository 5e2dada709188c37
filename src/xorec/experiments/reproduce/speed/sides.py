"""The contestants of rq3: who recommends to everybody, by what, and whether it is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.experiments.bench.check import NotExactError, check_exact, oracle
from xorec.experiments.bench.data import SearchData, part_of
from xorec.experiments.reproduce.speed.data import Rows, SpeedData
from xorec.experiments.reproduce.speed.floats import FloatRanking, fastest_way
from xorec.recommender.batch import BLOCK_HITS
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Exclude

CODES, FLOATS = "xorec", "float-blas"
FAISS_CODES, FAISS_FLOATS = "faiss-binary-flat", "float-faiss"
METHODS = (CODES, FLOATS, FAISS_CODES, FAISS_FLOATS)
CHECKED = 16
"""Users whose lists are held against brute force before the clock starts."""
_FAISS_BYTES = (4, 8, 16, 20, 32, 64)
"""Lengths of codes that faiss has a fast loop for."""
_FEW = 2_000

Answer = Callable[[npt.NDArray[Any], Exclude], Any]
"""(queries, their seen lists) -> lists."""


@dataclass(frozen=True, eq=False)
class Side:
    """A contestant that is built. queries: of all users. bytes: of all that it searches."""

    method: str
    queries: npt.NDArray[Any]
    answer: Answer
    bytes: int
    how: str
    build_seconds: float = 0.0

    def request(self, data: SpeedData, users: Rows) -> Callable[[], Any]:
        """What these users ask for, laid out: calling it is the work that is timed."""
        everybody = len(users) == data.n_users
        queries = self.queries if everybody else np.ascontiguousarray(self.queries[users])
        seen = data.seen_of(users)
        return lambda: self.answer(queries, seen)


def make_sides(data: SpeedData, k: int, threads: int, faiss: bool) -> list[Side]:
    """All of METHODS, those of faiss if it is there; ours are checked against brute force."""
    sides = [codes_side(data, k, threads), floats_side(data, k, threads)]
    return [*sides, faiss_codes_side(data, k), faiss_floats_side(data, k)] if faiss else sides


def codes_side(data: SpeedData, k: int, threads: int) -> Side:
    """Our index, asked in the blocks that `xorec recommend --all-users` asks in."""
    for method in ("scan", "mih"):  # the kernels are loaded off the clock
        few = data.item_codes[:_FEW]
        HammingIndex(few, data.bits, method=method, threads=threads)
    began = time.perf_counter()
    index = HammingIndex(
        data.item_codes, data.bits, data.tie_rank, sample=data.user_codes, threads=threads
    )
    built = time.perf_counter() - began
    size = max(1, BLOCK_HITS // k)

    def answer(queries: Words, seen: Exclude) -> Any:
        blocks = [(at, min(len(queries), at + size)) for at in range(0, len(queries), size)]
        return [
            index.search(queries[low:high], k, exclude=part_of(seen, low, high), threads=threads)
            for low, high in blocks
        ]

    check_codes(answer, data, k)
    return Side(CODES, data.user_codes, answer, index.nbytes, index.explain(), built)


def floats_side(data: SpeedData, k: int, threads: int) -> Side:
    """The fastest of our ways to rank vectors, chosen on some users."""
    some = data.spread(min(data.n_users, 1 << 16))
    request = np.ascontiguousarray(data.user_vectors[some]), data.seen_of(some)
    way = fastest_way(data.item_vectors, *request, k, threads)
    ranking = FloatRanking(data.item_vectors, k, threads, way)
    check_floats(ranking.answer, data, k)
    size = data.item_vectors.nbytes
    return Side(FLOATS, data.user_vectors, ranking.answer, size, way.text(data.n_items))


def faiss_codes_side(data: SpeedData, k: int) -> Side:
    """IndexBinaryFlat, of codes padded to a length that it is fast at. It shows seen items."""
    import faiss

    least = -(-data.bits // 8)
    width = next((size for size in _FAISS_BYTES if size >= least), least)
    items, queries = padded_bytes(data.item_codes, width), padded_bytes(data.user_codes, width)
    began = time.perf_counter()
    index = faiss.IndexBinaryFlat(8 * width)
    index.add(items)
    built = time.perf_counter() - began
    how = f"codes of {width} bytes, seen items not left out"
    return Side(FAISS_CODES, queries, _faiss(index, k), items.nbytes, how, built)


def faiss_floats_side(data: SpeedData, k: int) -> Side:
    """IndexFlatIP, with a copy of the vectors. It shows seen items."""
    import faiss

    began = time.perf_counter()
    index = faiss.IndexFlatIP(data.item_vectors.shape[1])
    index.add(data.item_vectors)
    built = time.perf_counter() - began
    size, how = data.item_vectors.nbytes, "seen items not left out"
    return Side(FAISS_FLOATS, data.user_vectors, _faiss(index, k), size, how, built)


def _faiss(index: Any, k: int) -> Answer:
    def answer(queries: npt.NDArray[Any], seen: Exclude) -> Any:
        return index.search(queries, k)

    return answer


def padded_bytes(words: Words, width: int) -> npt.NDArray[np.uint8]:
    """Codes as rows of `width` bytes; the bits after the last are zero."""
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    result = np.zeros((len(words), width), dtype=np.uint8)
    kept = min(width, as_bytes.shape[1])
    result[:, :kept] = as_bytes[:, :kept]
    return result


def check_codes(answer: Answer, data: SpeedData, k: int) -> None:
    """NotExactError unless the lists of some users are those of brute force."""
    users = data.spread(min(CHECKED, data.n_users))
    codes, seen = data.user_codes[users], data.seen_of(users)
    asked = SearchData("", data.bits, data.item_codes, codes, data.tie_rank, None, None)
    truth = oracle(asked, min(k, data.n_items), len(users), seen)
    (hits,) = answer(codes, seen)
    check_exact(CODES, truth, hits.items, hits.distances, hits.counts)


def check_floats(answer: Answer, data: SpeedData, k: int) -> None:
    """NotExactError unless some users have k different unseen items that no other item beats."""
    users = data.spread(min(CHECKED, data.n_users))
    vectors, (indptr, indices) = data.user_vectors[users], data.seen_of(users)
    items, _ = answer(np.ascontiguousarray(vectors), (indptr, indices))
    for row, vector in enumerate(vectors):
        scores = data.item_vectors @ vector
        scores[indices[indptr[row] : indptr[row + 1]]] = -np.inf
        shown = min(k, int(np.isfinite(scores).sum()))
        own = items[row, :shown]
        kth = np.partition(scores, len(scores) - shown)[len(scores) - shown] if shown else 0.0
        slack = 1e-5 * float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
        if len(np.unique(own)) < shown or not np.all(scores[own] >= kth - slack):
            raise NotExactError(
                f"{FLOATS} is not exact: user {users[row]} got items {own.tolist()}, but brute "
                f"force has {np.argsort(-scores, kind='stable')[:shown].tolist()}. This is a bug "
                "of xorec: please report it with the command."
            )
