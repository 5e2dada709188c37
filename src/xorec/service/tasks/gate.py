"""The gate: a new model must rank the newest events about as well as the one that is served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.recommender.recommender import Recommender
from xorec.service.events.records import Event
from xorec.service.tasks.pairs import as_pairs

_FEWEST = 20
"""Users with new pairs that are needed to judge by."""


def judge(
    served: Recommender,
    made: Recommender,
    train: Interactions,
    newest: Sequence[Event],
    drop: float,
) -> dict[str, Any]:
    """Whether `made` may be served: its NDCG@10 on the newest events against the served model's.

    Both know the pairs of `train` and nothing of `newest`. drop: the share by which it may be
    worse.
    """
    test = _unseen(train, as_pairs(served, newest)) if newest else None
    if test is None or np.count_nonzero(test.user_counts) < _FEWEST:
        users = 0 if test is None else int(np.count_nonzero(test.user_counts))
        reason = f"only {users} users have new pairs to judge by, {_FEWEST} are needed"
        return {"passed": True, "users": users, "reason": reason}
    old, new = (evaluate(one, train, test, ks=(10,)) for one in (served, made))
    passed = bool(new["ndcg@10"] >= old["ndcg@10"] * (1 - drop))
    return {
        "passed": passed,
        "users": old.n_users,
        "served_ndcg@10": float(old["ndcg@10"]),
        "made_ndcg@10": float(new["ndcg@10"]),
        "reason": f"worse by at most {drop:.1%}" if passed else f"worse by more than {drop:.1%}",
    }


def _unseen(train: Interactions, new: Interactions) -> Interactions:
    """The new pairs of users and items that `train` has, without the pairs that it has."""
    users = train.users.find_many(new.users)[new.user_rows]
    items = train.items.find_many(new.items)[new.indices]
    known = (users >= 0) & (items >= 0)
    pairs = Interactions.from_rows(train.users, train.items, users[known], items[known])
    new_keys, old_keys = (
        one.user_rows.astype(np.int64) * one.n_items + one.indices for one in (pairs, train)
    )
    return pairs.select(~np.isin(new_keys, old_keys))
