"""The table of routes: those of health, figures and the document, and those of all endpoints."""

from __future__ import annotations

from starlette.responses import Response

from xorec.service.endpoints import model_routes
from xorec.service.health import Health
from xorec.service.metrics import Metrics
from xorec.service.openapi import document_text
from xorec.service.page.files import page_routes
from xorec.service.routes import Call, Route
from xorec.service.service import Service


def all_routes(health: Health, metrics: Metrics) -> tuple[Route, ...]:
    """Everything that the service answers."""
    routes: list[Route] = [*health.routes(), *metrics.routes(), *page_routes(), *model_routes()]
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
