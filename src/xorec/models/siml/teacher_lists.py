"""Lists as a teacher: each user's best items by the neighbour ridge, for the bits to order.

SLIM ranks better than vectors of 64 numbers do and takes seconds. Random negatives seldom are among
the items that a list is made of, so codes learn little of their order; here half of the negatives
come from the user's own list, and the codes learn how SLIM orders them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Engine
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.data.tie_rank import tie_rank
from xorec.models.base import expect
from xorec.models.baselines.slim import SLIM
from xorec.models.siml.siml_kernels import Lists, draw_listed
from xorec.representations.neighbours import Neighbours
from xorec.representations.vectors import Floats
from xorec.search.postings import PostingIndex
from xorec.search.top_k import top_k
from xorec.training.config import AUTO
from xorec.training.passes import Sampler

_ONE_IN, _MOST_SCORES = 5_000, 1 << 32
_USERS_OF_BEST = 1024

AnyRows = npt.NDArray[np.integer]


def with_best_items(
    train: Interactions, users: Floats, items: Floats, count: int, fewer_than: int, engine: Engine
) -> Interactions:
    """The pairs, and for each user with fewer than so many their `count` best items by vectors.

    A short history leaves many bits undetermined; the order of the vectors determines them.
    Never more than one item in 5,000: in a small catalogue the next best are the same for all.
    On huge data every n-th such user gets them, so that at most 2**32 scores are computed.
    """
    count = min(count, train.n_items // _ONE_IN)
    if count == 0:
        return train
    short = np.flatnonzero((train.user_counts > 0) & (train.user_counts < fewer_than))
    short = short[:: max(1, -(-len(short) * train.n_items // _MOST_SCORES))]
    rank = tie_rank(train.items, train.item_counts)
    user_rows, item_rows = [train.user_rows], [train.indices]
    blocks = _blocks(train, users, short)
    shared: Arrays = {"items": items, "rank": rank}
    for found in engine.map_blocks(best_block, blocks, [shared], count=count):
        user_rows.append(found["users"])
        item_rows.append(found["items"])
    pairs = np.concatenate(user_rows), np.concatenate(item_rows)
    weights = train.weights
    if weights is not None:
        weights = np.append(weights, np.ones(len(pairs[0]) - len(weights), dtype=np.float32))
    return Interactions.from_rows(train.users, train.items, *pairs, weights=weights)


def _blocks(train: Interactions, users: Floats, short: AnyRows) -> Iterator[Arrays]:
    """Some of the users at a time: their rows, vectors and items."""
    for begin in range(0, len(short), _USERS_OF_BEST):
        rows = short[begin : begin + _USERS_OF_BEST]
        histories = [train.of_user(int(row)) for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(history) for history in histories])])
        own = {"starts": starts, "seen": np.concatenate(histories)}
        yield {"rows": rows, "vectors": users[rows], **own}


def best_block(block: Arrays, shared: Arrays, count: int) -> Arrays:
    """The best items of the users of a block, as pairs."""
    rows, seen = block["rows"], (block["starts"], block["seen"])
    hits = top_k(block["vectors"] @ shared["items"].T, count, shared["rank"], seen)
    kept = np.arange(hits.items.shape[1]) < hits.counts[:, None]
    return {"users": np.repeat(rows, hits.counts).astype(np.int32), "items": hits.items[kept]}


_LEAST, _SPREAD = 1.0, 8.0
"""Logits of a list: of an item whose score is nothing beside the first one's, and by how much the
first has more. Other items have 0."""
SHORTEST, LONGEST, _ENOUGH = 50, 100, np.float32(0.25)
"""Of a list by itself: how long it is at least and at most, and the share of the first score that
items between the two must have."""
MOST_LISTED = 1 << 26
"""Items on all lists together: half a gigabyte."""
_USERS_AT_ONCE = 4096
_LISTED = 0x6C6973746564
"""Keeps the draws from lists apart from those of other negatives."""

Rows = npt.NDArray[np.int32]


def slim_lists(train: Interactions, count: int | str, options: RunOptions) -> Lists:
    """The `count` best items of each user by SLIM that they do not have and it has a score for.

    AUTO: 100, but of those behind the 50th only the ones with a quarter of the first one's score:
    where few items stand out, draws from a long list seldom meet them. Fewer where that many for
    all users would not fit into memory.
    """
    all_of_them, count = count != AUTO, LONGEST if count == AUTO else int(count)
    count = max(1, min(count, train.n_items, MOST_LISTED // max(1, train.n_users)))
    learned = expect(SLIM().fit(train, None, options).representation_, Neighbours)
    index = PostingIndex(learned, tie_rank(train.items, train.item_counts))
    items = np.zeros((train.n_users, count), dtype=np.int32)
    logits = np.zeros((train.n_users, count), dtype=np.float32)
    counts = np.zeros(train.n_users, dtype=np.int32)
    for begin in range(0, train.n_users, _USERS_AT_ONCE):
        part = slice(begin, begin + _USERS_AT_ONCE)
        rows = np.arange(train.n_users)[part]
        starts = train.indptr[begin : begin + len(rows) + 1]
        seen = (starts - starts[0], train.indices[starts[0] : starts[-1]])
        found = index.search(
            learned.queries(rows), count, exclude=seen, threads=options.thread_count
        )
        places = np.arange(found.items.shape[1]) < found.counts[:, None]
        ranked = places & (found.scores > 0)
        if not all_of_them:
            ranked[:, SHORTEST:] &= found.scores[:, SHORTEST:] >= _ENOUGH * found.scores[:, :1]
        width = ranked.shape[1]
        counts[part] = ranked.sum(axis=1)
        items[part, :width], logits[part, :width] = _by_item(
            found.items, list_logits(found.scores, ranked), ranked
        )
    return Lists(items, logits, counts)


def list_logits(
    scores: npt.NDArray[np.float32], ranked: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    """What each place of some lists weighs: by its share of the first one's score.

    So where scores are nearly even, the order of a list weighs little. scores (B, N): descending
    and above 0 where `ranked`; the rest means nothing.

    >>> list_logits(np.float32([[8, 4, 1, 0]]), np.array([[True, True, True, False]]))
    array([[9., 5., 2., 0.]], dtype=float32)
    """
    first = np.where(ranked[:, :1], scores[:, :1], 1.0)
    return np.where(ranked, _LEAST + _SPREAD * scores / first, 0.0).astype(np.float32)


def _by_item(
    items: Rows, logits: npt.NDArray[np.float32], ranked: npt.NDArray[np.bool_]
) -> tuple[Rows, npt.NDArray[np.float32]]:
    """The places of each list in the order of their items; what is not ranked behind them."""
    keys = np.where(ranked, items, np.iinfo(np.int32).max)
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(np.where(ranked, items, 0), order, axis=1)
    return ordered.astype(np.int32), np.take_along_axis(logits, order, axis=1)


@dataclass(frozen=True, eq=False)
class ListedNegatives:
    """Negatives of which the last `listed` of each pair are drawn from the user's list."""

    others: Negatives
    lists: Lists
    listed: int

    def draw(
        self, out: Rows, pairs: npt.NDArray[np.int64], users: Rows, seed: int, epoch: int
    ) -> None:
        """Fill out (len(pairs), K), as `Negatives.draw` does."""
        first = out.shape[1] - self.listed
        drawn = np.empty((len(out), first), dtype=np.int32)
        self.others.draw(drawn, pairs, users, seed, epoch)
        out[:, :first] = drawn
        draw_listed(out, first, pairs, users, self.lists, (seed ^ _LISTED, epoch))


def with_lists(others: Negatives, negatives: int, lists: Lists) -> tuple[Sampler, int]:
    """What `negatives` of a pair are drawn from, and how many from the lists: half of them."""
    listed = negatives // 2 if len(lists.items) else 0
    return (ListedNegatives(others, lists, listed) if listed else others), listed
