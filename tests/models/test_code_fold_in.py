"""Codes of rows that come late, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.models.base import DataUpdate
from xorec.models.new_rows import mean_direction, updated_codes
from xorec.representations.codes import Codes
from xorec.testing.data import planted

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
