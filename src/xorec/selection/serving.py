"""What serving costs: bytes that are kept for each item, and the time of a query."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.representations.base import Representation
from xorec.search.index import Index, index_of

_TIMED_QUERIES = 200
_WARM_UP = 20


class ServingCost(NamedTuple):
    """us_per_query: median microseconds of one user's query. bytes_per_item: of the index."""

    us_per_query: float
    bytes_per_item: float


def serving_cost(
    representation: Representation, seen: Interactions, k: int = 10, threads: int | None = None
) -> ServingCost:
    """What the index that serves costs on one thread, and what it keeps, by the item.

    Bytes are those of all that a search reads of items: codes, tables, vectors, item weights and
    the tie order; nothing of users. threads: to build the index; None for all cores.

    >>> import xorec
    >>> from xorec.representations.shared_scores import SharedScores
    >>> seen = xorec.Interactions.from_pairs([("ann", "tea"), ("ann", "rye"), ("bob", "tea")])
    >>> serving_cost(SharedScores(seen.item_counts.astype(np.float32), 2), seen).bytes_per_item
    8.0
    """
    index = index_of(representation, tie_rank(seen.items, seen.item_counts), threads=threads)
    each = index.nbytes / max(1, representation.n_items)
    return ServingCost(_query_time(index, representation, seen, k), each)


def _query_time(index: Index, representation: Representation, seen: Interactions, k: int) -> float:
    """Median microseconds to find the best items of one user, one user at a time.

    After some queries that are not timed: kernels are loaded then, and vectors are in the cache.
    """
    users = np.linspace(0, seen.n_users - 1, min(_TIMED_QUERIES, seen.n_users)).astype(np.int64)

    def ask(user: int) -> float:
        began = time.perf_counter()
        user_items = seen.of_user(user)
        query = representation.queries(np.array([user]))
        index.search(query, k, exclude=(np.array([0, len(user_items)]), user_items))
        return time.perf_counter() - began

    for user in users[:_WARM_UP].tolist():
        ask(user)
    return float(np.median([ask(user) for user in users.tolist()]) * 1e6)
