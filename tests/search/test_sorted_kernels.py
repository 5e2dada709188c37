from __future__ import annotations

import numpy as np

from xorec.search.top_k import contains, insert_sorted


def test_the_smallest_keys_are_kept_once_each_in_their_order() -> None:
    rng = np.random.default_rng(0)
    for room in (1, 3, 8):
        keys = rng.integers(0, 12, 40).astype(np.uint64)
        best, count = np.zeros(room, dtype=np.uint64), 0
        for at, key in enumerate(keys):
            count = insert_sorted(best, count, key)
            assert best[:count].tolist() == np.unique(keys[: at + 1])[:room].tolist()


def test_what_is_in_a_sorted_list_is_found() -> None:
    rows = np.array([2, 5, 9])
    assert [row for row in range(12) if contains(rows, row)] == [2, 5, 9]
    assert not contains(rows[:0], 2)
