"""Rows that come after a fit: their order, their room, and codes against plain loops."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.models.base import DataUpdate
from xorec.models.new_rows import (
    mean_direction,
    once_for_each,
    signs_of,
    solve_new_rows,
    updated_codes,
    with_room,
)
from xorec.representations.codes import Codes
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


BITS, OLD_USERS, OLD_ITEMS = 16, 50, 35
DATA = planted(60, 40, per_user=9)
KNOWN = np.where(np.arange(60) < OLD_USERS, DATA.user_counts - (np.arange(60) % 3), 0)
CHANGED = np.flatnonzero(DATA.user_counts > KNOWN)
NEW_ITEMS = np.arange(OLD_ITEMS, 40)


def old_codes() -> tuple[Any, Any, Any]:
    """Biased codes, so that means matter, of users and of items in other ways; float users."""
    rng = np.random.default_rng(0)
    B = np.where(rng.random((OLD_USERS, BITS)) < np.linspace(0.05, 0.6, BITS), 1, -1)
    D = np.where(rng.random((OLD_ITEMS, BITS)) < np.linspace(0.9, 0.3, BITS), 1, -1)
    return B.astype(np.int8), D.astype(np.int8), rng.standard_normal((OLD_USERS, BITS))


def pointed(near: Any, mean: Any, trusted: Any) -> Any:
    """The signs of: the sum of the codes, less a part of the mean of all, and the trusted code."""
    part = 0.5 * BITS / (BITS + 3 * len(near)) * len(near)
    return np.where(near.sum(axis=0) - part * mean + trusted >= 0, 1, -1)


def expected_codes() -> tuple[Any, Any]:
    old_B, old_D, _ = old_codes()
    user_mean, item_mean = old_B.mean(axis=0), old_D.mean(axis=0)
    B, D = np.zeros((60, BITS)), np.zeros((40, BITS))
    B[:OLD_USERS], D[:OLD_ITEMS] = old_B, old_D
    owners = DATA.matrix().toarray() > 0

    def point_users(rows: Any) -> None:
        for u in rows:
            B[u] = pointed(D[owners[u]], item_mean, 0.5 * KNOWN[u] * B[u])

    point_users(CHANGED[CHANGED >= OLD_USERS])
    for i in NEW_ITEMS:
        D[i] = pointed(B[owners[:, i]], user_mean, 0)
    point_users(CHANGED)
    return B, D


@pytest.mark.parametrize("asymmetric", [False, True])
def test_an_update_points_new_and_changed_rows_and_leaves_the_others(asymmetric: bool) -> None:
    old_B, old_D, floats = old_codes()
    vectors = floats.astype(np.float32) if asymmetric else None
    codes = Codes.from_signs(old_B, old_D)
    codes = Codes(codes.user_codes, codes.item_codes, BITS, vectors)
    found = updated_codes(codes, DataUpdate(DATA, CHANGED, NEW_ITEMS, KNOWN))
    B, D = expected_codes()
    np.testing.assert_array_equal(unpack_signs(found.item_codes, BITS), D)
    np.testing.assert_array_equal(unpack_signs(found.user_codes, BITS), B)
    assert (B[:OLD_USERS] != old_B).any(), "or the test says little"
    if asymmetric:
        assert found.user_vectors is not None
        same = np.setdiff1d(np.arange(OLD_USERS), CHANGED)
        np.testing.assert_array_equal(found.user_vectors[same], floats.astype(np.float32)[same])
        length = np.abs(floats).mean()
        np.testing.assert_allclose(found.user_vectors[CHANGED], length * B[CHANGED], rtol=1e-5)


def test_the_longer_the_history_the_less_of_the_mean_is_taken_off() -> None:
    mean = np.full(BITS, 0.8, dtype=np.float32)
    shares = [
        float((count * 0.8 - mean_direction(count * mean, count, mean)[0]) / (count * 0.8))
        for count in (1, 10, 100)
    ]
    assert shares == pytest.approx([0.5 * 16 / 19, 0.5 * 16 / 46, 0.5 * 16 / 316], rel=1e-4)
