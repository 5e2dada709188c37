from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from xorec.models.triplet_model import fold_in_passes, fold_in_user


class Table(NamedTuple):
    vectors: Any


def test_passes_have_each_item_once_and_negatives_of_their_own() -> None:
    history = np.array([7, 3, 7, 11])
    passes = list(fold_in_passes(history, 40, 6, passes=5))
    assert len(passes) == 5
    for triplets in passes:
        np.testing.assert_array_equal(triplets.positives, [3, 7, 11])
        assert not triplets.users.any()
        assert triplets.negatives.shape == (3, 6)
        assert not set(triplets.negatives.ravel()) & {3, 7, 11}
    assert len({triplets.negatives.tobytes() for triplets in passes}) == 5
    (triplets,) = fold_in_passes(np.arange(4), 4, 2, passes=1)
    assert (triplets.negatives == -1).all()


def test_the_vector_is_the_mean_after_the_last_passes() -> None:
    """A step that adds one: after the passes the user is at 1, 2, .. 6; the mean of the last 3."""
    seen: list[tuple[int, float]] = []

    def step_of(epoch: int, user: Table) -> Any:
        seen.append((epoch, float(user.vectors[0, 0])))
        moved = Table(user.vectors + np.float32(1))
        return SimpleNamespace(step_users=lambda triplets: SimpleNamespace(rows=moved))

    passes = fold_in_passes(np.array([1]), 9, 2, passes=6)
    found = fold_in_user(passes, Table(np.zeros((1, 2), np.float32)), step_of, averaged=3)
    np.testing.assert_array_equal(found, [[5.0, 5.0]])
    assert seen == [(epoch, float(epoch)) for epoch in range(6)]
