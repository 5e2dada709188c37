"""All routes, and those that need no model: health, version, metrics, the OpenAPI document."""

from __future__ import annotations

import json
import platform
from typing import Literal

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel

import xorec
from xorec.service.api import (
    codes,
    compare,
    events,
    experiments,
    items,
    map,
    models,
    popular,
    recommend,
    similar,
    snapshots,
    stats,
    users,
)
from xorec.service.http.app import WorkerHealth
from xorec.service.http.exchange import Reply
from xorec.service.http.openapi import document
from xorec.service.http.problems import busy
from xorec.service.http.routes import Route, Routes
from xorec.service.metrics import Metrics
from xorec.service.page.files import page_routes
from xorec.service.service import Service

_RESOURCES = (
    *(recommend, similar, popular, events, items, users, codes),
    *(models, experiments, snapshots, stats, compare, map),
)


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Models are loaded, the log is replayed, kernels are warm."""

    status: Literal["ready"] = "ready"


class Version(BaseModel):
    """What runs."""

    version: str
    python: str


def health_routes(health: WorkerHealth, metrics: Metrics) -> Routes:
    """Routes that need no model."""
    routes = Routes("health")

    @routes("GET", "/livez", role="open", limited=False)
    def livez(service: Service) -> Alive:
        """Whether the process answers."""
        return Alive()

    @routes("GET", "/readyz", answer=Ready, role="open", limited=False)
    def readyz(service: Service) -> Ready:
        """Whether requests will be answered: 503 before and after that."""
        if health.state != "ready":
            raise busy(f"the service is {health.state}.")
        return Ready()

    @routes("GET", "/version", answer=Version, limited=False)
    def version(service: Service) -> Version:
        """Which version runs."""
        return Version(version=xorec.__version__, python=platform.python_version())

    @routes("GET", "/metrics", thread=True, limited=False, media_type="text/plain")
    def prometheus(service: Service) -> Reply:
        """Figures for Prometheus."""
        return Reply(200, metrics.text(), CONTENT_TYPE_PLAIN_0_0_4)

    return routes


def all_routes(health: WorkerHealth, metrics: Metrics) -> tuple[Route, ...]:
    """Everything that the service answers."""
    routes, text = health_routes(health, metrics), b""

    @routes("GET", "/openapi.json", limited=False)
    def openapi(service: Service) -> Reply:
        """This document."""
        nonlocal text
        text = text or json.dumps(document(every), ensure_ascii=False).encode()
        return Reply(200, text)

    resources = (route for file in _RESOURCES for route in file.ROUTES)
    every = (*routes, *page_routes(), *resources)
    return every
