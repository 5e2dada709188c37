"""The table of routes: those of health, figures and the document, and those of all endpoints."""

from __future__ import annotations

from starlette.responses import Response

from xorec.service.endpoints import model_routes
from xorec.service.http.health import Health
from xorec.service.http.openapi import document_text
from xorec.service.http.routes import Call, Route
from xorec.service.page.files import page_routes
from xorec.service.service import Service
from xorec.service.settings.config import Config
from xorec.service.shards.routes import answered_by
from xorec.service.telemetry.metrics import Metrics


def all_routes(health: Health, metrics: Metrics, config: Config | None = None) -> tuple[Route, ...]:
    """Everything that the service answers. config: some answer less, shards and fronts."""
    answered = model_routes() if config is None else answered_by(config, model_routes())
    routes: list[Route] = [*health.routes(), *metrics.routes(), *page_routes(), *answered]
    text = b""

    def openapi(service: Service, call: Call) -> Response:
        nonlocal text
        text = text or document_text(routes)
        return Response(text, media_type="application/json")

    routes.append(
        Route(
            method="GET",
            path="/openapi.json",
            handler=openapi,
            limited=False,
            tag="health",
            summary="This document.",
        )
    )
    return tuple(routes)
