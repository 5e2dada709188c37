"""The nearest so far, in any order, against a sort of all that came."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.search.hamming.mih_buckets import (
    FARTHEST,
    SIZE,
    add,
    make_empty,
    may_come,
    pool_for,
    take_nearest,
)

FAR = 20


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("distances", [1, 3, FAR + 1])
@pytest.mark.parametrize("order", ["random", "farthest first"])
def test_the_nearest_are_those_of_a_sort(k: int, distances: int, order: str) -> None:
    """Ties beyond all room, the same item again and again, and a pool that is used twice."""
    rng, pool = np.random.default_rng(k + distances), pool_for(k, FAR)
    for _ in range(2):
        make_empty(pool)
        positions = rng.permutation(10_000)[:2_000].astype(np.uint64)
        keys = rng.integers(0, distances, 2_000).astype(np.uint64) << np.uint64(32) | positions
        came = rng.permutation(np.concatenate([keys, keys[::3], keys[::5]]))
        if order == "farthest first":
            came = np.sort(came)[::-1]
        for number, key in enumerate(came):
            if may_come(pool.numbers, key):
                add(pool, np.array([[key, 0]], dtype=np.int64), 1)
            if number % 97 == 0 or number == len(came) - 1:
                so_far = np.unique(came[: number + 1])
                known = int(so_far[k - 1] >> np.uint64(32)) if len(so_far) >= k else FAR
                assert pool.numbers[FARTHEST] == known
                assert pool.numbers[SIZE] <= len(pool.keys)
        best = np.zeros(k, dtype=np.uint64)
        assert take_nearest(pool, best) == k
        np.testing.assert_array_equal(best, np.sort(keys)[:k])
