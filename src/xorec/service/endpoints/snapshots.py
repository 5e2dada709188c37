"""Snapshots: model and events in one file; and the log as lines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starlette.responses import StreamingResponse

from xorec.service.endpoints.events import event_out
from xorec.service.events.records import Event
from xorec.service.http.routes import Call, Route
from xorec.service.schemas.admin import ExportQuery, SnapshotAnswer, SnapshotList
from xorec.service.service import Service
from xorec.service.snapshots import list_snapshots, make_snapshot


def post_snapshot(service: Service, call: Call) -> SnapshotAnswer:
    """Write the served generations and the log into one file."""
    return SnapshotAnswer(model=service.models.default.ref, snapshot=make_snapshot(service))


def get_snapshots(service: Service, call: Call) -> SnapshotList:
    """Which snapshots there are."""
    found = list_snapshots(service.models.folder)
    return SnapshotList(model=service.models.default.ref, snapshots=found)


def get_export(service: Service, call: Call) -> StreamingResponse:
    """Events, or what was said of items, one JSON object a line."""
    query: ExportQuery = call.query
    lines = _events(service, query.after) if query.what == "events" else _items(service)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _events(service: Service, after: int) -> Iterator[str]:
    for records in service.reader.blocks(after):
        events = (event_out(one) for one in records if isinstance(one, Event))
        text = "".join(f"{one.model_dump_json()}\n" for one in events)
        if text:
            yield text


def _items(service: Service) -> Iterator[str]:
    for item, info in list(service.models.catalogue.infos.items()):
        yield json.dumps({"id": item, **info.to_dict()}, ensure_ascii=False) + "\n"


ROUTES = (
    Route(
        method="POST",
        path="/v1/snapshots",
        handler=post_snapshot,
        answer=SnapshotAnswer,
        role="admin",
        status=201,
        writer=True,
        thread=True,
        tag="snapshots",
        summary="Model and events in one file, from which `xorec serve` starts again.",
    ),
    Route(
        method="GET",
        path="/v1/snapshots",
        handler=get_snapshots,
        answer=SnapshotList,
        role="admin",
        thread=True,
        tag="snapshots",
        summary="The snapshots that there are.",
    ),
    Route(
        method="GET",
        path="/v1/export",
        handler=get_export,
        query=ExportQuery,
        role="admin",
        media_type="application/x-ndjson",
        tag="snapshots",
        summary="Events, or what was said of items, a line of JSON each.",
    ),
)
