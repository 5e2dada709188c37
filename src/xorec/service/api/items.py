"""Items: what is known of them, and what is said of them from now on."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from xorec.core.errors import OptionError, UnknownIdError, XorecError
from xorec.core.printable import quoted
from xorec.service.api.base import Answer, Body, JsonId, ModelQuery, Query
from xorec.service.api.list_request import item_of, items_of
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Routes
from xorec.service.ids import id_of
from xorec.service.live.model import LiveModel
from xorec.service.live.state import ItemInfo, iso, micros, now_micros, patched
from xorec.service.live.text_search import find_or_guess
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes("items")

Attribute = str | int | float | bool


class ItemBody(Body):
    """All that is known of an item (PUT). from, until: when it may be listed."""

    id: JsonId
    name: str | None = Field(None, max_length=4096)
    categories: list[str] = Field([], max_length=1000)
    attributes: dict[str, Attribute] = {}
    hidden: bool = False
    from_: datetime.datetime | None = Field(None, alias="from", strict=False)
    until: datetime.datetime | None = Field(None, strict=False)


class ItemsBody(Body):
    """Several items: all or nothing."""

    items: list[ItemBody] = Field(min_length=1)


class ItemPatch(Body):
    """What changes of an item (PATCH); what is not named stays."""

    id: JsonId
    name: str | None = Field(None, max_length=4096)
    categories: list[str] | None = Field(None, max_length=1000)
    attributes: dict[str, Attribute] | None = None
    hidden: bool | None = None
    from_: datetime.datetime | None = Field(None, alias="from", strict=False)
    until: datetime.datetime | None = Field(None, strict=False)


class ItemQuery(ModelQuery):
    """Items by id (repeat the name for several), or those whose id or name has `q` in it.

    Neither case nor accents count.
    """

    item: tuple[str, ...] = ()
    q: str | None = Field(None, max_length=256)
    k: int = Field(20, ge=1)


class ItemId(Query):
    """Which item."""

    item: str


class ItemOut(BaseModel):
    """An item as it is served. known: the model has it; cold items come by events."""

    id: JsonId
    name: str | None = None
    categories: list[str] = []
    attributes: dict[str, Attribute] = {}
    hidden: bool = False
    from_: str | None = Field(
        None, validation_alias=AliasChoices("from_", "from"), serialization_alias="from"
    )
    until: str | None = None
    available: bool = True
    known: bool = True
    count: int = Field(0, description="Users who have it.")
    rank: int | None = Field(
        None, ge=1, description="Its rank by popularity, 1 for what most users have; cold: none."
    )


class ItemList(Answer):
    """Items. meant: where none has the letters, up to 5 that have all the words
    or are spelled alike."""

    items: list[ItemOut]
    meant: list[ItemOut] = []


class ItemsChanged(Answer):
    """How many items were changed, and since when the lists know."""

    changed: int
    seq: int


class CategoryQuery(ModelQuery):
    """The categories that most items are in."""

    k: int = Field(100, ge=1)


class CategoryOut(BaseModel):
    """A category; count: items that are in it."""

    name: str
    count: int


class CategoryList(Answer):
    """Categories, those with most items first."""

    categories: list[CategoryOut]


@ROUTES("PUT", "/v1/items", role="write", writer=True)
async def put_items(service: Service, body: ItemsBody | ItemBody) -> ItemsChanged:
    """Say all that is to be known of an item: name, categories, when it may be listed."""
    bodies = body.items if isinstance(body, ItemsBody) else [body]
    now = now_micros()
    changes: list[Mapping[str, Any]] = []
    for at, body in enumerate(bodies):
        item = _item_id(service.models.default, body.id, at)
        old = service.models.catalogue.get(item)
        said = {name: getattr(body, name) for name in type(body).model_fields if name != "id"}
        times = {name: micros(said[name]) for name in ("from_", "until")}
        info = ItemInfo(**said | times, since=now if old is None else old.since)
        changes.append({"id": item, **info.to_dict()})
    return await _changed(service, changes)


@ROUTES("PATCH", "/v1/items", role="write", writer=True)
async def patch_item(service: Service, body: ItemPatch) -> ItemsChanged:
    """Change what is known of an item."""
    live = service.models.default
    item = _item_id(live, body.id, 0)
    old = service.models.catalogue.get(item)
    if old is None:
        if not live.is_known(item):
            raise UnknownIdError(f"item {quoted(item)} is unknown: PUT it first.")
        old = ItemInfo(since=now_micros())
    named = {name: getattr(body, name) for name in body.model_fields_set if name != "id"}
    for time_of in ("from_", "until"):
        if time_of in named:
            named[time_of] = micros(named[time_of])
    for name, default in (("attributes", {}), ("hidden", False)):
        if name in named and named[name] is None:
            named[name] = default
    return await _changed(service, [{"id": item, **patched(old, named).to_dict()}])


@ROUTES("DELETE", "/v1/items", role="write", writer=True)
async def delete_item(service: Service, query: ItemId) -> ItemsChanged:
    """Take an item out of all lists."""
    live = service.models.default
    item = item_of(live, query.item)
    if live.item_row(item) < 0 and service.models.catalogue.get(item) is None:
        raise UnknownIdError(f"item {quoted(item)} is unknown: there is nothing to delete.")
    info = ItemInfo(deleted=True, since=now_micros())
    return await _changed(service, [{"id": item, **info.to_dict()}])


async def _changed(service: Service, changes: list[Mapping[str, Any]]) -> ItemsChanged:
    writer = service.require_writer()
    seq = await asyncio.wrap_future(writer.changes([("item", one) for one in changes]))
    return ItemsChanged(model=service.models.default.ref, changed=len(changes), seq=seq)


def _item_id(live: LiveModel, given: Any, at: int) -> Id:
    try:
        return id_of(live.items, given, "item")
    except XorecError as error:
        raise HttpError(422, f"item {at}: {error}", at=at) from None


@ROUTES("GET", "/v1/items", thread=True)
def get_items(service: Service, query: ItemQuery) -> ItemList:
    """Items by id, or by some letters of their id or name."""
    live = service.models[query.name]
    if query.item:
        asked = items_of(live, query.item, "item")
        live.require_known(asked)
        return ItemList(model=live.ref, items=[item_out(service, live, one) for one in asked])
    if query.q is None:
        raise OptionError("say which: give item=ID, or q= for some letters of an id or a name.")
    k = min(query.k, service.config.limits.k)
    found, meant = find_or_guess(live, "item", query.q, k)
    return ItemList(
        model=live.ref,
        items=[item_out(service, live, one) for one in found],
        meant=[item_out(service, live, one) for one in meant],
    )


def item_out(service: Service, live: LiveModel, item: Id) -> ItemOut:
    """All that is known of an item."""
    row, info = live.item_row(item), service.models.catalogue.get(item)
    said = info or ItemInfo()
    categories, base = list(said.categories or ()), live.recommender.categories
    if row >= 0 and said.categories is None and base is not None:
        categories = base.of(row)
    return ItemOut(
        id=item,
        name=live.name_of(item),
        categories=categories,
        attributes=dict(said.attributes),
        hidden=said.hidden or said.deleted,
        from_=iso(said.from_),
        until=iso(said.until),
        available=said.is_available(now_micros()),
        known=row >= 0,
        count=int(live.recommender.item_counts[row]) if row >= 0 else 0,
        rank=int(live.recommender.tie_rank[row]) + 1 if row >= 0 else None,
    )


@ROUTES("GET", "/v1/categories", thread=True)
def get_categories(service: Service, query: CategoryQuery) -> CategoryList:
    """Categories and how many items are in each, those with most items first."""
    live = service.models[query.name]
    found = live.categories.most_items(query.k)
    rows = [CategoryOut(name=name, count=count) for name, count in found]
    return CategoryList(model=live.ref, categories=rows)
