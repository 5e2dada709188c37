"""The API: one file for each resource, with its schemas, handlers and routes."""

from __future__ import annotations

from xorec.service.http.routes import Route


def model_routes() -> tuple[Route, ...]:
    """Routes of all resources that work with models and log: a line for each file."""
    from xorec.service.api import (
        batch,
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

    files = (
        *(recommend, batch, similar, popular, events, items, users, codes),
        *(models, experiments, snapshots, stats, compare, map),
    )
    return tuple(route for file in files for route in file.ROUTES)
