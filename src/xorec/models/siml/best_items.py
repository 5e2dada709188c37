"""More pairs for short histories: the best items of the float vectors, as if the user had them."""

from __future__ import annotations

import numpy as np

from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.representations.vectors import Floats
from xorec.search.top_k import top_k

_ONE_IN, _MOST_SCORES = 5_000, 1 << 32
_USERS_AT_ONCE = 1024


def with_best_items(
    train: Interactions, users: Floats, items: Floats, count: int, fewer_than: int
) -> Interactions:
    """The pairs, and for each user with fewer than so many their `count` best items by vectors.

    A short history leaves many bits undetermined; the order of the vectors determines them.
    Never more than one item in 5,000: in a small catalogue the next best are everybody's. On huge
    data every n-th such user gets them, so that at most 2**32 scores are computed.
    """
    count = min(count, train.n_items // _ONE_IN)
    if count == 0:
        return train
    short = np.flatnonzero((train.user_counts > 0) & (train.user_counts < fewer_than))
    short = short[:: max(1, -(-len(short) * train.n_items // _MOST_SCORES))]
    rank = tie_rank(train.items, train.item_counts)
    user_rows, item_rows = [train.user_rows], [train.indices]
    for begin in range(0, len(short), _USERS_AT_ONCE):
        rows = short[begin : begin + _USERS_AT_ONCE]
        histories = [train.of_user(int(row)) for row in rows]
        seen = np.concatenate([[0], np.cumsum([len(history) for history in histories])])
        hits = top_k(users[rows] @ items.T, count, rank, (seen, np.concatenate(histories)))
        kept = np.arange(hits.items.shape[1]) < hits.counts[:, None]
        user_rows.append(np.repeat(rows, hits.counts).astype(np.int32))
        item_rows.append(hits.items[kept])
    pairs = np.concatenate(user_rows), np.concatenate(item_rows)
    weights = train.weights
    if weights is not None:
        weights = np.append(weights, np.ones(len(pairs[0]) - len(weights), dtype=np.float32))
    return Interactions.from_rows(train.users, train.items, *pairs, weights=weights)
