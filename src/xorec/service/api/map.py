"""Endpoints of the item map: coordinates, colours, and the items at given rows."""

from __future__ import annotations

import base64
from typing import Any, Literal

from pydantic import BaseModel, Field

from xorec.core.errors import OptionError
from xorec.service.api.base import Answer, JsonId, ModelQuery
from xorec.service.api.list_request import item_of, items_of, user_of
from xorec.service.http.exchange import Reply, Request
from xorec.service.http.routes import Routes
from xorec.service.live.map_colours import Band, by_bit, by_category, by_distance, by_popularity
from xorec.service.service import Service

ROUTES = Routes("figures")

MOST_ROWS = 2000


class MapQuery(ModelQuery):
    """The coordinates of items. k: of the most popular, in JSON; binary has all."""

    k: int = Field(100_000, ge=1, le=5_000_000)
    format: Literal["json", "binary"] = Field(
        "json",
        description="binary: int16, little-endian, x and y of every item by row; also with "
        "`Accept: application/octet-stream`.",
    )


class MapAnswer(Answer):
    """Columns, one value an item, most popular first, without those that are not listed now: whole
    numbers from -32767 to 32767. layout: how they were made, "pca" or "neighbours"."""

    items: list[Any]
    x: list[int]
    y: list[int]
    count: list[int]
    layout: str = "pca"


class ColoursQuery(ModelQuery):
    """One byte an item. bit: with by=bit. user or item: with by=distance; items: as if the user,
    or a new user, had them as well. most: categories that get a byte of their own."""

    by: Literal["popularity", "category", "bit", "distance"] = "popularity"
    bit: int = Field(0, ge=0)
    user: str | None = None
    item: str | None = None
    items: tuple[str, ...] = Field((), max_length=MOST_ROWS)
    most: int = Field(10, ge=1, le=200)


class ColoursAnswer(Answer):
    """colours: a byte for each item by row, in base64; 255: it is not listed now. shown: which end
    of a scale stands out, "low" or "high"; "" where bytes are classes."""

    by: str
    shown: Literal["low", "high", ""]
    legend: list[Band]
    colours: str


class MapItemsQuery(ModelQuery):
    """Items by row, by id, or those of a user as of now; at most 2,000 of each."""

    rows: tuple[int, ...] = Field((), max_length=MOST_ROWS)
    items: tuple[str, ...] = Field((), max_length=MOST_ROWS)
    user: str | None = None


class MapItem(BaseModel):
    """An item of the map. count: users who have it. available: whether it is listed now."""

    row: int
    id: JsonId
    name: str | None = None
    count: int = 0
    available: bool = True


class MapItemsAnswer(Answer):
    """Items in the order in which they were asked for; ids that the model does not have are left
    out."""

    items: list[MapItem]


_BINARY = "application/octet-stream"


@ROUTES("GET", "/v1/map", thread=True, also=_BINARY)
def get_map(service: Service, request: Request, query: MapQuery) -> MapAnswer | Reply:
    """The coordinates of items on the map, x and y."""
    live = service.models[query.name]
    xy = live.item_map.places()
    if query.format == "binary" or request.headers.get("accept") == _BINARY:
        headers = (
            ("x-xorec-generation", str(live.about.number)),
            ("x-xorec-layout", live.item_map.layout.encode("ascii", "replace").decode()),
        )
        return Reply(200, xy.astype("<i2", copy=False).tobytes(), _BINARY, headers)
    rows = live.item_order
    rows = rows[live.filters.mask()[rows]][: query.k]
    return MapAnswer(
        model=live.ref,
        items=live.item_ids(rows.tolist()),
        x=xy[rows, 0].tolist(),
        y=xy[rows, 1].tolist(),
        count=live.recommender.item_counts[rows].tolist(),
        layout=live.item_map.layout,
    )


@ROUTES("GET", "/v1/map/colours", thread=True)
def get_colours(service: Service, query: ColoursQuery) -> ColoursAnswer:
    """One byte an item: popularity, category, a bit, or the distance from a user or item."""
    live = service.models[query.name]
    if query.by == "distance":
        if (query.user is None and not query.items) == (query.item is None):
            raise OptionError(
                "distance from whom? Give user=ID (or items=ID of a new user) or item=ID, "
                "one of them."
            )
        user = None if query.user is None else user_of(live, query.user)
        item = None if query.item is None else item_of(live, query.item)
        made = by_distance(live, user, item, items_of(live, query.items, "items"))
    elif query.by == "category":
        made = by_category(live, query.most)
    elif query.by == "bit":
        made = by_bit(live, query.bit)
    else:
        made = by_popularity(live)
    return ColoursAnswer(
        model=live.ref,
        by=query.by,
        shown=made.shown,
        legend=made.bands,
        colours=base64.b64encode(made.colours.tobytes()).decode(),
    )


@ROUTES("GET", "/v1/map/items", thread=True)
def get_map_items(service: Service, query: MapItemsQuery) -> MapItemsAnswer:
    """Names, counts and rows of items: by row, by id, or of a user."""
    live = service.models[query.name]
    beyond = [row for row in query.rows if not 0 <= row < len(live.items)]
    if beyond:
        raise OptionError(f"rows has {beyond[0]}: the model has rows 0 to {len(live.items) - 1}.")
    named, _ = live.item_rows(items_of(live, query.items, "items"))
    rows = [*query.rows, *named.tolist()]
    if query.user is not None:
        user = user_of(live, query.user)
        live.require_user(user)
        rows += live.query_user(user).positive.tolist()[-MOST_ROWS:]
    ids = live.item_ids(rows)
    listed = live.filters.mask()
    counts = live.recommender.item_counts
    about = zip(rows, ids, live.item_names(rows, ids), strict=True)
    return MapItemsAnswer(
        model=live.ref,
        items=[
            MapItem(row=row, id=one, name=name, count=int(counts[row]), available=bool(listed[row]))
            for row, one, name in about
        ],
    )
