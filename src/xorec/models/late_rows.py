"""What models of rows by turns share: signs, what is derived once, and rows that come late.

Late rows are solved in one order everywhere: new users by the items that were there, new items by
all users, then the users that changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from xorec.models.base import DataUpdate
from xorec.representations.base import Representation

R = TypeVar("R", bound=Representation)
T = TypeVar("T")
D = TypeVar("D", bound=np.generic)
Rows = npt.NDArray[np.integer]


def signs_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
    """+1 where an entry is not negative, else -1.

    >>> signs_of(np.array([[0.5, -0.1], [0.0, -3.0]]))
    array([[ 1, -1],
           [ 1, -1]], dtype=int8)
    """
    return np.where(rows >= 0, 1, -1).astype(np.int8)


def with_room(rows: npt.NDArray[D], count: int) -> npt.NDArray[D]:
    """A copy of `count` rows, zeros behind those that were there: nothing is known of them yet."""
    found = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
    found[: len(rows)] = rows
    return found


def solve_late_rows(
    update: DataUpdate,
    old_users: int,
    solve_users: Callable[[Rows], object],
    solve_items: Callable[[Rows], object],
) -> None:
    """The rows of `update` in the order above; old_users: how many there were before."""
    solve_users(update.users[update.users >= old_users])
    solve_items(update.items)
    solve_users(update.users)


def once_for_each(derive: Callable[[R], T]) -> Callable[[R], T]:
    """What is derived from a representation, once for all who are folded in, while it lives."""
    derived: WeakKeyDictionary[R, T] = WeakKeyDictionary()

    @wraps(derive)
    def get(representation: R) -> T:
        if representation not in derived:
            derived[representation] = derive(representation)
        return derived[representation]

    return get
