"""What the service is doing: figures once, or again and again as server-sent events."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import Field

from xorec.service.api.base import Answer, Query
from xorec.service.http.exchange import Request, Stream
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Routes
from xorec.service.live.state import iso
from xorec.service.service import Service

ROUTES = Routes("figures")


class StatsAnswer(Answer):
    """What the service is doing."""

    stats: dict[str, Any]


_BEGAN = time.time()
_LIVE_SECONDS = 3600
"""After which a stream ends; the client connects again."""
_TASKS = 5
_SPARING = 100
"""A count of all events is not repeated before so many times what it took has gone by."""


@ROUTES("GET", "/v1/stats")
async def get_stats(service: Service, request: Request) -> StatsAnswer:
    """What the service is doing."""
    return StatsAnswer(model=service.models.default.ref, stats=await _stats(service, request))


async def _stats(service: Service, request: Request, history: int = 3) -> dict[str, Any]:
    """The figures, with tasks also where another worker runs them."""
    loop = asyncio.get_running_loop()
    figures = await loop.run_in_executor(None, stats, service, history)
    if service.tasks is None and service.peers is not None:
        figures["tasks"] = await _tasks_of_writer(service, request)
    return figures


async def _tasks_of_writer(service: Service, request: Request) -> list[Any]:
    assert service.peers is not None
    asked = Request("GET", "/v1/stats", headers=request.headers, id=request.id)
    try:
        reply = await service.peers.ask_writer(asked, b"")
    except HttpError:
        return []
    tasks: list[Any] = json.loads(reply.body)["stats"]["tasks"] if reply.status == 200 else []
    return tasks


def stats(service: Service, history: int = 3) -> dict[str, Any]:
    """Figures of this worker and of the log; `recent` is of all workers."""
    models = service.models
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "worker": service.worker,
        "pid": os.getpid(),
        "seconds": round(time.time() - _BEGAN, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": usage.ru_maxrss // 1024,
        "rss_mb": _resident_mb(),
        "seq": models.applied_seq,
        "log_seq": service.sequence.value,
        "events": _count_events(service),
        "recent_events": len(models.recent),
        "cold_items": len(models.cold),
        "items_changed": len(models.catalogue.infos),
        "models": {name: _model(service, name) for name in models.names()},
        "requests": service.metrics.summary(),
        "recent": service.metrics.activity.report(history),
        "tasks": [_task(one) for one in service.tasks.tasks()[:_TASKS]] if service.tasks else [],
    }


def _model(service: Service, name: str) -> dict[str, Any]:
    """What is served under a name, since when, and the race that chose it where there was one."""
    live = service.models[name]
    since = service.models.served_since.get(name)
    return {
        "generation": live.about.number,
        "kind": live.about.model,
        "users": len(live.users),
        "items": len(live.items),
        "source": live.about.source,
        "since": None if since is None else iso(int(since) * 1_000_000),
        "behind": max(0, service.models.recent.last_seq - live.about.applied_seq),
        "race": live.recommender.metadata.get("race"),
    }


def _task(task: Any) -> dict[str, Any]:
    """A task, with what the gate said of what it made."""
    names = ("id", "kind", "name", "state", "started", "ended", "progress", "detail")
    told = {name: getattr(task, name) for name in (*names, "facts", "notes")}
    return {**told, "gate": (task.result or {}).get("gate")}


def _count_events(service: Service) -> int:
    """Events of the whole log; a count that took long is reused for a while."""
    counted_at, count, due = service.events_counted
    began, seq = time.monotonic(), service.models.applied_seq
    if counted_at != seq and began >= due:
        count = service.reader.count()
        ended = time.monotonic()
        service.events_counted = seq, count, ended + _SPARING * (ended - began)
    return count


def _resident_mb() -> int | None:
    """Memory that this process has now; None where the system does not say."""
    if sys.platform != "linux":
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


class LiveQuery(Query):
    """seconds: between two figures; 0.2 to 60."""

    seconds: float = Field(1.0, allow_inf_nan=False)


@ROUTES("GET", "/v1/live", media_type="text/event-stream")
def get_live(service: Service, request: Request, query: LiveQuery) -> Stream:
    """The same again and again, as server-sent events."""
    from xorec.service.metrics import SECONDS

    pause = min(max(query.seconds, 0.2), 60.0)

    async def stream() -> AsyncIterator[bytes]:
        until = time.monotonic() + _LIVE_SECONDS
        history = SECONDS - 1
        while time.monotonic() < until:
            figures = await _stats(service, request, history)
            yield f"event: stats\ndata: {json.dumps(figures)}\n\n".encode()
            history = min(SECONDS - 1, int(pause) + 2)
            await asyncio.sleep(pause)

    return Stream(stream(), "text/event-stream")
