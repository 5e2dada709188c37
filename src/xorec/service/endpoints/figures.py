"""Figures for the page: histograms of distances, what the service is doing."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from starlette.responses import StreamingResponse

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.service.endpoints.asking import one_of
from xorec.service.live.model import LiveModel
from xorec.service.routes import Call, Route
from xorec.service.schemas.admin import HistogramAnswer, HistogramQuery, StatsAnswer
from xorec.service.schemas.base import Query
from xorec.service.service import Service

_BEGAN = time.time()
_LIVE_SECONDS = 3600
"""After which a stream ends; browsers connect anew by themselves."""


def get_histogram(service: Service, call: Call) -> HistogramAnswer:
    """How many items stand at each Hamming distance from a user or an item."""
    query: HistogramQuery = call.query
    live = service.models[query.name]
    bits = live.recommender.representation.code_length
    codes = live.recommender.representation.arrays().get("item_codes")
    if codes is None or bits is None:
        raise OptionError("this model has no codes: there are no distances to count.")
    if (query.user is None) == (query.item is None):
        raise OptionError("give user=ID or item=ID, one of them.")
    if query.item is not None:
        row = live.require_item(one_of(live, "item", query.item))
        code = codes[row]
    else:
        code = _code_of(live, str(query.user))
    distances = np.bitwise_count(codes ^ code).sum(axis=1, dtype=np.int64)
    counts = np.bincount(distances, minlength=bits + 1)
    cut = int(np.searchsorted(np.cumsum(counts), min(query.k, len(codes))))
    return HistogramAnswer(model=live.ref, counts=counts.tolist(), cut=cut, tie=int(counts[cut]))


def _code_of(live: LiveModel, text: str) -> Any:
    user = one_of(live, "user", text)
    row = live.user_row(user)
    codes = live.recommender.representation.arrays().get("user_codes")
    query = live.asker(user).query
    if isinstance(query, np.ndarray) and query.dtype == np.uint64:
        return query[0]
    if row < 0 or codes is None:
        raise UnknownIdError(f"user {quoted(user)} has no code in this model.")
    return codes[row]


def get_stats(service: Service, call: Call) -> StatsAnswer:
    """What the service is doing, in figures."""
    return StatsAnswer(model=service.models.default.ref, stats=stats(service))


def stats(service: Service) -> dict[str, Any]:
    """Figures of this worker and of the log."""
    models = service.models
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "worker": service.worker,
        "pid": os.getpid(),
        "seconds": round(time.time() - _BEGAN, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": usage.ru_maxrss // 1024,
        "seq": models.applied_seq,
        "events": service.reader.count(),
        "recent_events": len(models.recent),
        "cold_items": len(models.cold),
        "items_changed": len(models.catalogue.infos),
        "models": {
            name: {
                "generation": models[name].about.number,
                "kind": models[name].about.model,
                "users": len(models[name].users),
                "items": len(models[name].items),
            }
            for name in models.names()
        },
        "requests": service.metrics.summary(),
        "tasks": [] if service.tasks is None else [_task(one) for one in service.tasks.tasks()[:5]],
    }


def _task(task: Any) -> dict[str, Any]:
    return {name: getattr(task, name) for name in ("id", "kind", "state", "progress", "detail")}


class LiveQuery(Query):
    """seconds: between two figures."""

    seconds: float = 1.0


def get_live(service: Service, call: Call) -> StreamingResponse:
    """The figures again and again, as server-sent events."""
    pause = min(max(call.query.seconds, 0.2), 60.0)

    async def stream() -> AsyncIterator[str]:
        until = time.monotonic() + _LIVE_SECONDS
        while time.monotonic() < until:
            yield f"event: stats\ndata: {json.dumps(stats(service))}\n\n"
            await asyncio.sleep(pause)

    return StreamingResponse(stream(), media_type="text/event-stream")


ROUTES = (
    Route(
        method="GET",
        path="/v1/histogram",
        handler=get_histogram,
        query=HistogramQuery,
        answer=HistogramAnswer,
        thread=True,
        tag="figures",
        summary="How many items stand at each distance, the cut-off, and the tie there.",
    ),
    Route(
        method="GET",
        path="/v1/stats",
        handler=get_stats,
        answer=StatsAnswer,
        thread=True,
        tag="figures",
        summary="What the service is doing.",
    ),
    Route(
        method="GET",
        path="/v1/live",
        handler=get_live,
        query=LiveQuery,
        media_type="text/event-stream",
        tag="figures",
        summary="The same again and again, as server-sent events.",
    ),
)
