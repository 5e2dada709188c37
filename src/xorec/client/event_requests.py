"""Requests about events. Each gets its `event_id` here, before the first try."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from xorec.client.request import Request, body, pairs, reader
from xorec.service.api.base import JsonId
from xorec.service.api.events import EraseAnswer, EventBody, EventList, EventsAnswer


def send(
    user: JsonId,
    item: JsonId,
    kind: str | None = None,
    *,
    value: float | None = None,
    ts: datetime.datetime | str | None = None,
    event_id: str | None = None,
    request_id: str | None = None,
) -> Request[EventsAnswer]:
    """One event. request_id: of the list that the user acted on. event_id: the service takes each
    once; one is made up where none is given.

    >>> send("ann", "tea", event_id="e1").body
    {'events': [{'user': 'ann', 'item': 'tea', 'event_id': 'e1'}]}
    """
    event = body(
        user=user,
        item=item,
        kind=kind,
        value=value,
        ts=ts,
        event_id=event_id,
        request_id=request_id,
    )
    return send_events([event])


def send_events(events: Iterable[EventBody | Mapping[str, Any]]) -> Request[EventsAnswer]:
    """Several events: all are taken, or none.

    >>> first, second = send_events([{"user": 1, "item": 2}, {"user": 1, "item": 3}]).body["events"]
    >>> first["event_id"] == second["event_id"]
    False
    """
    ready = [_with_id(event) for event in events]
    return Request("POST", "/v1/events", reader(EventsAnswer), body={"events": ready})


def events(
    user: JsonId | None = None, k: int = 100, *, before: int | None = None
) -> Request[EventList]:
    """A user's events, or everybody's, newest first. before: places in the log below this one.

    >>> events("ann", 3).params
    (('user', 'ann'), ('k', '3'))
    """
    params = pairs(user=user, k=k, before=before)
    return Request("GET", "/v1/events", reader(EventList), params)


def erase(user: JsonId) -> Request[EraseAnswer]:
    """Forget a user: events, history, code, and what experiments know.

    >>> erase("ann").what
    'DELETE /v1/events'
    """
    return Request("DELETE", "/v1/events", reader(EraseAnswer), pairs(user=user))


def _with_id(event: EventBody | Mapping[str, Any]) -> dict[str, Any]:
    plain = event.model_dump(exclude_unset=True) if isinstance(event, EventBody) else dict(event)
    if plain.get("event_id") is None:
        plain["event_id"] = uuid4().hex
    return plain
