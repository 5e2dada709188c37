"""Rows to pairs: coded, brought together by ranges of users, sorted, and merged there.

Rows keep their order on the way, so of equal pairs the same one stays as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Blocks, Engine
from xorec.data.io.encode import pair_strengths
from xorec.data.merge import merge_pairs
from xorec.engines.pairs.distinct_ids import CodedIds, rows_of_ids

BESIDE = ("rating", "weight", "time", "split")
"""Roles of what stands beside the ids."""


def merged_blocks(
    engine: Engine, rows: Blocks, ids: Mapping[str, CodedIds], into: int, *, by_repeats: bool
) -> Blocks:
    """The distinct pairs of each range of users; `into` ranges.

    A block has: first (its first user), counts (pairs of each user), indices (their items,
    ascending), time, rating, split, strength where there are any, and tally (repeats, moved).
    """
    n_users, n_items = len(ids["user"].ids), len(ids["item"].ids)
    arrays = dict(ids["user"].arrays) | dict(ids["item"].arrays)
    arrays["first_users"] = np.array([n_users * at // into for at in range(into + 1)])
    pairs = engine.exchange(send_pairs, rows, into, [arrays])
    try:
        return engine.transform(merge_block, pairs, n_items=n_items, by_repeats=by_repeats)
    finally:
        engine.release(pairs)


def send_pairs(block: Arrays, shared: Arrays) -> Iterator[tuple[int, Arrays]]:
    """The rows of a block, coded, each to the range of its user, in their order."""
    first_users = shared["first_users"]
    users = rows_of_ids("user", block, shared)[block["user"]]
    items = rows_of_ids("item", block, shared)[block["item"]]
    target_of = np.searchsorted(first_users, users, side="right") - 1
    order = np.argsort(target_of, kind="stable")
    cuts = np.searchsorted(target_of[order], np.arange(len(first_users)))
    for target in range(len(first_users) - 1):
        own = order[cuts[target] : cuts[target + 1]]
        part: dict[str, npt.NDArray[Any]] = {
            "range": first_users[target : target + 2],
            "user": (users[own] - first_users[target]).astype(np.int32),
            "item": items[own],
        }
        yield target, part | {role: block[role][own] for role in BESIDE if role in block}


def merge_block(block: Arrays, shared: Arrays, n_items: int, by_repeats: bool) -> Arrays:
    """The pairs of one range of users, each once."""
    first, end = block["range"][:2].tolist()
    arrays = dict(block)
    if by_repeats:
        arrays["weight"] = np.ones(len(block["user"]))
    shape = (end - first, n_items)
    merged = merge_pairs(block["user"], block["item"], shape, block.get("time"), block.get("split"))
    made: dict[str, npt.NDArray[Any]] = {
        "first": np.array([first]),
        "counts": np.diff(merged.indptr).astype(np.int32),
        "indices": merged.indices,
        "tally": np.array([merged.repeats, merged.moved]),
    }
    strengths = pair_strengths(arrays, merged, n_items)
    if strengths is not None:
        made["strength"] = strengths
    kept = {role: block[role][merged.order] for role in BESIDE if role in block}
    return made | {role: array for role, array in kept.items() if role != "weight"}
