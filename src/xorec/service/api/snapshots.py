"""Snapshots: model and events in one file; and the log as lines."""

from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import IO, Literal

from pydantic import Field

from xorec.service.api.base import Answer, Query
from xorec.service.api.events import event_out
from xorec.service.http.exchange import Stream
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Routes
from xorec.service.log.records import Event
from xorec.service.service import Service
from xorec.service.snapshots import SnapshotOut, list_snapshots, make_snapshot

ROUTES = Routes("snapshots")


class SnapshotAnswer(Answer):
    """A snapshot that was made."""

    snapshot: SnapshotOut


class SnapshotList(Answer):
    """Snapshots, newest first."""

    snapshots: list[SnapshotOut]


class ExportQuery(Query):
    """What to export as NDJSON."""

    what: Literal["events", "items"] = "events"
    after: int = Field(0, ge=0, lt=2**63)


@ROUTES("POST", "/v1/snapshots", role="admin", status=201, writer=True, thread=True)
def post_snapshot(service: Service) -> SnapshotAnswer:
    """Model and events in one file, from which `xorec serve` starts again."""
    return SnapshotAnswer(model=service.models.default.ref, snapshot=make_snapshot(service))


@ROUTES("GET", "/v1/snapshots", role="admin", thread=True)
def get_snapshots(service: Service) -> SnapshotList:
    """The snapshots that there are."""
    found = list_snapshots(service.models.folder)
    return SnapshotList(model=service.models.default.ref, snapshots=found)


@ROUTES("GET", "/v1/export", role="admin", thread=True, media_type="application/x-ndjson")
def get_export(service: Service, query: ExportQuery) -> Stream:
    """Events, or what was said of items, a line of JSON each."""
    lines = _events(service, query.after) if query.what == "events" else _items(service)
    file = tempfile.TemporaryFile(dir=service.models.folder)  # noqa: SIM115, closed when it is sent
    try:
        for line in lines:
            file.write(line.encode())
    except BaseException as error:
        file.close()
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HttpError(507, "there is no room on the disk for the export.") from None
        raise
    length = file.tell()
    file.seek(0)
    return Stream(_parts(file), "application/x-ndjson", length)


async def _parts(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while part := file.read(1 << 18):
            yield part


def _events(service: Service, after: int) -> Iterator[str]:
    for records in service.reader.blocks(after):
        events = (event_out(one) for one in records if isinstance(one, Event))
        text = "".join(f"{one.model_dump_json()}\n" for one in events)
        if text:
            yield text


def _items(service: Service) -> Iterator[str]:
    for item, info in list(service.models.catalogue.infos.items()):
        yield json.dumps({"id": item, **info.to_dict()}, ensure_ascii=False) + "\n"
