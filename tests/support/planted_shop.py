"""A shop of 60 users in groups of one taste, and what they would take next."""

from __future__ import annotations

from functools import cache

import xorec
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

DATA = planted(60, 50, per_user=8)
USER: int = DATA.users[0]


@cache
def item_knn() -> Recommender:
    race = {"why": "because", "rows": [{"model": "item-knn"}]}
    return Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA, race=race)


def taste(count: int) -> list[dict[str, int]]:
    """Events in which users take what others of their kind have."""
    lists = {user: item_knn().recommend(user, count).ids() for user in DATA.users}
    return [{"user": user, "item": lists[user][at]} for at in range(count) for user in lists]
