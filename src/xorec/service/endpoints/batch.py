"""Many lists in one request, each with its own status."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from xorec.core.errors import OptionError, XorecError
from xorec.service.endpoints.asking import asked_of
from xorec.service.endpoints.lists import make_list, model_for
from xorec.service.events.records import Id
from xorec.service.http.parsing import check_k
from xorec.service.http.problems import http_error_of, status_of
from xorec.service.http.routes import Call, Route
from xorec.service.schemas.lists import (
    BatchAnswer,
    BatchBody,
    BatchResult,
    RecommendAnswer,
    RecommendBody,
)
from xorec.service.service import Service


def post_batch(service: Service, call: Call) -> BatchAnswer:
    """The lists of several queries. distinct: an item stands on the first shelf that wants it."""
    body: BatchBody = call.body
    most = service.config.limits.batch
    if len(body.queries) > most:
        raise OptionError(f"there are {len(body.queries):,} queries: {most:,} at most.")
    results, shown = [], list[Id]()
    for at, raw in enumerate(body.queries):
        try:
            made = _list(service, raw, shown if body.distinct else [])
            made.request_id = f"{call.request_id}.{at}"
            shown += [one.id for one in made.items]
            results.append(BatchResult(status=200, answer=made))
        except ValidationError as error:
            wrong = http_error_of(error, RecommendBody, "the query")
            results.append(BatchResult(status=wrong.status, detail=str(wrong)))
        except XorecError as error:
            results.append(BatchResult(status=status_of(error), detail=str(error)))
    return BatchAnswer(model=service.models.default.ref, results=results)


def _list(service: Service, raw: object, shown: list[Id]) -> RecommendAnswer:
    query = RecommendBody.model_validate(raw)
    live = model_for(service, query.name, query.experiment, query.user)
    asked = asked_of(live, query)
    check_k(asked.k, service.config.limits.k)
    return make_list(live, replace(asked, deny=[*asked.deny, *shown]))


ROUTES = (
    Route(
        method="POST",
        path="/v1/recommend/batch",
        handler=post_batch,
        body=BatchBody,
        answer=BatchAnswer,
        thread=True,
        summary="Up to 1,000 lists, each with its own status; `distinct` for shelves of one page.",
    ),
)
