"""The little shop that the examples in docstrings speak of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from xorec.data.categories import Categories
from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.models.baselines.item_knn import ItemKNN
from xorec.recommender.recommender import Recommender


@cache
def shop() -> Recommender:
    """Four people, and what they have of tea, milk and rice.

    >>> shop()
    Recommender(item-knn, 4 users x 3 items, 124 bytes)
    """
    pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "milk"), ("cem", "tea")]
    data = Interactions.from_pairs([*pairs, ("dia", "rice"), ("dia", "tea")])
    return Recommender.from_model(ItemKNN().fit(data), data)


@cache
def shop_with_categories() -> Recommender:
    """The same shop; tea and milk are drinks, milk and rice are white.

    >>> shop_with_categories().categories.labels[0]
    'drinks'
    """
    rows = {"milk": ["drinks", "white"], "rice": ["white"], "tea": ["drinks"]}
    return replace(shop(), categories=categories_of([rows[item] for item in shop().item_ids]))


def categories_of(labels: Sequence[Sequence[str]]) -> Categories:
    """Categories from the labels of each item.

    >>> categories_of([["new"], [], ["new", "old"]]).of(2)
    ['new', 'old']
    """
    known = sorted({label for some in labels for label in some})
    indptr = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    indices = [known.index(label) for some in labels for label in sorted(some)]
    return Categories(Text.pack(known), indptr, np.array(indices, dtype=np.int32))
