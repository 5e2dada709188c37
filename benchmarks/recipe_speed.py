"""One query through both stages of a blend, one thread: a million items, histories of 20 and 200.

    python benchmarks/recipe_speed.py --items 1000000 --json

Codes of 64 bits in clusters, item weights in int8 (about --weights an item, popular items in more
lists than others), vectors of 64 numbers in int8; histories by popularity. Beside it: all float
scores by BLAS with our selection, and dense item weights (EASE) at --dense-items, since a matrix
of all items cannot be built. Methods in turn, --repeats rounds: the median of all queries, the
median over users of the least of their rounds (what others on the machine disturb less), and the
median of the processor time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from xorec.core.bits import pack_signs
from xorec.lab.bench.harness import interleaved
from xorec.models.blend import Blend
from xorec.representations.codes import Codes
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Vectors
from xorec.search.index import index_of

USERS = 400
DIMENSIONS = 64


def popular(rng: np.random.Generator, items: int, count: int) -> Any:
    """`count` rows, the first ones more often: a power law with a long tail."""
    return np.minimum((items * rng.random(count) ** 2.5).astype(np.int64), items - 1)


def histories(rng: np.random.Generator, items: int, length: int) -> csr_array[np.float32]:
    """Rows of distinct items."""
    rows = [np.unique(popular(rng, items, 3 * length + 10)) for _ in range(USERS)]
    rows = [np.sort(rng.permutation(one)[:length]) for one in rows]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows)
    ones = np.ones(len(indices), dtype=np.float32)
    made = csr_array((ones, indices, indptr), shape=(USERS, items))
    made.indices = made.indices.astype(np.int32)  # as the pairs of a recommender are
    return made


def weights_of(rng: np.random.Generator, items: int, each: int) -> csr_array[np.float32]:
    """Each item is spoken for by `each` others, most of them popular ones near its cluster."""
    speakers = (
        popular(rng, items, items * each) * 7919 + np.arange(items).repeat(each) % 97
    ) % items
    weights = rng.exponential(0.05, items * each).astype(np.float32)
    columns = np.arange(items).repeat(each)
    made = csr_array((weights, (speakers, columns)), shape=(items, items))
    made.sum_duplicates()
    return made


def vectors_of(rng: np.random.Generator, rows: int) -> Any:
    """Unit vectors around 2,000 centres."""
    centres = np.random.default_rng(1).standard_normal((2000, DIMENSIONS)).astype(np.float32)
    made = centres[rng.integers(0, 2000, rows)]
    made += 0.5 * rng.standard_normal((rows, DIMENSIONS)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def microseconds(ask: Callable[[int], object], order: Any) -> list[tuple[float, float]]:
    """The time of each query and that of the processor, after some that are not timed."""
    for user in order[:30]:
        ask(int(user))
    times = []
    for user in order:
        began, spent = time.perf_counter(), time.thread_time()
        ask(int(user))
        times.append((1e6 * (time.perf_counter() - began), 1e6 * (time.thread_time() - spent)))
    return times


def asking(learned: Any, tie_rank: Any, seen: csr_array[np.float32]) -> Callable[[int], object]:
    """A function that asks for the ten best of a user who has seen their history."""
    index = index_of(learned, tie_rank, threads=2)

    def ask(user: int) -> object:
        own = seen.indices[seen.indptr[user] : seen.indptr[user + 1]]
        query = learned.queries(np.array([user]))
        return index.search(query, 10, exclude=(np.array([0, len(own)]), own))

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--dense-items", type=int, default=20_000)
    parser.add_argument("--weights", type=int, default=60)
    parser.add_argument("--near", type=int, default=Blend().config.near)
    parser.add_argument("--best", type=int, default=Blend().config.best)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rng, items = np.random.default_rng(0), given.items
    item_vectors, user_vectors = vectors_of(rng, items), vectors_of(rng, USERS)
    codes = Codes(pack_signs(user_vectors), pack_signs(item_vectors), DIMENSIONS)
    similarity = weights_of(rng, items, given.weights)
    tie_rank = np.arange(items, dtype=np.int32)
    rows = []
    for length in (20, 200):
        seen = histories(rng, items, length)
        weights = Neighbours.of(similarity, seen, "int8")
        quantized = RankingVectors.of(user_vectors, item_vectors, "int8")
        both = TwoStage(codes, quantized, weights, Sources(given.near, given.best), 0.3)
        dense = np.random.default_rng(2).random((given.dense_items,) * 2, dtype=np.float32)
        every = np.arange(given.dense_items, dtype=np.int32)
        few = histories(rng, given.dense_items, length)
        asked = {
            "both stages": asking(both, tie_rank, seen),
            "codes alone": asking(codes, tie_rank, seen),
            "item weights alone": asking(weights, tie_rank, seen),
            "float vectors, BLAS": asking(Vectors(user_vectors, item_vectors), tie_rank, seen),
            f"dense weights, {given.dense_items:,} items": asking(
                ItemWeights(dense, every, few), every, few
            ),
        }
        order = rng.permutation(USERS)
        turns = {
            name: partial(microseconds, ask, order if "BLAS" not in name else order[:60])
            for name, ask in asked.items()
        }
        rounds = interleaved(turns, given.repeats)
        for name, made in rounds.items():
            times = np.array(made)  # rounds x users x (wall, processor)
            row = {"history": length, "method": name, "items": items}
            row["us"] = float(np.median(times[..., 0]))
            row["least"] = float(np.median(times[..., 0].min(axis=0)))
            row["cpu"] = float(np.median(times[..., 1]))
            rows.append({**row, "p95": float(np.quantile(times[..., 0], 0.95))})
    if given.json:
        print(json.dumps({"rows": rows, "bytes_an_item": both.item_nbytes / items}))
        return
    for row in rows:
        print(
            f"{row['history']:>4} {row['method']:<32} {row['us']:>10,.0f} us  "
            f"least {row['least']:>8,.0f}  cpu {row['cpu']:>8,.0f}  p95 {row['p95']:,.0f}"
        )
    print(f"{both.item_nbytes / items:.0f} bytes an item")


if __name__ == "__main__":
    main()
