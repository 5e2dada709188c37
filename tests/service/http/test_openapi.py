"""The document: whole, true to the routes, and what schemathesis sends is answered as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi

from tests.support.service_process import RunningService, running_service
from xorec.service.api.health import all_routes
from xorec.service.http.app import WorkerHealth
from xorec.service.http.openapi import document
from xorec.service.metrics import Metrics
from xorec.testing.data import planted


def made() -> dict[str, Any]:
    return document(all_routes(WorkerHealth(), Metrics()))


def test_every_route_is_in_it_once() -> None:
    routes = all_routes(WorkerHealth(), Metrics())
    paths = made()["paths"]
    assert {(path, method) for path, methods in paths.items() for method in methods} == {
        (route.path, route.method.lower()) for route in routes if route.documented
    }
    names = [one["operationId"] for methods in paths.values() for one in methods.values()]
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere() -> None:
    whole = made()
    known = {f"#/components/schemas/{name}" for name in whole["components"]["schemas"]}
    found = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(whole)))
    assert found
    assert found <= known


def test_names_are_those_of_requests() -> None:
    get = made()["paths"]["/v1/recommend"]["get"]
    names = {one["name"]: one for one in get["parameters"]}
    assert "model" in names
    assert "name" not in names
    assert names["deny"]["schema"]["type"] == "array"
    assert names["user"]["schema"] == {"type": "string"}
    assert {"401", "403", "404", "422", "503"} <= set(get["responses"])
    assert get["security"] == [{"bearer": []}, {"key": []}, {}]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    import xorec

    folder: Path = tmp_path_factory.mktemp("openapi")
    data = planted(60, 40)
    recommender = xorec.Recommender.from_model(xorec.BPR(epochs=1).fit(data), data)
    recommender.save(folder / "shop.xorec")
    with running_service(folder / "shop.xorec", folder / "data") as service:
        yield service


CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_schema_conformance,
]
NOT_HERE = ("/v1/live", "/v1/refit", "/v1/snapshots")
"""One never ends, the others start child processes or write large files."""
OPERATIONS = [
    (path, method)
    for path, methods in made()["paths"].items()
    for method in methods
    if path not in NOT_HERE
]


@pytest.fixture(scope="module")
def served(running: RunningService) -> Any:
    return schemathesis.openapi.from_url(f"{running.base_url}/openapi.json")


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_answers_are_as_the_document_says(served: Any, path: str, method: str) -> None:
    operation = served[path][method.upper()]

    @settings(max_examples=12, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        response = case.call(timeout=120)
        case.validate_response(response, checks=CHECKS)

    ask()


def test_the_service_lives_after_all_that(running: RunningService) -> None:
    assert httpx.get(f"{running.base_url}/readyz", timeout=120).status_code == 200
    assert "Traceback" not in running.errors
