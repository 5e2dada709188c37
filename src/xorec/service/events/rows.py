"""Rows: events and exposures as the log keeps them.

Ids stand as canonical JSON text, in ASCII: 1 and "1" differ, and every character survives. Look-ups
go by salted hashes, so that the text of an id stands once, in its row, and goes with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.service.events.records import Appended, Erased, Exposure, Id, NewEvent, Record

_encode = json.JSONEncoder(allow_nan=False).encode
_TYPES = (str, int, float, bool)


class EventRow(NamedTuple):
    """key: hash of event_id; user_key: hash of user. user, item: JSON text."""

    key: bytes
    user_key: int
    user: str
    item: str
    event: NewEvent


def event_rows(events: Iterable[NewEvent], salt: bytes) -> list[EventRow]:
    """A client's events as rows; a DataError that names the first that no log can take."""
    rows = []
    for at, event in enumerate(events):
        try:
            for text in (event.event_id, event.kind, event.request_id or ""):
                text.isascii() or text.encode()
            if not math.isfinite(event.value):
                raise ValueError(f"value {event.value} is not finite")
            if not -(2**63) <= event.ts < 2**63:
                raise ValueError(f"ts {quoted(event.ts)} is out of range")
            user = id_text(event.user)
            row = EventRow(
                event_key(event.event_id, salt),
                user_key(user, salt),
                user,
                id_text(event.item),
                event,
            )
        except UnicodeEncodeError:
            raise DataError(f"event {at}: its text has half a surrogate pair.") from None
        except ValueError as error:
            raise DataError(f"event {at}: {error}.") from None
        rows.append(row)
    return rows


def id_text(value: Id) -> str:
    """An id as canonical JSON.

    >>> id_text("a\\0"), id_text(1), id_text("1")
    ('"a\\\\u0000"', '1', '"1"')
    """
    if type(value) not in _TYPES:
        raise ValueError(f"{quoted(value)} is no id that JSON has: text or a number")
    return _encode(value + 0.0 if type(value) is float else value)


def ids_of(texts: Sequence[str]) -> list[Any]:
    """The ids that these texts mean: one call of the parser for all."""
    ids: list[Any] = json.loads(f"[{','.join(texts)}]")
    return ids


def event_key(event_id: str, salt: bytes) -> bytes:
    """What the log knows an event by, also after its erasure."""
    return blake2b(event_id.encode(), digest_size=16, key=salt).digest()


def user_key(user: str, salt: bytes) -> int:
    """What the log finds a user's rows by; user: JSON text."""
    digest = blake2b(user.encode(), digest_size=8, key=salt).digest()
    return int.from_bytes(digest, "little", signed=True)


class ChangeRow(NamedTuple):
    """text: the body as JSON; body: as it comes out of that again."""

    kind: str
    body: dict[str, Any]
    text: str


def change_row(kind: str, body: Mapping[str, Any]) -> ChangeRow:
    """A change as a row; a DataError where JSON has no such body."""
    try:
        text = _encode(dict(body))
        return ChangeRow(kind, json.loads(text), text)
    except (TypeError, ValueError) as error:
        raise DataError(f"the change of {kind!r} is not JSON: {error}.") from None


class ExposureRow(NamedTuple):
    """An exposure in the order of the columns."""

    request_id: str
    experiment: str
    arm: str
    user_key: int
    user: str
    items: str
    ts: int


def exposure_row(exposure: Exposure, salt: bytes) -> ExposureRow:
    """An exposure as a row; a DataError where it is none that a log can take."""
    try:
        for text in (exposure.request_id, exposure.experiment, exposure.arm):
            text.encode()
        user, items = id_text(exposure.user), map(id_text, exposure.items)
        return ExposureRow(
            exposure.request_id,
            exposure.experiment,
            exposure.arm,
            user_key(user, salt),
            user,
            f"[{','.join(items)}]",
            exposure.ts,
        )
    except ValueError as error:
        raise DataError(f"the exposure {quoted(exposure.request_id)}: {error}.") from None


class Batch(NamedTuple):
    """What one transaction writes: calls of clients, and at the end a user to erase.

    forget: the records of erasures up to this place go, for they name whom they erased.
    """

    events: Sequence[Sequence[EventRow]] = ()
    changes: Sequence[Sequence[ChangeRow]] = ()
    exposures: Sequence[ExposureRow] = ()
    erase: Id | None = None
    forget: int | None = None

    @property
    def has_only_events(self) -> bool:
        """As most have."""
        return not self.changes and not self.exposures and self.erase is self.forget is None


class Written(NamedTuple):
    """What became of each call of a batch, and the new records in order."""

    appended: list[Appended]
    changed: list[int]
    erased: Erased | None
    records: list[Record]
