"""Blocks: an epoch's pairs in random order, cut so that threads can share the work.

The block of a pair is drawn from the pair's own counter (seed, epoch, user, position); inside a
block pairs are in the order of users. A pass (`training.passes`) does two parallel steps:

1. users: the pairs of one user one after another; items are as before the block;
2. items: each part of the items goes through the block's pairs in order; users are as after step 1.

A pair with a weight comes as often as it weighs, on average: a weight of 2.3 (the mean is 1) comes
twice in each epoch, and a third time with probability 0.3, by a counter of its own.

So every number is computed in one fixed order: the result depends on the seed and the number of
blocks, not on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.rng import below, draw, stream
from xorec.data.interactions import Interactions

_BLOCK_STREAM = 0x626C6F636B73  # XORed with the seed: streams apart from that of the negatives
_DRAW_STREAM = 0x7573657273
_TIMES_STREAM = 0x74696D6573


@dataclass(frozen=True, eq=False)
class Block:
    """Pairs of one block, grouped by user.

    pairs: positions in `train.indices`; users: the user row of each pair; starts: the begin of each
    user's run of pairs, and the end of the last; draws: the position of each pair in the stream of
    negatives, another one if the pair comes again.
    """

    pairs: npt.NDArray[np.int64]
    users: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    draws: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_runs(self) -> int:
        """How many users have pairs here."""
        return len(self.starts) - 1


def blocks_of(train: Interactions, pairs_per_block: int, seed: int, epoch: int) -> Iterator[Block]:
    """The pairs of `train`, each once or by weight, in random blocks of about `pairs_per_block`."""
    count = max(1, round(train.n_pairs / pairs_per_block))
    if train.weights is None:
        yield from _blocks(*_deal(train.indptr, count, seed ^ _BLOCK_STREAM, epoch))
        return
    weights = train.weights / train.weights.mean(dtype=np.float64)
    times = _times(train.indptr, weights, seed ^ _TIMES_STREAM, epoch)
    before = np.concatenate([[0], np.cumsum(times)])
    dealt = before[train.indptr]
    bounds, places, users = _deal(dealt, count, seed ^ _BLOCK_STREAM, epoch)
    pairs = np.repeat(np.arange(train.n_pairs), times)[places]
    draws = places - (dealt - train.indptr)[users]
    yield from _blocks(bounds, pairs, users, draws)


def user_blocks_of(
    train: Interactions, pairs_per_block: int, seed: int, epoch: int
) -> Iterator[Block]:
    """About as many pairs, drawn so that every user has the same number of them."""
    active = max(1, int(np.count_nonzero(train.user_counts)))
    each = max(1, round(train.n_pairs / active))
    dealt = np.cumsum(np.concatenate([[0], np.where(train.user_counts > 0, each, 0)]))
    count = max(1, round(int(dealt[-1]) / pairs_per_block))
    bounds, _, users = _deal(dealt, count, seed ^ _BLOCK_STREAM, epoch)
    if train.weights is None:
        pairs = _random_pairs(train.indptr, users, seed ^ _DRAW_STREAM, epoch)
    else:
        sums = np.concatenate([[0], np.cumsum(train.weights, dtype=np.float64)])
        pairs = _weighted_pairs(train.indptr, sums, users, seed ^ _DRAW_STREAM, epoch)
    yield from _blocks(bounds, pairs, users)


def _blocks(
    bounds: npt.NDArray[np.int64],
    pairs: npt.NDArray[np.int64],
    users: npt.NDArray[np.int32],
    draws: npt.NDArray[np.int64] | None = None,
) -> Iterator[Block]:
    draws = pairs if draws is None else draws
    for begin, end in pairwise(bounds):
        if end > begin:
            owners = users[begin:end]
            runs = np.flatnonzero(owners[1:] != owners[:-1]) + 1
            starts = np.concatenate([[0], runs, [end - begin]])
            yield Block(pairs[begin:end], owners, starts, draws[begin:end])


@kernel
def _random_pairs(indptr: Any, users: Any, seed: Any, epoch: Any) -> Any:
    """A random pair of each of the users."""
    pairs = np.empty(len(users), dtype=np.int64)
    for at in range(len(users)):
        user = users[at]
        count = indptr[user + 1] - indptr[user]
        pairs[at] = indptr[user] + below(draw(stream(seed, epoch, user), at), count)
    return pairs


@kernel
def _weighted_pairs(indptr: Any, sums: Any, users: Any, seed: Any, epoch: Any) -> Any:
    """The same by weight; sums: the cumulative weights, from 0."""
    pairs = np.empty(len(users), dtype=np.int64)
    for at in range(len(users)):
        first, past = indptr[users[at]], indptr[users[at] + 1]
        share = below(draw(stream(seed, epoch, users[at]), at), 1 << 30) / (1 << 30)
        goal = sums[first] + share * (sums[past] - sums[first])
        found = first + np.searchsorted(sums[first + 1 : past], goal, side="right")
        pairs[at] = min(found, past - 1)
    return pairs


@kernel
def _times(indptr: Any, weights: Any, seed: Any, epoch: Any) -> Any:
    """The count of each pair: its weight, rounded up with the probability of its fraction."""
    times = np.empty(len(weights), dtype=np.int64)
    for user in range(len(indptr) - 1):
        key = stream(seed, epoch, user)
        for pair in range(indptr[user], indptr[user + 1]):
            whole = np.int64(weights[pair])
            chance = below(draw(key, pair - indptr[user]), 1 << 30)
            times[pair] = whole + (chance < (weights[pair] - whole) * (1 << 30))
    return times


@kernel
def _deal(indptr: Any, count: Any, seed: Any, epoch: Any) -> Any:
    """Deal the pairs to `count` blocks; in a block they keep the users' order."""
    block = np.empty(indptr[-1], dtype=np.int32)
    users = np.empty(indptr[-1], dtype=np.int32)
    for user in range(len(indptr) - 1):
        key = stream(seed, epoch, user)
        for pair in range(indptr[user], indptr[user + 1]):
            block[pair] = below(draw(key, pair - indptr[user]), count)
            users[pair] = user
    pairs, bounds = counting_order(block, count)
    return bounds, pairs, users[pairs]


@kernel
def counting_order(keys: Any, count: Any) -> Any:
    """A stable counting sort: the numbers of the entries by key, and where each key begins.

    keys (N,): from 0 to count - 1; entries below 0 are left out. Returns (order, starts (count +
    1,)).
    """
    starts = np.zeros(count + 1, dtype=np.int64)
    for key in keys:
        if key >= 0:
            starts[key + 1] += 1
    starts = np.cumsum(starts)
    ends = starts[:-1].copy()
    order = np.empty(starts[-1], dtype=np.int64)
    for entry in range(len(keys)):
        key = keys[entry]
        if key >= 0:
            order[ends[key]] = entry
            ends[key] += 1
    return order, starts


def item_parts(threads: int) -> int:
    """The number of parts of the items (item & (parts - 1)): a power of two >= threads."""
    return 1 << max(0, threads - 1).bit_length()
