"""Events: what users did. 200 means that it is on disk and that the next list knows."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from xorec.core.errors import XorecError
from xorec.service.api.base import Answer, Body, JsonId, Query
from xorec.service.api.list_request import user_of
from xorec.service.http.exchange import Request
from xorec.service.http.problems import HttpError, http_error_of, status_of
from xorec.service.http.routes import Routes
from xorec.service.ids import id_of
from xorec.service.jobs.schedule import spec_for
from xorec.service.live.model import LiveModel
from xorec.service.live.state import iso, micros, now_micros
from xorec.service.log.records import Event, NewEvent
from xorec.service.service import Service

ROUTES = Routes("events")

Durability = Literal["disk", "process"]


class EventBody(Body):
    """Something that a user did with an item."""

    user: JsonId
    item: JsonId
    kind: str = Field("click", min_length=1, max_length=64)
    value: float = Field(1.0, allow_inf_nan=False)
    ts: datetime.datetime | None = Field(
        None, strict=False, description="When: ISO 8601; without a zone it is UTC. Default: now."
    )
    event_id: str | None = Field(
        None, min_length=1, max_length=128, description="Taken once; default: a hash of all fields."
    )
    request_id: str | None = Field(
        None, max_length=128, description="The list that the user acted on."
    )


class EventsBody(Body):
    """Several events: all or nothing."""

    events: list[Any] = Field(min_length=1, description="Events, each as it would stand alone.")


class EventsAnswer(Answer):
    """durability: "disk" means that they survive a crash of the machine."""

    accepted: int
    duplicates: int
    seq: int
    durability: Durability


class EventsQuery(Query):
    """Events of a user, newest first; before: seqs in the log below this one."""

    user: str | None = None
    k: int = Field(100, ge=1)
    before: int | None = Field(None, ge=1, lt=2**63)


class EventOut(BaseModel):
    """An event as the log has it."""

    seq: int
    event_id: str
    user: JsonId
    item: JsonId
    kind: str
    value: float
    ts: str
    request_id: str | None = None


class EventList(Answer):
    """Events, newest first."""

    events: list[EventOut]


class EraseQuery(Query):
    """Whom to forget."""

    user: str


class EraseAnswer(Answer):
    """What was erased at once; the model files of older generations are rewritten by `task`."""

    user: JsonId
    events: int
    exposures: int
    seq: int
    task: str | None = None


_FARTHEST = 366 * 24 * 3600 * 1_000_000
"""Microseconds by which an event may be ahead of this machine's clock."""


@ROUTES("POST", "/v1/events", role="write", writer=True)
async def post_events(
    service: Service, request: Request, body: EventsBody | EventBody | bytes
) -> EventsAnswer:
    """Say what users did: on disk when answered, known to the very next list."""
    writer = service.require_writer()
    raw = _raw_events(body, service.config.limits.events_per_call)
    events = list(_checked(service.models.default, raw))
    done = await asyncio.wrap_future(writer.append(events))
    service.metrics.duplicates.inc(done.duplicates)
    return EventsAnswer.model_construct(
        request_id=request.id,
        model=service.models.default.ref,
        took_us=0,
        accepted=done.accepted,
        duplicates=done.duplicates,
        seq=done.seq,
        durability=service.config.durability,
    )


def _raw_events(body: EventsBody | EventBody | bytes, most: int) -> list[Any]:
    """What the body has: models, dictionaries, or lines."""
    found: list[Any] = [body]
    if isinstance(body, bytes):
        found = [line for line in body.splitlines() if line.strip()]
    elif isinstance(body, EventsBody):
        found = body.events
    if not found or len(found) > most:
        raise HttpError(422, f"there are {len(found):,} events in one call: 1 to {most:,}.")
    return found


def _checked(live: LiveModel, raw: list[Any]) -> Iterable[NewEvent]:
    now = now_micros()
    for at, one in enumerate(raw):
        read = EventBody.model_validate_json if isinstance(one, bytes) else EventBody.model_validate
        try:
            yield _new(live, read(one), now)
        except ValidationError as error:
            wrong = http_error_of(error, EventBody, "the event")
            raise HttpError(wrong.status, f"event {at}: {wrong}", at=at) from None
        except XorecError as error:
            raise HttpError(status_of(error), f"event {at}: {error}", at=at) from None


def _new(live: LiveModel, body: EventBody, now: int) -> NewEvent:
    user = id_of(live.users, body.user, "user")
    item = id_of(live.items, body.item, "item")
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


@ROUTES("GET", "/v1/events", thread=True)
def get_events(service: Service, query: EventsQuery) -> EventList:
    """Events of a user, or of all, newest first."""
    live = service.models.default
    user = None if query.user is None else user_of(live, query.user)
    k = min(query.k, service.config.limits.k)
    reader, before = service.reader, query.before
    found = reader.newest(k, before) if user is None else reader.events_of(user, k, before)
    return EventList(model=live.ref, events=[event_out(one) for one in found])


def event_out(event: Event) -> EventOut:
    return EventOut(**{**event._asdict(), "ts": iso(event.ts)})


@ROUTES("DELETE", "/v1/events", role="write", writer=True)
async def delete_events(service: Service, query: EraseQuery) -> EraseAnswer:
    """Erase a user: events, history, code, and lists in experiments."""
    writer, tasks = service.require_writer(), service.require_tasks()
    live = service.models.default
    user = user_of(live, query.user)
    erased = await asyncio.wrap_future(writer.erase(user))
    service.cursors.forget(user)
    task = None
    for name in service.models.names():
        task = tasks.add(spec_for(service, "purge", name, until=erased.seq))
    return EraseAnswer(
        model=live.ref,
        user=user,
        events=erased.events,
        exposures=erased.exposures,
        seq=erased.seq,
        task=None if task is None else task.id,
    )
