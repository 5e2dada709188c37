from __future__ import annotations

import pytest

from xorec.service.telemetry.metrics import Metrics


def test_requests_of_all_routes_are_added_up_by_status() -> None:
    metrics = Metrics()
    for route, status, seconds in (
        ("/v1/recommend", 200, 0.25),
        ("/v1/recommend", 200, 0.5),
        ("/v1/similar", 200, 1.0),
        ("/v1/similar", 404, 2.0),
    ):
        metrics.request(route, "GET", status)(seconds)
    assert metrics.summary() == {
        "200": {"count": 3.0, "seconds": pytest.approx(1.75)},
        "404": {"count": 1.0, "seconds": pytest.approx(2.0)},
    }
