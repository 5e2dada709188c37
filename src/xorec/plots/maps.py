"""The map of a model's items."""

from __future__ import annotations

from xorec.plots.map_picture import draw_map
from xorec.plots.pictures import Picture, require_matplotlib
from xorec.recommender.recommender import Recommender


def item_map(shop: Recommender) -> Picture:
    """Every item a dot, near those that are like it; the brighter, the more users have it.

    Items lie where `xorec map` has put them, which keeps neighbours together; without it, by
    principal components.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> shop = xorec.Recommender.from_model(xorec.ALS(dimensions=4).fit(pairs), pairs)
    >>> "24 items" in xorec.plots.item_map(shop).svg
    True
    """
    require_matplotlib()
    return draw_map(shop)
