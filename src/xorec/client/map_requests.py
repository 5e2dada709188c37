"""Requests for the map of all items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from xorec.client.request import Request, pairs, reader
from xorec.service.api.base import JsonId
from xorec.service.api.map import ColoursAnswer, MapAnswer, MapItemsAnswer


def item_map(k: int = 100_000, *, model: str | None = None) -> Request[MapAnswer]:
    """Where items lie: two numbers each.

    >>> item_map(1000).params
    (('k', '1000'),)
    """
    return Request("GET", "/v1/map", reader(MapAnswer), pairs(k=k, model=model))


def colours(
    by: Literal["popularity", "category", "bit", "distance"] = "popularity",
    *,
    bit: int | None = None,
    user: JsonId | None = None,
    item: JsonId | None = None,
    items: Iterable[JsonId] = (),
    most: int | None = None,
    model: str | None = None,
) -> Request[ColoursAnswer]:
    """One byte an item, in base64, and what the bytes mean. items: as if the user had them, too.

    >>> colours("bit", bit=3).params
    (('by', 'bit'), ('bit', '3'))
    """
    asked = pairs(by=by, bit=bit, user=user, item=item, items=list(items))
    params = asked + pairs(most=most, model=model)
    return Request("GET", "/v1/map/colours", reader(ColoursAnswer), params)


def map_items(
    rows: Iterable[int] = (),
    *,
    items: Iterable[JsonId] = (),
    user: JsonId | None = None,
    model: str | None = None,
) -> Request[MapItemsAnswer]:
    """Items by their rows on the map, or the rows of items, or of what a user has.

    >>> map_items([7, 9]).params
    (('rows', '7'), ('rows', '9'))
    """
    params = pairs(rows=list(rows), items=list(items), user=user, model=model)
    return Request("GET", "/v1/map/items", reader(MapItemsAnswer), params)
