"""Events: what a client sends and what it is told."""

from __future__ import annotations

import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, Body, JsonId, Query

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
    """Events of a user, newest first; before: places in the log below this one."""

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
