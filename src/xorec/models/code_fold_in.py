"""Codes for users and items that come late, the others as they are.

A user stands where their items point: the mean of their codes, less a part of the mean of all
codes, which everybody's items share. The part is the larger the shorter the history. The same
holds for an item and its users. (A user's own binary problem, solved to its optimum, fits the few
pairs too well: `docs/tuning.md` has the figures.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs, unpack_signs
from xorec.models.base import DataUpdate
from xorec.models.late_rows import signs_of, with_room
from xorec.models.popularity_offsets import late_offsets
from xorec.representations.codes import Codes

Signs = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]
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


def updated_codes(codes: Codes, update: DataUpdate) -> Codes:
    """Codes of all users and items; those of the rows of `update` are made anew.

    So much as a user had pairs before, their present code is trusted. Where users are floats, the
    vectors of these rows become their own codes. Items keep their offsets; new ones have those of
    items of like count.
    """
    bits, train, users = codes.bits, update.train, update.users
    B, D = (unpack_signs(words, bits) for words in (codes.user_codes, codes.item_codes))
    user_mean, item_mean = B.mean(axis=0, dtype=np.float32), codes.mean_item
    old_users = len(B)
    B, D = with_room(B, train.n_users), with_room(D, train.n_items)
    indptr, owners = train.by_item
    late = users[users >= old_users]
    _point(B, late, train.indptr, train.indices, D, item_mean, update.known)
    _point(D, update.items, indptr, owners, B, user_mean, np.zeros_like(train.item_counts))
    _point(B, users, train.indptr, train.indices, D, item_mean, update.known)
    vectors = codes.user_vectors
    if vectors is not None:
        lengths = np.abs(vectors).mean()
        vectors = with_room(vectors, train.n_users)
        vectors[users] = lengths * B[users]
    offsets = late_offsets(codes.item_offsets, train.item_counts)
    return Codes(pack_signs(B), pack_signs(D), bits, vectors, offsets)


def _point(
    codes: Signs,
    rows: npt.NDArray[np.integer],
    indptr: npt.NDArray[np.integer],
    indices: npt.NDArray[np.integer],
    others: Signs,
    mean: Floats,
    known: npt.NDArray[np.integer],
) -> None:
    for row in rows:
        near = others[indices[indptr[row] : indptr[row + 1]]]
        direction = mean_direction(near.sum(axis=0, dtype=np.float32), len(near), mean)
        direction += np.float32(_TRUST * known[row]) * codes[row]
        codes[row] = signs_of(direction)
