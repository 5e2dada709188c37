"""More pairs for short histories: the best items of the float vectors, as if the user had them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Engine
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.representations.vectors import Floats
from xorec.search.top_k import top_k

_ONE_IN, _MOST_SCORES = 5_000, 1 << 32
_USERS_AT_ONCE = 1024

Rows = npt.NDArray[np.integer]


def with_best_items(
    train: Interactions, users: Floats, items: Floats, count: int, fewer_than: int, engine: Engine
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


def _blocks(train: Interactions, users: Floats, short: Rows) -> Iterator[Arrays]:
    """Some of the users at a time: their rows, vectors and items."""
    for begin in range(0, len(short), _USERS_AT_ONCE):
        rows = short[begin : begin + _USERS_AT_ONCE]
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
