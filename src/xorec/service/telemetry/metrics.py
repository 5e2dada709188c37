"""Metrics for Prometheus: latency by route and status, events, flushes, generations.

Several workers keep their figures in files of one folder (PROMETHEUS_MULTIPROC_DIR, which the
supervisor sets), named by the number of the worker: whoever is asked adds them up, and a worker
that starts again goes on counting where it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from xorec.service.http.routes import Call, Route
from xorec.service.service import Service
from xorec.service.telemetry.activity import Activity

_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """All figures of one worker."""

    def __init__(self, worker: int = 0) -> None:
        self._folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        if self._folder is not None:
            values.ValueClass = values.MultiProcessValue(lambda: f"w{worker}")  # type: ignore[no-untyped-call]
        self.activity = Activity(worker, None if self._folder is None else Path(self._folder))
        self.registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "xorec_request_seconds",
            "Seconds inside the service, by route and status.",
            ("route", "method", "status"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.events = Counter("xorec_events", "Events that were accepted.", registry=registry)
        self.duplicates = Counter(
            "xorec_duplicate_events", "Events that the log had already.", registry=registry
        )
        self.flush_seconds = Histogram(
            "xorec_flush_seconds",
            "Seconds of a commit of the log.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.group_size = Histogram(
            "xorec_group_events", "Events of a commit.", buckets=_SIZES, registry=registry
        )
        self.sequence = Gauge(
            "xorec_sequence", "Last place in the log.", registry=registry, multiprocess_mode="max"
        )
        self.in_flight = Gauge(
            "xorec_requests_in_flight",
            "Requests that wait or are worked on.",
            registry=registry,
            multiprocess_mode="sum",
        )
        self.generation = Gauge(
            "xorec_generation",
            "Generation that is served.",
            ("model",),
            registry=registry,
            multiprocess_mode="mostrecent",
        )

    def request(self, route: str, method: str, status: int) -> Callable[[float], None]:
        """Where the seconds of such a request are to be counted; look it up once."""
        return self._requests.labels(route, method, str(status)).observe

    def summary(self) -> dict[str, dict[str, float]]:
        """Requests by status: how many, and their seconds in all."""
        found: dict[str, dict[str, float]] = {}
        for sample in next(iter(self._requests.collect())).samples:
            what = sample.name.removeprefix("xorec_request_seconds_")
            if what in ("count", "sum"):
                row = found.setdefault(sample.labels["status"], {"count": 0.0, "seconds": 0.0})
                row["seconds" if what == "sum" else what] += sample.value
        return found

    def text(self) -> bytes:
        """As Prometheus reads it, of all workers."""
        if self._folder is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _get(self, service: Service, call: Call) -> Response:
        return Response(self.text(), headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})

    def routes(self) -> tuple[Route, ...]:
        """GET /metrics."""
        return (
            Route(
                method="GET",
                path="/metrics",
                handler=self._get,
                thread=True,
                limited=False,
                media_type="text/plain",
                tag="health",
                summary="Figures for Prometheus.",
            ),
        )
