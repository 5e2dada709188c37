"""Items: what is known of them, and what is said of them from now on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from xorec.core.errors import OptionError, UnknownIdError, XorecError
from xorec.core.printable import jsonable, quoted
from xorec.service.endpoints.asking import items_of, one_of
from xorec.service.events.records import Id
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Call, Route
from xorec.service.ids import from_json
from xorec.service.live.catalogue import ItemInfo, iso, micros, patched
from xorec.service.live.finding import find_ids
from xorec.service.live.meant import meant_ids
from xorec.service.live.model import LiveModel
from xorec.service.schemas.catalogue import (
    MOST_MEANT,
    ItemBody,
    ItemId,
    ItemList,
    ItemOut,
    ItemPatch,
    ItemQuery,
    ItemsBody,
    ItemsChanged,
)
from xorec.service.service import Service


async def put_items(service: Service, call: Call) -> ItemsChanged:
    """All that is to be known of one item or of several."""
    bodies = call.body.items if isinstance(call.body, ItemsBody) else [call.body]
    now = time.time_ns() // 1000
    changes: list[Mapping[str, Any]] = []
    for at, body in enumerate(bodies):
        item = _item_id(service.models.default, body.id, at)
        old = service.models.catalogue.get(item)
        since = old.since if old is not None else now
        info = ItemInfo(
            name=body.name,
            categories=tuple(body.categories),
            attributes=body.attributes,
            hidden=body.hidden,
            from_=micros(body.from_),
            until=micros(body.until),
            since=since,
        )
        changes.append({"id": item, **info.to_dict()})
    return await _changed(service, changes)


async def patch_item(service: Service, call: Call) -> ItemsChanged:
    """What changes of an item."""
    body: ItemPatch = call.body
    live = service.models.default
    item = _item_id(live, body.id, 0)
    old = service.models.catalogue.get(item)
    if old is None:
        if live.item_row(item) < 0 and item not in service.models.cold:
            raise UnknownIdError(f"item {quoted(item)} is unknown: PUT it first.")
        old = ItemInfo(since=time.time_ns() // 1000)
    named = {name: getattr(body, name) for name in body.model_fields_set if name != "id"}
    for time_of in ("from_", "until"):
        if time_of in named:
            named[time_of] = micros(named[time_of])
    for name, default in (("attributes", {}), ("hidden", False)):
        if name in named and named[name] is None:
            named[name] = default
    return await _changed(service, [{"id": item, **patched(old, named).to_dict()}])


async def delete_item(service: Service, call: Call) -> ItemsChanged:
    """No list has the item any more."""
    live = service.models.default
    item = one_of(live, "item", call.query.item)
    if live.item_row(item) < 0 and service.models.catalogue.get(item) is None:
        raise UnknownIdError(f"item {quoted(item)} is unknown: there is nothing to delete.")
    info = ItemInfo(deleted=True, since=time.time_ns() // 1000)
    return await _changed(service, [{"id": item, **info.to_dict()}])


async def _changed(service: Service, changes: list[Mapping[str, Any]]) -> ItemsChanged:
    writer = service.require_writer()
    seq = await asyncio.wrap_future(writer.changes([("item", one) for one in changes]))
    return ItemsChanged(model=service.models.default.ref, changed=len(changes), seq=seq)


def _item_id(live: LiveModel, given: Any, at: int) -> Id:
    try:
        return jsonable(from_json(live.items, given, "item"))
    except XorecError as error:
        raise HttpError(422, f"item {at}: {error}", at=at) from None


def get_items(service: Service, call: Call) -> ItemList:
    """Items by id, or those whose id or name has some letters in it."""
    query: ItemQuery = call.query
    live = service.models[query.name]
    if query.item:
        asked = items_of(live, query.item, "item")
        for item in asked:
            if not is_known(service, live, item):
                live.require_item(item)
        return ItemList(model=live.ref, items=[item_out(service, live, one) for one in asked])
    if query.q is None:
        raise OptionError("say which: give item=ID, or q= for some letters of an id or a name.")
    k = min(query.k, service.config.limits.k)
    found = find_ids(live, "item", query.q, k)
    meant = [] if found else meant_ids(live, "item", query.q, min(k, MOST_MEANT))
    return ItemList(
        model=live.ref,
        items=[item_out(service, live, one) for one in found],
        meant=[item_out(service, live, one) for one in meant],
    )


def is_known(service: Service, live: LiveModel, item: Id) -> bool:
    """Whether the model has an item, or something was said of it, or an event named it."""
    known = live.item_row(item) >= 0 or service.models.catalogue.get(item) is not None
    return known or item in service.models.cold


def item_out(service: Service, live: LiveModel, item: Id) -> ItemOut:
    """All that is known of an item."""
    row, info = live.item_row(item), service.models.catalogue.get(item)
    said = info or ItemInfo()
    name = said.name
    categories = list(said.categories or ())
    if row >= 0:
        name = live.item_names([row], [item])[0]
        base = live.recommender.categories
        if said.categories is None and base is not None:
            categories = base.of(row)
    return ItemOut(
        id=item,
        name=name,
        categories=categories,
        attributes=dict(said.attributes),
        hidden=said.hidden or said.deleted,
        from_=iso(said.from_),
        until=iso(said.until),
        available=said.is_available(time.time_ns() // 1000),
        known=row >= 0,
        count=int(live.recommender.item_counts[row]) if row >= 0 else 0,
        rank=int(live.recommender.tie_rank[row]) + 1 if row >= 0 else None,
    )


ROUTES = (
    Route(
        method="PUT",
        path="/v1/items",
        handler=put_items,
        body=(ItemsBody, ItemBody),
        answer=ItemsChanged,
        role="write",
        writer=True,
        tag="items",
        summary="Say all that is to be known of an item: name, categories, when it may be listed.",
    ),
    Route(
        method="PATCH",
        path="/v1/items",
        handler=patch_item,
        body=ItemPatch,
        answer=ItemsChanged,
        role="write",
        writer=True,
        tag="items",
        summary="Change what is known of an item.",
    ),
    Route(
        method="DELETE",
        path="/v1/items",
        handler=delete_item,
        query=ItemId,
        answer=ItemsChanged,
        role="write",
        writer=True,
        tag="items",
        summary="Take an item out of all lists.",
    ),
    Route(
        method="GET",
        path="/v1/items",
        handler=get_items,
        query=ItemQuery,
        answer=ItemList,
        thread=True,
        tag="items",
        summary="Items by id, or by some letters of their id or name.",
    ),
)
