"""Data sets whose right answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from xorec.data.ids import Ids
from xorec.data.interactions import Interactions


def checkerboard(size: int = 50) -> Interactions:
    """User u has the items of u's parity, except item u itself: that is the right answer."""
    return Interactions.from_pairs(
        (f"u{user:02}", f"i{item:02}")
        for user in range(size)
        for item in range(size)
        if (user + item) % 2 == 0 and user != item
    )


def planted(
    users: int = 300, items: int = 200, groups: int = 5, per_user: int = 20, seed: int = 0
) -> Interactions:
    """Users and items in hidden groups; nine of ten pairs stay inside the group.

    Items of a group differ in popularity, so ranking by popularity is a fair floor.
    """
    rng = np.random.default_rng(seed)
    group_of_user = rng.integers(groups, size=users)
    group_of_item = np.arange(items) % groups
    weight = rng.pareto(1.5, size=items) + 0.2
    rows: list[npt.NDArray[np.int64]] = []
    for user in range(users):
        inside = np.where(group_of_item == group_of_user[user], 0.9, 0.1 / (groups - 1))
        chances = weight * inside / np.sum(weight * inside)
        rows.append(rng.choice(items, size=per_user, replace=False, p=chances))
    user_rows = np.repeat(np.arange(users), per_user)
    ids = Ids("int64", np.arange(users)), Ids("int64", 1000 + np.arange(items))
    return Interactions.from_rows(*ids, user_rows, np.concatenate(rows))


def weighted(data: Interactions, seed: int = 0) -> Interactions:
    """The same pairs with weights from about 0.3 to 3, whose mean is 1."""
    weights = np.exp(np.random.default_rng(seed).uniform(-1.2, 1.2, data.n_pairs))
    return replace(data, weights=(weights / weights.mean()).astype(np.float32))


def halves(
    data: Interactions, share: float = 0.2, seed: int = 0
) -> tuple[Interactions, Interactions]:
    """(train, test): each pair is in the test part with probability `share`."""
    test = np.random.default_rng(seed).random(data.n_pairs) < share
    return data.select(~test), data.select(test)
