from __future__ import annotations

import gc

import numpy as np

from xorec.models.base import DataUpdate
from xorec.models.new_rows import once_for_each, signs_of, solve_new_rows, with_room
from xorec.representations.vectors import Vectors
from xorec.testing.data import planted


def test_new_users_then_items_then_all_changed_users() -> None:
    data, solved = planted(8, 6, per_user=3), []
    users, items = np.array([1, 6, 7]), np.array([5])
    solve_new_rows(
        DataUpdate(data, users, items, np.zeros(8, dtype=np.int64)),
        6,
        lambda rows: solved.append(("users", rows.tolist())),
        lambda rows: solved.append(("items", rows.tolist())),
    )
    assert solved == [("users", [6, 7]), ("items", [5]), ("users", [1, 6, 7])]


def test_room_is_zeros_behind_a_copy() -> None:
    rows = np.ones((2, 3), dtype=np.int8)
    found = with_room(rows, 4)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, [[1] * 3, [1] * 3, [0] * 3, [0] * 3])
    found[0] = 7
    assert rows.max() == 1


def test_zero_has_the_sign_of_one() -> None:
    np.testing.assert_array_equal(signs_of(np.array([-0.5, -0.0, 0.0, 2.0])), [-1, 1, 1, 1])


def test_what_is_derived_is_kept_while_the_representation_lives() -> None:
    calls = []

    @once_for_each
    def total(vectors: Vectors) -> float:
        calls.append(1)
        return float(vectors.item_vectors.sum())

    first, second = (
        Vectors(np.ones((1, 2), np.float32), np.ones((n, 2), np.float32)) for n in (3, 4)
    )
    assert (total(first), total(first), total(second)) == (6.0, 6.0, 8.0)
    assert len(calls) == 2
    del first
    gc.collect()
    assert total(second) == 8.0
    assert len(calls) == 2
