"""Is it exact? Plain NumPy oracles for `xorec bench search`, and recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.errors import XorecError
from xorec.experiments.bench.data import Floats, SearchData
from xorec.experiments.bench.timing import Run
from xorec.search.hits import Exclude

Rows = npt.NDArray[np.integer]
BLOCK = 1 << 18
CHECKED, CHECKED_FLOATS = 50, 20
"""Queries whose answers are looked at."""


class NotExactError(XorecError):
    """An exact method gave an answer that the oracle does not: its times mean nothing."""


def check_answers(runs: Sequence[Run], data: SearchData, k: int) -> None:
    """Recall of every run; NotExactError where our index differs from brute force."""
    queries = min(CHECKED, data.n_queries)
    some = min(CHECKED_FLOATS, data.n_queries)
    plain = oracle(data, k, queries)
    exclude = next((run.exclude for run in runs if run.exclude is not None), None)
    filtered = plain if exclude is None else oracle(data, k, queries, exclude)
    kth = kth_scores(data, k, some) if any(run.method.floats for run in runs) else None
    for run in runs:
        if kth is not None and run.method.floats:
            run.recall = float_recall(data, kth, run.answers(some)[0])
            continue
        truth = plain if run.exclude is None else filtered
        items, distances, counts = run.answers(queries)
        if run.method.ours:
            check_exact(run.label, truth, items, distances, counts)
        run.recall = hamming_recall(data, truth, items)


def hamming_distances(item_codes: Words, query: Words) -> npt.NDArray[np.int32]:
    """The distance of every item to one query (words,)."""
    distances = np.empty(len(item_codes), dtype=np.int32)
    for begin in range(0, len(item_codes), BLOCK):
        differ = np.bitwise_count(item_codes[begin : begin + BLOCK] ^ query)
        distances[begin : begin + BLOCK] = differ.sum(axis=1, dtype=np.int32)
    return distances


def nearest(
    data: SearchData, query: int, k: int, excluded: Rows | None = None
) -> tuple[Rows, Rows]:
    """The `k` nearest items of a query by distance, then tie rank: (items, distances)."""
    distances = hamming_distances(data.item_codes, data.query_codes[query])
    if excluded is not None:
        distances[excluded] = data.bits + 1
    candidates = np.flatnonzero(distances <= min(data.bits, np.partition(distances, k - 1)[k - 1]))
    order = np.lexsort((data.tie_rank[candidates], distances[candidates]))[:k]
    items = candidates[order]
    return items, distances[items]


def oracle(
    data: SearchData, k: int, queries: int, exclude: Exclude | None = None
) -> list[tuple[Rows, Rows]]:
    """`nearest` of the first `queries` queries."""
    return [
        nearest(data, query, k, None if exclude is None else _list_of(exclude, query))
        for query in range(queries)
    ]


def check_exact(
    label: str,
    truth: list[tuple[Rows, Rows]],
    items: Rows,
    distances: Rows,
    counts: Rows,
) -> None:
    """Raise unless items, distances, order and counts are those of the oracle."""
    for query, (right_items, right_distances) in enumerate(truth):
        count = counts[query]
        same = (
            count == len(right_items)
            and np.array_equal(items[query, :count], right_items)
            and np.array_equal(distances[query, :count], right_distances)
        )
        if not same:
            raise NotExactError(
                f"{label} is not exact: query {query} got items {items[query, :count].tolist()} at "
                f"distances {distances[query, :count].tolist()}, but brute force says "
                f"{right_items.tolist()} at {right_distances.tolist()}. This is a bug of xorec: "
                "please report it with the command."
            )


def hamming_recall(data: SearchData, truth: list[tuple[Rows, Rows]], items: Rows) -> float:
    """The share of the returned items that are no farther than the true k-th; -1 is a miss."""
    found, wanted = 0, 0
    for query, (_, distances) in enumerate(truth):
        own = np.unique(items[query][items[query] >= 0])
        differ = np.bitwise_count(data.item_codes[own] ^ data.query_codes[query]).sum(axis=1)
        found += int(np.count_nonzero(differ <= distances[-1]))
        wanted += len(distances)
    return found / wanted


def kth_scores(data: SearchData, k: int, queries: int) -> Floats:
    """The k-th largest dot product of each of the first `queries` queries."""
    assert data.item_vectors is not None
    assert data.query_vectors is not None
    best = np.empty((queries, 0), dtype=np.float32)
    for begin in range(0, data.n_items, BLOCK):
        scores = data.query_vectors[:queries] @ data.item_vectors[begin : begin + BLOCK].T
        best = np.concatenate([best, scores], axis=1)
        if best.shape[1] > k:
            best = np.partition(best, best.shape[1] - k, axis=1)[:, -k:]
    return np.asarray(best.min(axis=1))


def float_recall(data: SearchData, kth: Floats, items: Rows) -> float:
    """The share of the returned items that score no less than the true k-th, up to rounding."""
    assert data.item_vectors is not None
    assert data.query_vectors is not None
    scores = np.einsum("qkd,qd->qk", data.item_vectors[items], data.query_vectors[: len(items)])
    bound = kth - 1e-4 * np.abs(kth)
    return float(np.mean((scores >= bound[:, None]) & (items >= 0)))


def _list_of(exclude: Exclude, query: int) -> Rows:
    indptr, indices = exclude
    return indices[indptr[query] : indptr[query + 1]]
