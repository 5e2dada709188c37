"""Requests about items and users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xorec.client.request import Request, body, pairs, reader
from xorec.service.api.base import JsonId
from xorec.service.api.codes import CodesAnswer
from xorec.service.api.items import CategoryList, ItemBody, ItemList, ItemsChanged
from xorec.service.api.users import UserList


def put_items(*items: ItemBody | Mapping[str, Any]) -> Request[ItemsChanged]:
    """All that is known of some items: name, categories, attributes, hidden, from, until.

    >>> put_items({"id": "tea", "name": "Green tea"}).body
    {'items': [{'id': 'tea', 'name': 'Green tea'}]}
    """
    return Request("PUT", "/v1/items", reader(ItemsChanged), body={"items": _plain(items)})


def patch_item(item: JsonId, **changes: Any) -> Request[ItemsChanged]:
    """Change some of what is known of an item; what is not named stays. `from_` is "from".

    >>> patch_item("tea", hidden=True).body
    {'id': 'tea', 'hidden': True}
    """
    named = {name.rstrip("_"): value for name, value in changes.items()}
    return Request("PATCH", "/v1/items", reader(ItemsChanged), body={"id": item, **named})


def delete_item(item: JsonId) -> Request[ItemsChanged]:
    """Take an item out of every list.

    >>> delete_item("a/b").params
    (('item', 'a/b'),)
    """
    return Request("DELETE", "/v1/items", reader(ItemsChanged), pairs(item=item))


def item(*items: JsonId, model: str | None = None) -> Request[ItemList]:
    """What is known of an item, or of several.

    >>> item("tea", "milk").params
    (('item', 'tea'), ('item', 'milk'))
    """
    return Request("GET", "/v1/items", reader(ItemList), pairs(item=items, model=model))


def items(q: str | None = None, k: int = 20, *, model: str | None = None) -> Request[ItemList]:
    """Items whose id or name has `q` in it; neither case nor accents count.

    >>> items("te", 3).params
    (('q', 'te'), ('k', '3'))
    """
    return Request("GET", "/v1/items", reader(ItemList), pairs(q=q, k=k, model=model))


def users(
    q: str | None = None,
    k: int = 20,
    *,
    user: JsonId | None = None,
    item: JsonId | None = None,
    model: str | None = None,
) -> Request[UserList]:
    """Users whose id has `q` in it, one user with their history, or who has an item.

    >>> users(user="ann").params
    (('user', 'ann'), ('k', '20'))
    """
    params = pairs(user=user, item=item, q=q, k=k, model=model)
    return Request("GET", "/v1/users", reader(UserList), params)


def categories(k: int = 100, *, model: str | None = None) -> Request[CategoryList]:
    """Categories and how many items are in each, those with most items first.

    >>> categories(3).params
    (('k', '3'),)
    """
    return Request("GET", "/v1/categories", reader(CategoryList), pairs(k=k, model=model))


def codes(
    user: JsonId | None = None,
    *,
    items: Iterable[JsonId] = (),
    of: Iterable[JsonId] = (),
    model: str | None = None,
) -> Request[CodesAnswer]:
    """The bits that a list for somebody is searched with, and those of the items `of`.

    items: what somebody new has, or what a user has besides.

    >>> codes("ann", of=["tea"]).params
    (('user', 'ann'), ('of', 'tea'))
    """
    params = pairs(user=user, items=list(items), of=list(of), model=model)
    return Request("GET", "/v1/codes", reader(CodesAnswer), params, seq="query")


def _plain(items: Iterable[ItemBody | Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        one.model_dump(exclude_unset=True, by_alias=True)
        if isinstance(one, ItemBody)
        else body(**one)
        for one in items
    ]
