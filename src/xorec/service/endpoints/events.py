"""Events: what users did. 200 means that it is on disk and that the next list knows."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from xorec.core.errors import XorecError
from xorec.core.printable import jsonable
from xorec.service.endpoints.asking import one_of
from xorec.service.events.records import Event, NewEvent
from xorec.service.http.problems import HttpError, http_error_of, status_of
from xorec.service.http.routes import Call, Route
from xorec.service.ids import from_json
from xorec.service.live.catalogue import iso, micros
from xorec.service.live.model import LiveModel
from xorec.service.schemas.events import (
    EraseAnswer,
    EraseQuery,
    EventBody,
    EventList,
    EventOut,
    EventsAnswer,
    EventsBody,
    EventsQuery,
)
from xorec.service.service import Service
from xorec.service.tasks.orders import order_for

_FARTHEST = 366 * 24 * 3600 * 1_000_000
"""Microseconds by which an event may be ahead of this machine's clock."""


async def post_events(service: Service, call: Call) -> EventsAnswer:
    """One event, {"events": [..]}, or a line of JSON each: all of them or none."""
    writer = service.require_writer()
    events = list(_checked(service.models.default, _raw_events(service, call)))
    done = await asyncio.wrap_future(writer.append(events))
    return EventsAnswer.model_construct(
        request_id=call.request_id,
        model=service.models.default.ref,
        took_us=0,
        accepted=done.accepted,
        duplicates=done.duplicates,
        seq=done.seq,
        durability=service.config.durability,
    )


def _raw_events(service: Service, call: Call) -> list[Any]:
    """What the body has: models, dictionaries, or lines."""
    if call.lines is not None:
        found: list[Any] = [line for line in call.lines.splitlines() if line.strip()]
    elif isinstance(call.body, EventsBody):
        found = call.body.events
    else:
        found = [call.body]
    most = service.config.limits.events_per_call
    if not found or len(found) > most:
        raise HttpError(422, f"there are {len(found):,} events in one call: 1 to {most:,}.")
    return found


def _checked(live: LiveModel, raw: list[Any]) -> Iterable[NewEvent]:
    now = time.time_ns() // 1000
    for at, one in enumerate(raw):
        try:
            if isinstance(one, bytes):
                body = EventBody.model_validate_json(one)
            elif isinstance(one, EventBody):
                body = one
            else:
                body = EventBody.model_validate(one)
            yield _new(live, body, now)
        except ValidationError as error:
            wrong = http_error_of(error, EventBody, "the event")
            raise HttpError(wrong.status, f"event {at}: {wrong}", at=at) from None
        except XorecError as error:
            raise HttpError(status_of(error), f"event {at}: {error}", at=at) from None


def _new(live: LiveModel, body: EventBody, now: int) -> NewEvent:
    user = jsonable(from_json(live.users, body.user, "user"))
    item = jsonable(from_json(live.items, body.item, "item"))
    ts = micros(body.ts)
    if ts is not None and ts > now + _FARTHEST:
        raise HttpError(422, f"ts {iso(ts)} is more than a year ahead of this clock.")
    event_id = body.event_id or _hash(user, item, body, ts)
    return NewEvent(
        event_id, user, item, body.kind, body.value, now if ts is None else ts, body.request_id
    )


def _hash(user: Any, item: Any, body: EventBody, ts: int | None) -> str:
    """Of all fields that the client gave: the same event sent twice is one."""
    fields = [user, item, body.kind, body.value, ts, body.request_id]
    text = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return f"h-{hashlib.blake2b(text, digest_size=16).hexdigest()}"


def get_events(service: Service, call: Call) -> EventList:
    """Events of a user, or of all; newest first."""
    query: EventsQuery = call.query
    live = service.models.default
    user = None if query.user is None else one_of(live, "user", query.user)
    k = min(query.k, service.config.limits.k)
    if user is None:
        found = service.reader.newest(k, query.before)
    else:
        found = service.reader.events_of(user, k, query.before)
    return EventList(model=live.ref, events=[event_out(one) for one in found])


def event_out(event: Event) -> EventOut:
    """An event as an answer has it."""
    return EventOut(**{**event._asdict(), "ts": iso(event.ts)})


async def delete_events(service: Service, call: Call) -> EraseAnswer:
    """Erase a user: events, history, code, lists; files of generations are rewritten soon."""
    query: EraseQuery = call.query
    writer, tasks = service.require_writer(), service.require_tasks()
    live = service.models.default
    user = one_of(live, "user", query.user)
    erased = await asyncio.wrap_future(writer.erase(user))
    service.pages.forget(user)
    task = None
    for name in service.models.names():
        task = tasks.add(order_for(service, "purge", name, until=erased.seq))
    return EraseAnswer(
        model=live.ref,
        user=user,
        events=erased.events,
        exposures=erased.exposures,
        seq=erased.seq,
        task=None if task is None else task.id,
    )


ROUTES = (
    Route(
        method="POST",
        path="/v1/events",
        handler=post_events,
        body=(EventsBody, EventBody),
        ndjson=True,
        answer=EventsAnswer,
        role="write",
        writer=True,
        tag="events",
        summary="Say what users did: on disk when answered, known to the very next list.",
    ),
    Route(
        method="GET",
        path="/v1/events",
        handler=get_events,
        query=EventsQuery,
        answer=EventList,
        thread=True,
        tag="events",
        summary="Events of a user, or of all, newest first.",
    ),
    Route(
        method="DELETE",
        path="/v1/events",
        handler=delete_events,
        query=EraseQuery,
        answer=EraseAnswer,
        role="write",
        writer=True,
        tag="events",
        summary="Erase a user: events, history, code, and lists in experiments.",
    ),
)
