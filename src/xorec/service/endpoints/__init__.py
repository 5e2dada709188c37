"""What each route does: a validated request in, an answer out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xorec.service.http.routes import Route


def model_routes() -> tuple[Route, ...]:
    """Routes of all endpoints that work with models and log: a line for each file."""
    from xorec.service.endpoints import (
        admin,
        alike,
        batch,
        catalogue,
        categories,
        codes,
        comparing,
        events,
        experiments,
        figures,
        lists,
        map,
        ranked,
        shards,
        snapshots,
        stats,
        users,
    )

    files = (
        *(lists, batch, alike, ranked, events, catalogue, users, categories, codes),
        *(admin, experiments, snapshots, figures, stats, comparing, map, shards),
    )
    return tuple(route for file in files for route in file.ROUTES)
