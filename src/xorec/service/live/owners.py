"""Kernel: which users have an item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.kernels import kernel
from xorec.core.printable import jsonable
from xorec.recommender.state import Seen
from xorec.service.live.model import LiveModel, UserRows
from xorec.service.log.records import Id


@kernel
def collect_users(
    indptr: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    item: int,
    rows: npt.NDArray[np.int32],
) -> int:
    """Rows of users, ascending, whose items[indptr[u]:indptr[u + 1]] (ascending) have `item`.

    They go into `rows`, which has a place for every user; how many there are.
    """
    count = 0
    for user in range(len(indptr) - 1):
        for at in range(indptr[user], indptr[user + 1]):
            if items[at] >= item:
                if items[at] == item:
                    rows[count] = user
                    count += 1
                break
    return count


def owners_of(live: LiveModel, item: Id, k: int) -> list[Id]:
    """Up to k users who have an item.

    Those who took it since the model was made come first, the newest of them at the head; then
    those of the model, who has most items first.
    """
    fresh = live.recent.takers(item, live.about.applied_seq)
    found: dict[Id, None] = dict.fromkeys(fresh[:k])
    row = live.item_row(item)
    if row < 0 or len(found) >= k:
        return list(found)
    rows = users_with(live.recommender.seen, row)
    order = live.user_rank[rows]
    wanted = k + len(live.erased)  # of whom some may be here
    if len(rows) > wanted:
        rows = rows[np.argpartition(order, wanted)[:wanted]]
    for user_row in rows[np.argsort(live.user_rank[rows])].tolist():
        user = jsonable(live.users[user_row])
        if live.user_row(user) >= 0:
            found[user] = None
        if len(found) >= k:
            break
    return list(found)


def users_with(seen: Seen, item: int) -> UserRows:
    """The rows of all users that have an item: a look at every pair, without Python's lock."""
    indptr, items = seen
    rows = np.empty(len(indptr) - 1, dtype=np.int32)
    count = collect_users(as_contiguous(indptr), as_contiguous(items), item, rows)
    return rows[:count]
