"""Which pairs leave the training part: kernels over pairs in the order of `Interactions`.

Every pair has two keys: `when` (a time, or a random number) and `chance`, a random number that
breaks ties. The last pairs by (when, chance) leave first; the first ones come back first. Both
keys belong to the pair and not to its place, so nothing here depends on the order of a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import uint64

from xorec.core.kernels import inlined, kernel
from xorec.core.rng import mix

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
Chances = npt.NDArray[np.uint64]


@kernel
def pair_chances(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    user_hashes: Chances,
    item_hashes: Chances,
) -> Any:
    """A 64-bit random number for every pair, from the hashes of its two ids."""
    chances = np.empty(len(indices), dtype=np.uint64)
    for user in range(len(indptr) - 1):
        for pair in range(indptr[user], indptr[user + 1]):
            chances[pair] = mix(uint64(user_hashes[user]) + mix(item_hashes[indices[pair]]))
    return chances


@kernel
def again(chances: Chances) -> Any:
    """Fresh random numbers from those of an earlier cut."""
    fresh = np.empty_like(chances)
    for pair in range(len(chances)):
        fresh[pair] = mix(chances[pair] + uint64(1))
    return fresh


@kernel
def last_of_each_user(indptr: npt.NDArray[np.int64], when: Times, chances: Chances) -> Any:
    """Mark the last pair of each user."""
    leaves = np.zeros(len(when), dtype=np.bool_)
    for user in range(len(indptr) - 1):
        last = indptr[user]
        for pair in range(indptr[user] + 1, indptr[user + 1]):
            if _before(when, chances, last, pair):
                last = pair
        if indptr[user] < indptr[user + 1]:
            leaves[last] = True
    return leaves


@kernel
def first_in_order(
    order: npt.NDArray[np.int64],
    user_rows: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
) -> Any:
    """Mark the first `counts[u]` pairs of each user `u`, taken in the order given."""
    leaves = np.zeros(len(order), dtype=np.bool_)
    taken = np.zeros(len(counts), dtype=np.int64)
    for place in range(len(order)):
        pair = order[place]
        user = user_rows[pair]
        if taken[user] < counts[user]:
            leaves[pair] = True
            taken[user] += 1
    return leaves


@kernel
def bring_back(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    when: Times,
    chances: Chances,
    leaves: Mask,
    n_items: int,
) -> None:
    """Unmark the first pair of every user, then of every item, that would have none left.

    An item is looked at after all users, so a pair that came back for its user serves its item.
    """
    stays_of_item = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        first, stays = indptr[user], 0
        for pair in range(indptr[user], indptr[user + 1]):
            stays += not leaves[pair]
            if _before(when, chances, pair, first):
                first = pair
        if stays == 0 and indptr[user] < indptr[user + 1]:
            leaves[first] = False
        for pair in range(indptr[user], indptr[user + 1]):
            stays_of_item[indices[pair]] += not leaves[pair]
    first_of_item = np.full(n_items, -1, dtype=np.int64)
    for pair in range(len(indices)):
        item = indices[pair]
        if stays_of_item[item] == 0 and (
            first_of_item[item] < 0 or _before(when, chances, pair, first_of_item[item])
        ):
            first_of_item[item] = pair
    for item in range(n_items):
        if first_of_item[item] >= 0:
            leaves[first_of_item[item]] = False


@inlined
def _before(when: Times, chances: Chances, one: int, other: int) -> bool:
    """Whether pair `one` comes before pair `other` by (when, chance)."""
    if when[one] != when[other]:
        return bool(when[one] < when[other])
    return bool(chances[one] < chances[other])
