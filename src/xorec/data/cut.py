"""Which pairs are held out from training: kernels over pairs in the order of `Interactions`.

Every pair has two numbers to sort by: `when` (a time, or a random number) and its key, a random
number that breaks ties. The last pairs by (when, key) are held out first; the first ones come
back first. Both belong to the pair and not to its place, so nothing depends on the order of a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import inlined, kernel
from xorec.core.rng import mix

Mask = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


@kernel
def pair_keys(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    user_hashes: Keys,
    item_hashes: Keys,
) -> Any:
    """A 64-bit random number for every pair, from the hashes of its two ids."""
    keys = np.empty(len(indices), dtype=np.uint64)
    for user in range(len(indptr) - 1):
        for pair in range(indptr[user], indptr[user + 1]):
            keys[pair] = mix(np.uint64(user_hashes[user]) + mix(item_hashes[indices[pair]]))
    return keys


@kernel
def reseed(keys: Keys) -> Any:
    """Fresh random numbers from those of an earlier cut."""
    fresh = np.empty_like(keys)
    for pair in range(len(keys)):
        fresh[pair] = mix(keys[pair] + np.uint64(1))
    return fresh


@kernel
def last_of_each_user(indptr: npt.NDArray[np.int64], when: Times, keys: Keys) -> Any:
    """Mark the last pair of each user."""
    held_out = np.zeros(len(when), dtype=np.bool_)
    for user in range(len(indptr) - 1):
        last = indptr[user]
        for pair in range(indptr[user] + 1, indptr[user + 1]):
            if _before(when, keys, last, pair):
                last = pair
        if indptr[user] < indptr[user + 1]:
            held_out[last] = True
    return held_out


@kernel
def first_in_order(
    order: npt.NDArray[np.int64],
    user_rows: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
) -> Any:
    """Mark the first `counts[u]` pairs of each user `u`, taken in the order given."""
    held_out = np.zeros(len(order), dtype=np.bool_)
    taken = np.zeros(len(counts), dtype=np.int64)
    for place in range(len(order)):
        pair = order[place]
        user = user_rows[pair]
        if taken[user] < counts[user]:
            held_out[pair] = True
            taken[user] += 1
    return held_out


@kernel
def bring_back(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    when: Times,
    keys: Keys,
    held_out: Mask,
    n_items: int,
) -> None:
    """Unmark the first pair of every user, then of every item, that would have none left.

    An item is looked at after all users, so a pair that came back for its user serves its item.
    """
    stays_of_item = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        first, stays = indptr[user], 0
        for pair in range(indptr[user], indptr[user + 1]):
            stays += not held_out[pair]
            if _before(when, keys, pair, first):
                first = pair
        if stays == 0 and indptr[user] < indptr[user + 1]:
            held_out[first] = False
        for pair in range(indptr[user], indptr[user + 1]):
            stays_of_item[indices[pair]] += not held_out[pair]
    first_of_item = np.full(n_items, -1, dtype=np.int64)
    for pair in range(len(indices)):
        item = indices[pair]
        if stays_of_item[item] == 0 and (
            first_of_item[item] < 0 or _before(when, keys, pair, first_of_item[item])
        ):
            first_of_item[item] = pair
    for item in range(n_items):
        if first_of_item[item] >= 0:
            held_out[first_of_item[item]] = False


@inlined
def _before(when: Times, keys: Keys, one: int, other: int) -> bool:
    """Whether pair `one` comes before pair `other` by (when, key)."""
    if when[one] != when[other]:
        return bool(when[one] < when[other])
    return bool(keys[one] < keys[other])
