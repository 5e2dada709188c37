"""The OpenAPI 3.1 document, made from the table of routes: what is checked is what is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

import xorec
from xorec.service.api.base import Problem
from xorec.service.http.routes import Route

Json = dict[str, Any]
_REF = "#/components/schemas/{model}"
_WHY = {
    400: "What was sent is no JSON, or no text.",
    401: "A key is needed, or is not known.",
    403: "The key may not do that.",
    404: "Unknown user, item, model or task.",
    409: "Conflicts with an existing resource.",
    413: "The body is too long.",
    415: "The body is of another type.",
    421: "This service does not go by that name.",
    422: "A value that cannot be taken: `detail` names it.",
    500: "The service failed: its log has more under the request_id.",
    503: "Not ready, or too many requests: come again after `Retry-After` seconds.",
    507: "There is no room on the disk.",
}


def document(routes: Iterable[Route]) -> Json:
    """All operations with their queries, bodies, answers and problems."""
    every = tuple(route for route in routes if route.documented)
    inputs = [(model, "validation") for route in every for model in route.bodies]
    outputs = [(route.answer, "serialization") for route in every if route.answer is not None]
    wanted: list[Any] = list(dict.fromkeys([*inputs, *outputs, (Problem, "serialization")]))
    schemas, definitions = models_json_schema(wanted, by_alias=True, ref_template=_REF)
    paths: dict[str, Json] = {}
    for route in every:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "xorec",
            "version": xorec.__version__,
            "summary": "Recommendations at the speed of XOR.",
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _operation(route: Route, schemas: Any) -> Json:
    operation: Json = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_')}",
        "summary": route.summary,
        "tags": [route.tag],
        "responses": _responses(route, schemas),
    }
    if route.query is not None:
        operation["parameters"] = list(_parameters(route.query))
    if route.bodies:
        operation["requestBody"] = _body(route, schemas)
    if route.role != "open":
        operation["security"] = [{"bearer": []}, {"key": []}, {}]
        operation["description"] = f"With keys: one for {route.role} at least."
    return operation


def _parameters(query: type[BaseModel]) -> Iterable[Json]:
    schema = query.model_json_schema(by_alias=True, ref_template=_REF)
    needed = schema.get("required", ())
    for name, about in schema.get("properties", {}).items():
        shown = {key: value for key, value in about.items() if key != "title"}
        parameter = {"name": name, "in": "query", "required": name in needed}
        if "description" in shown:
            parameter["description"] = shown.pop("description")
        yield {**parameter, "schema": _without_null(shown)}


def _without_null(schema: Json) -> Json:
    """A query string has no null: what may be missing is just not there."""
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    rest = {
        key: value
        for key, value in schema.items()
        if key != "anyOf" and not (key == "default" and value is None)
    }
    if "anyOf" not in schema:
        return rest
    return {**rest, **options[0]} if len(options) == 1 else {**rest, "anyOf": options}


def _body(route: Route, schemas: Any) -> Json:
    shapes = [schemas[model, "validation"] for model in route.bodies]
    schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    content: Json = {"application/json": {"schema": schema}}
    if route.ndjson:
        content["application/x-ndjson"] = {"schema": {"type": "string"}}
    needed = all(
        any(field.is_required() for field in model.model_fields.values()) for model in route.bodies
    )
    return {"required": needed, "content": content}


def _responses(route: Route, schemas: Any) -> Json:
    good: Json = {"description": "As asked."}
    if route.answer is not None:
        shape = schemas[route.answer, "serialization"]
        good["content"] = {"application/json": {"schema": shape}}
    else:
        kind = {"type": "string"} if route.media_type != "application/json" else {}
        good["content"] = {route.media_type: {"schema": kind}}
    if route.also is not None:
        good["content"][route.also] = {}
    problem = {"schema": schemas[Problem, "serialization"]}
    responses: Json = {str(route.status): good}
    for status in _problems(route):
        responses[str(status)] = {
            "description": _WHY[status],
            "content": {"application/problem+json": problem},
        }
    return responses


def _problems(route: Route) -> list[int]:
    """The statuses that can come of a route."""
    cases = (
        (route.role != "open", {401, 403}),
        (route.query is not None or route.bodies, {400}),
        (route.limited, {404, 409, 503}),
        (route.path == "/readyz", {503}),
        (route.method in ("POST", "PUT", "PATCH"), {413}),
        (route.bodies, {415}),
        (route.writer, {507}),
    )
    return sorted({421, 422, 500}.union(*(statuses for holds, statuses in cases if holds)))
