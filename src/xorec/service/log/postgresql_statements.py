"""What the writer says to PostgreSQL, and texts as it keeps them.

All statements of a transaction are sent at once. The first one locks the one row of `state` until
the commit is done and visible: so places become visible in their order, whoever gives them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from xorec.service.log.records import ChangeRow, EventRow, ExposureRow

LOCK = "SELECT last_seq FROM state FOR UPDATE"
"""Each statement after it sees all that others have committed before it was granted."""

EVENTS = """
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (json_to_recordset(%s::json) AS (
        k uuid, n text, h bigint, u text, i text, d text, v double precision, t bigint, r text
    )) WITH ORDINALITY AS one (
        key, event_id, user_key, user_id, item_id, kind, value, ts, request_id, number
    )
), fresh AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY number) AS place FROM given
    WHERE NOT EXISTS (SELECT FROM events WHERE events.key = given.key)
    AND NOT EXISTS (SELECT FROM erased WHERE erased.key = given.key)
), kept AS (
    INSERT INTO events
    SELECT last_seq + place, key, event_id, user_key, user_id, item_id, kind, value, ts, request_id
    FROM fresh, state
), moved AS (
    UPDATE state SET last_seq = last_seq + (SELECT count(*) FROM fresh)
)
SELECT last_seq, ARRAY(SELECT number FROM fresh ORDER BY number) FROM state
"""
"""Gives the last place before, and which of the given events are new: they follow it in order."""

CHANGES = """
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (json_to_recordset(%s::json) AS (k text, b text))
    WITH ORDINALITY AS one (kind, body, place)
), kept AS (
    INSERT INTO changes SELECT last_seq + place, kind, body FROM given, state
), moved AS (
    UPDATE state SET last_seq = last_seq + (SELECT count(*) FROM given)
)
SELECT last_seq FROM state
"""
"""Gives the last place before."""

EXPOSURES = """
INSERT INTO exposures (request_id, experiment, arm, user_key, user_id, items, ts)
SELECT * FROM json_to_recordset(%s::json) AS (
    r text, x text, a text, h bigint, u text, i text, t bigint
) ON CONFLICT DO NOTHING
"""

FORGET_OLD_KEYS = "DELETE FROM erased WHERE ts < %s"
ERASE_EVENTS = """
WITH gone AS (
    DELETE FROM events WHERE user_key = %s AND user_id = %s RETURNING key
), kept AS (
    INSERT INTO erased SELECT key, %s FROM gone ON CONFLICT (key) DO UPDATE SET ts = excluded.ts
)
SELECT count(*) FROM gone
"""
ERASE_EXPOSURES = """
WITH gone AS (DELETE FROM exposures WHERE user_key = %s AND user_id = %s RETURNING number)
SELECT count(*) FROM gone
"""

JOIN = """
INSERT INTO machines VALUES (%s, %s, now())
ON CONFLICT (machine) DO UPDATE SET purged = excluded.purged, seen = now()
"""
PURGED = """
UPDATE machines SET purged = greatest(purged, %s), seen = now() WHERE machine = %s
"""
FORGET = """
WITH everywhere AS (
    SELECT min(purged) AS seq FROM machines WHERE seen > now() - %s * interval '1 second'
), gone AS (
    DELETE FROM changes USING everywhere
    WHERE changes.kind = 'erase' AND changes.seq <= everywhere.seq
)
UPDATE state SET forgotten = greatest(forgotten, everywhere.seq) FROM everywhere
"""
"""Records of erasures go that every machine has carried out."""


def events_json(rows: Iterable[EventRow]) -> str:
    """Of EVENTS."""
    return json.dumps(
        [
            {
                "k": key.hex(),
                "n": kept_text(event.event_id),
                "h": user_key,
                "u": user,
                "i": item,
                "d": kept_text(event.kind),
                "v": float(event.value),
                "t": event.ts,
                "r": None if event.request_id is None else kept_text(event.request_id),
            }
            for key, user_key, user, item, event in rows
        ]
    )


def changes_json(rows: Iterable[ChangeRow]) -> str:
    """Of CHANGES."""
    return json.dumps([{"k": row.kind, "b": row.text} for row in rows])


def exposures_json(rows: Sequence[ExposureRow]) -> str:
    """Of EXPOSURES."""
    return json.dumps(
        [
            {
                "r": kept_text(row.request_id),
                "x": kept_text(row.experiment),
                "a": kept_text(row.arm),
                "h": row.user_key,
                "u": row.user,
                "i": row.items,
                "t": row.ts,
            }
            for row in rows
        ]
    )


def kept_text(text: str) -> str:
    r"""A text without NUL, which PostgreSQL does not take.

    >>> kept_text("buy"), kept_text("a\0b\\c") == "a\\0b\\\\c"
    ('buy', True)
    """
    if "\\" in text or "\0" in text:
        return text.replace("\\", "\\\\").replace("\0", "\\0")
    return text


def original(text: str) -> str:
    r"""The text that was kept.

    >>> original(kept_text("a\0b\\0c")) == "a\0b\\0c"
    True
    """
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda found: "\0" if found[1] == "0" else found[1], text)
