"""Many lists in one request, each with its own status."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, ValidationError

from xorec.core.errors import OptionError, XorecError
from xorec.service.api.base import Answer, Body
from xorec.service.api.list_request import RecommendBody, request_of
from xorec.service.api.recommend import RecommendAnswer, list_answer, model_for, user_of_body
from xorec.service.http.problems import http_error_of, status_of
from xorec.service.http.routes import Call, Routes
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes("lists")


class BatchBody(Body):
    """Up to 1,000 queries. distinct: no item twice on the page that they are the shelves of."""

    queries: list[Any] = Field(min_length=1, description="Bodies of /v1/recommend.")
    distinct: bool = False


class BatchResult(BaseModel):
    """One query's own status, and its list or what is wrong."""

    status: int
    answer: RecommendAnswer | None = None
    detail: str | None = None


class BatchAnswer(Answer):
    """Results in the order of the queries."""

    results: list[BatchResult]


@ROUTES("POST", "/v1/recommend/batch", body=BatchBody, answer=BatchAnswer, thread=True)
def post_batch(service: Service, call: Call) -> BatchAnswer:
    """Up to 1,000 lists, each with its own status; `distinct` for shelves of one page."""
    body: BatchBody = call.body
    most = service.config.limits.batch
    if len(body.queries) > most:
        raise OptionError(f"there are {len(body.queries):,} queries: {most:,} at most.")
    results, shown = [], list[Id]()
    for at, raw in enumerate(body.queries):
        try:
            query = RecommendBody.model_validate(raw)
            made = _list(service, query, shown if body.distinct else [], f"{call.request_id}.{at}")
            shown += [one.id for one in made.items]
            results.append(BatchResult(status=200, answer=made))
        except ValidationError as error:
            wrong = http_error_of(error, RecommendBody, "the query")
            results.append(BatchResult(status=wrong.status, detail=str(wrong)))
        except XorecError as error:
            results.append(BatchResult(status=status_of(error), detail=str(error)))
    return BatchAnswer(model=service.models.default.ref, results=results)


def _list(
    service: Service, query: RecommendBody, shown: list[Id], request_id: str
) -> RecommendAnswer:
    from xorec.service.http.endpoint import check_k

    user = user_of_body(service, query)
    live = model_for(service, query.name, query.experiment, user)
    request = request_of(live, query, user)
    check_k(request.k, service.config.limits.k)
    return list_answer(live, request.without(shown), request_id)
