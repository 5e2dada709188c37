"""Rows of users and items that come after a fit; the other rows stay as they are.

Every model solves them in one order: new users by the items that were there, new items by all
users, then the users that changed.

Where only codes are known, a user stands where their items point: the mean of the items' codes,
less a part of the mean of all codes, which the items of all users share. The part is the larger the
shorter the history. The same holds for an item and its users. (A user's own binary problem, solved
to its optimum, fits the few pairs too well: `docs/tuning.md` has the figures.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Offsets, pack_signs, unpack_signs
from xorec.models.base import DataUpdate
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats

R = TypeVar("R", bound=Representation)
T = TypeVar("T")
D = TypeVar("D", bound=np.generic)
Rows = npt.NDArray[np.integer]
Signs = npt.NDArray[np.int8]


def signs_of(rows: npt.NDArray[Any]) -> Signs:
    """+1 where an entry is not negative, else -1.

    >>> signs_of(np.array([[0.5, -0.1], [0.0, -3.0]]))
    array([[ 1, -1],
           [ 1, -1]], dtype=int8)
    """
    return np.where(rows >= 0, 1, -1).astype(np.int8)


def codes_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Codes:
    """The codes of a fit's arrays `users` and `items`."""
    return Codes.from_signs(arrays["users"], arrays["items"])


def with_room(rows: npt.NDArray[D], count: int) -> npt.NDArray[D]:
    """A copy of `count` rows, zeros behind those that were there: nothing is known of them yet."""
    found = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
    found[: len(rows)] = rows
    return found


def solve_new_rows(
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


_TRUST = 0.5
"""What a trained code counts beside each pair that it was trained on."""


def mean_direction(total: Floats, count: int, mean: Floats) -> Floats:
    """Where `count` codes of the sum `total` (d,) point, less a part of the mean of all codes (d,).

    >>> mean_direction(np.float32([2, 0, -2]), 2, np.float32([1, 0, 0]))
    array([ 1.6666666,  0.       , -2.       ], dtype=float32)
    """
    bits = len(mean)
    share = 0.5 * bits / (bits + 3 * count)
    return total - np.float32(share * count) * mean


def pointed_direction(codes: Codes, history: Rows) -> Floats:
    """`mean_direction` (1, d) of the codes of the items `history`."""
    items = unpack_signs(codes.item_codes[np.unique(history)], codes.bits)
    return mean_direction(items.sum(axis=0, dtype=np.float32), len(items), codes.mean_item)[None]


def updated_codes(codes: Codes, update: DataUpdate) -> Codes:
    """Codes of all users and items; those of the rows of `update` are new.

    A user's present code counts by the number of pairs before. Float users get the vectors of
    their new codes. Items keep their offsets; new ones get those of items of like count.
    """
    bits, train, users = codes.bits, update.train, update.users
    B, D = (unpack_signs(words, bits) for words in (codes.user_codes, codes.item_codes))
    user_mean, item_mean = B.mean(axis=0, dtype=np.float32), codes.mean_item
    old_users = len(B)
    B, D = with_room(B, train.n_users), with_room(D, train.n_items)
    pairs, nothing = (train.indptr, train.indices), np.zeros(train.n_items, dtype=np.int64)
    solve_new_rows(
        update,
        old_users,
        lambda rows: _point(B, rows, *pairs, D, item_mean, update.known),
        lambda rows: _point(D, rows, *train.by_item, B, user_mean, nothing),
    )
    vectors = codes.user_vectors
    if vectors is not None:
        lengths = np.abs(vectors).mean()
        vectors = with_room(vectors, train.n_users)
        vectors[users] = lengths * B[users]
    offsets = new_offsets(codes.item_offsets, train.item_counts)
    return Codes(pack_signs(B), pack_signs(D), bits, vectors, offsets)


def _point(
    codes: Signs, rows: Rows, indptr: Rows, indices: Rows, others: Signs, mean: Floats, known: Rows
) -> None:
    """Point the codes of `rows` (d,) to where the others of their pairs are."""
    for row in rows:
        near = others[indices[indptr[row] : indptr[row + 1]]]
        direction = mean_direction(near.sum(axis=0, dtype=np.float32), len(near), mean)
        direction += np.float32(_TRUST * known[row]) * codes[row]
        codes[row] = signs_of(direction)


def new_offsets(offsets: Offsets | None, counts: npt.NDArray[np.integer]) -> Offsets | None:
    """Offsets of all items (counts) from those of the first: new ones as items of like count.

    >>> new_offsets(np.array([0, 2, 4], dtype=np.uint8), np.array([1, 10, 100, 10, 50]))
    array([0, 2, 4, 2, 3], dtype=uint8)
    """
    if offsets is None or len(offsets) == len(counts):
        return offsets
    known = np.log2(1.0 + counts[: len(offsets)])
    order = np.argsort(known, kind="stable")
    new = np.interp(np.log2(1.0 + counts[len(offsets) :]), known[order], offsets[order])
    return np.concatenate([offsets, np.rint(new).astype(np.uint8)])
