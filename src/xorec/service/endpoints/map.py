"""The map: where all items lie, how they are coloured, what stands where."""

from __future__ import annotations

import base64
import time

import numpy as np

from xorec.core.errors import OptionError
from xorec.service.endpoints.asking import items_of, one_of
from xorec.service.http.exchange import Reply
from xorec.service.http.routes import Call, Route
from xorec.service.live.map_colours import by_bit, by_category, by_distance, by_popularity
from xorec.service.live.model import LiveModel
from xorec.service.live.models import require_user
from xorec.service.schemas.map import (
    MOST_ROWS,
    ColoursAnswer,
    ColoursQuery,
    MapAnswer,
    MapItem,
    MapItemsAnswer,
    MapItemsQuery,
    MapQuery,
)
from xorec.service.service import Service

_BINARY = b"application/octet-stream"


def get_map(service: Service, call: Call) -> MapAnswer | Reply:
    """Where items lie: JSON, the most popular first; or 4 bytes an item, by row."""
    query: MapQuery = call.query
    live = service.models[query.name]
    places = live.item_map.places()
    if query.format == "binary" or call.headers.get(b"accept") == _BINARY:
        headers = (
            (b"x-xorec-generation", b"%d" % live.about.number),
            (b"x-xorec-layout", live.item_map.layout.encode("ascii", "replace")),
        )
        return Reply(200, places.astype("<i2", copy=False).tobytes(), _BINARY, headers)
    rows = np.argsort(live.recommender.tie_rank, kind="stable")
    rows = rows[_listed(live)[rows]][: query.k]
    return MapAnswer(
        model=live.ref,
        items=live.item_ids(rows.tolist()),
        x=places[rows, 0].tolist(),
        y=places[rows, 1].tolist(),
        count=live.recommender.item_counts[rows].tolist(),
        layout=live.item_map.layout,
    )


def get_colours(service: Service, call: Call) -> ColoursAnswer:
    """One byte an item, by row, and what it means."""
    query: ColoursQuery = call.query
    live = service.models[query.name]
    if query.by == "distance":
        if (query.user is None and not query.items) == (query.item is None):
            raise OptionError(
                "distance from whom? Give user=ID (or items=ID of what somebody has) or item=ID, "
                "one of them."
            )
        user = None if query.user is None else one_of(live, "user", query.user)
        item = None if query.item is None else one_of(live, "item", query.item)
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


def get_map_items(service: Service, call: Call) -> MapItemsAnswer:
    """What stands at rows; or the rows of ids, or of what a user has."""
    query: MapItemsQuery = call.query
    live = service.models[query.name]
    beyond = [row for row in query.rows if not 0 <= row < len(live.items)]
    if beyond:
        raise OptionError(f"rows has {beyond[0]}: the model has rows 0 to {len(live.items) - 1}.")
    named, _ = live.item_rows(items_of(live, query.items, "items"))
    rows = [*query.rows, *named.tolist()]
    if query.user is not None:
        user = one_of(live, "user", query.user)
        require_user(live, user)
        rows += live.asker(user).positive.tolist()[-MOST_ROWS:]
    ids = live.item_ids(rows)
    listed = _listed(live)
    counts = live.recommender.item_counts
    about = zip(rows, ids, live.item_names(rows, ids), strict=True)
    return MapItemsAnswer(
        model=live.ref,
        items=[
            MapItem(row=row, id=one, name=name, count=int(counts[row]), available=bool(listed[row]))
            for row, one, name in about
        ],
    )


def _listed(live: LiveModel) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A bool for each item: may it be listed now?"""
    return live.filters.mask(None, time.time_ns() // 1000)


ROUTES = (
    Route(
        method="GET",
        path="/v1/map",
        handler=get_map,
        query=MapQuery,
        answer=MapAnswer,
        thread=True,
        also="application/octet-stream",
        tag="figures",
        summary="Where items lie: two numbers each.",
    ),
    Route(
        method="GET",
        path="/v1/map/colours",
        handler=get_colours,
        query=ColoursQuery,
        answer=ColoursAnswer,
        thread=True,
        tag="figures",
        summary="One byte an item: popularity, category, a bit, or the distance from somebody.",
    ),
    Route(
        method="GET",
        path="/v1/map/items",
        handler=get_map_items,
        query=MapItemsQuery,
        answer=MapItemsAnswer,
        thread=True,
        tag="figures",
        summary="Items by their rows on the map, or the rows of items.",
    ),
)
