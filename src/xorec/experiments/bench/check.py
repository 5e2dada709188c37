"""Is it exact? Plain NumPy oracles for the methods of a benchmark, and recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.errors import XorecError
from xorec.experiments.bench.data import BenchData, Rows
from xorec.experiments.bench.timing import Timings
from xorec.search.hits import Exclude

Integers = npt.NDArray[np.integer]
Nearest = list[tuple[Integers, Integers]]
"""Items and distances of each query."""
BLOCK = 1 << 18
CHECKED, CHECKED_FLOATS = 50, 20
"""Queries whose answers are looked at."""
EXACT_FLOATS = ("float-blas",)
"""Float methods that must be exact; of others the recall is told."""


class NotExactError(XorecError):
    """An exact method gave an answer that the oracle does not: its times mean nothing."""


def check_answers(
    timings: Sequence[Timings], data: BenchData, k: int, queries: int = CHECKED
) -> None:
    """Recall of every method; NotExactError where an exact one differs from brute force."""
    rows = data.spread(min(queries, data.n_queries))
    few = data.spread(min(queries, CHECKED_FLOATS, data.n_queries))
    truths: dict[bool, Nearest] = {}
    for one in timings:
        if one.method.floats:
            items = one.answers(few)[0]
            one.recall = float_recall(data, k, few, items, one.exclude)
            if one.method.name in EXACT_FLOATS and one.recall < 1:
                raise NotExactError(
                    f"{one.label} is not exact: queries {few.tolist()} got items "
                    f"{items.tolist()}, and brute force finds better ones, or some were seen. "
                    "This is a bug of xorec: please report it with the command."
                )
            continue
        filtered = one.exclude is not None and one.method.ours
        if filtered not in truths:
            truths[filtered] = oracle(data, k, rows, one.exclude if filtered else None)
        items, distances, counts = one.answers(rows)
        if one.method.ours:
            check_exact(one.label, truths[filtered], items, distances, counts)
        one.recall = hamming_recall(data, rows, truths[filtered], items)


def hamming_distances(item_codes: Words, query: Words) -> npt.NDArray[np.int32]:
    """The distance of every item to one query (words,)."""
    distances = np.empty(len(item_codes), dtype=np.int32)
    for begin in range(0, len(item_codes), BLOCK):
        differ = np.bitwise_count(item_codes[begin : begin + BLOCK] ^ query)
        distances[begin : begin + BLOCK] = differ.sum(axis=1, dtype=np.int32)
    return distances


def oracle(data: BenchData, k: int, rows: Rows, exclude: Exclude | None = None) -> Nearest:
    """The `k` nearest items of these queries by distance, then tie rank; fewer where seen."""
    found: Nearest = []
    for row in rows:
        distances = hamming_distances(data.item_codes, data.query_codes[row])
        if exclude is not None:
            distances[_seen_by(exclude, row)] = data.bits + 1
        kth = min(data.bits, np.partition(distances, k - 1)[k - 1])
        candidates = np.flatnonzero(distances <= kth)
        order = np.lexsort((data.tie_rank[candidates], distances[candidates]))[:k]
        found.append((candidates[order], distances[candidates[order]]))
    return found


def check_exact(
    label: str, truth: Nearest, items: Integers, distances: Integers, counts: Integers
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


def hamming_recall(data: BenchData, rows: Rows, truth: Nearest, items: Integers) -> float:
    """The share of the returned items that are no farther than the true k-th; -1 is a miss."""
    found, wanted = 0, 0
    for row, returned, (_, distances) in zip(rows, items, truth, strict=True):
        distinct = np.unique(returned[returned >= 0])
        differ = np.bitwise_count(data.item_codes[distinct] ^ data.query_codes[row]).sum(axis=1)
        found += int(np.count_nonzero(differ <= distances[-1])) if len(distances) else 0
        wanted += len(distances)
    return found / wanted if wanted else 1.0


def float_recall(
    data: BenchData, k: int, rows: Rows, items: Integers, exclude: Exclude | None = None
) -> float:
    """The share of the returned items, seen ones and repeats left out, that score no less than the
    true k-th, up to rounding."""
    of_items, of_queries = data.vectors
    found, wanted = 0, 0
    for row, returned in zip(rows, items, strict=True):
        scores = of_items @ of_queries[row]
        if exclude is not None:
            scores[_seen_by(exclude, row)] = -np.inf
        allowed = scores[np.isfinite(scores)]
        count = min(k, len(allowed))
        if not count:
            continue
        kth = np.partition(allowed, len(allowed) - count)[len(allowed) - count]
        slack = 1e-5 * float(np.abs(allowed).max())
        distinct = np.unique(returned[:count][returned[:count] >= 0])
        found += int(np.count_nonzero(scores[distinct] >= kth - slack))
        wanted += count
    return found / wanted if wanted else 1.0


def _seen_by(exclude: Exclude, query: int) -> Integers:
    indptr, indices = exclude
    return indices[indptr[query] : indptr[query + 1]]
