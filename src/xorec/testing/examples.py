"""The little shop that the examples in docstrings speak of."""

from __future__ import annotations

from functools import cache

from xorec.data.interactions import Interactions
from xorec.models.baselines.item_knn import ItemKNN
from xorec.recommender.recommender import Recommender


@cache
def shop() -> Recommender:
    """Four people, and what they have of tea, milk and rice.

    >>> shop()
    Recommender(item-knn, 4 users x 3 items, 132 bytes)
    """
    pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "milk"), ("cem", "tea")]
    data = Interactions.from_pairs([*pairs, ("dia", "rice"), ("dia", "tea")])
    return Recommender.from_model(ItemKNN().fit(data), data)
