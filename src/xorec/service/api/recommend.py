"""Lists: for a user, for a new user with some items, or for both; with all events until now."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from xorec.core.errors import OptionError, UnknownIdError, XorecError
from xorec.service.api.base import Answer, Body, JsonId, Query
from xorec.service.api.experiments import arm_of
from xorec.service.api.list_request import (
    RecommendBody,
    RecommendQuery,
    check_seq,
    request_of,
    user_of,
)
from xorec.service.http.exchange import HANDED_ON, Reply, Request, worker_of
from xorec.service.http.problems import http_error_of, status_of
from xorec.service.http.routes import Routes
from xorec.service.ids import id_of
from xorec.service.live.lists import Item, ListRequest, make_list, query_of
from xorec.service.live.model import LiveModel
from xorec.service.live.state import now_micros
from xorec.service.log.records import Exposure, Id
from xorec.service.service import Service

ROUTES = Routes("lists")


class RecommendAnswer(Answer):
    """A list, best first. unknown: items of the request that the model does not have.

    hint: where one of these looks like several ids, how to give them.
    """

    user: JsonId | None = None
    items: list[Item]
    fallback: Literal["popular"] | None = None
    unknown: list[JsonId] = []
    hint: str | None = None
    experiment: str | None = None
    arm: str | None = None


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


class NextQuery(Query):
    """Go on after a list, without repeats."""

    request_id: str
    k: int | None = Field(None, ge=1)


@ROUTES("GET", "/v1/recommend")
async def get_recommend(
    service: Service, request: Request, query: RecommendQuery
) -> RecommendAnswer:
    """The best items for a user, for a new user with these items, or for both."""
    user = None if query.user is None else user_of(service.models.default, query.user)
    return await _recommend(service, request, query, user)


@ROUTES("POST", "/v1/recommend")
async def post_recommend(
    service: Service, request: Request, body: RecommendBody
) -> RecommendAnswer:
    """The same with every filter."""
    return await _recommend(service, request, body, user_of_body(service, body))


def user_of_body(service: Service, body: RecommendBody) -> Id | None:
    """The user of a body. All models have ids of one type, so the default model can read them."""
    return None if body.user is None else id_of(service.models.default.users, body.user, "user")


def model_for(
    service: Service, name: str | None, experiment: str | None, user: Id | None
) -> LiveModel:
    """The model that answers: by name, by the arm of an experiment, or the default one."""
    if experiment is None:
        return service.models[name]
    if name is not None:
        raise OptionError("give a model or an experiment, not both: an experiment picks the model.")
    return service.models[arm_of(service.models.experiments, experiment, user)]


async def _recommend(
    service: Service, request: Request, asked: RecommendBody | RecommendQuery, user: Id | None
) -> RecommendAnswer:
    """The list, remembered for /v1/next; in an experiment that it was shown is logged."""
    await check_seq(service, asked.seq)
    live = model_for(service, asked.name, asked.experiment, user)
    wanted = request_of(live, asked, user)
    await _count_fresh(live, wanted)
    made = list_answer(live, wanted, request.id)
    shown = _note_shown(service, live, wanted, made)
    service.cursors.remember(request.id, live.name, wanted, shown)
    return made


def _note_shown(
    service: Service, live: LiveModel, wanted: ListRequest, made: RecommendAnswer
) -> list[Id]:
    """The ids of a list. In an experiment that runs, they are logged as shown to the user."""
    shown = [one.id for one in made.items]
    if wanted.experiment is not None:
        made.experiment, made.arm = wanted.experiment, live.name
        runs = service.models.experiments[wanted.experiment].get("active", True)
        if wanted.user is not None and runs:
            about = (made.request_id, wanted.experiment, live.name, wanted.user, shown)
            service.expose(Exposure(*about, now_micros()))
    return shown


async def _count_fresh(live: LiveModel, wanted: ListRequest) -> None:
    """Popular items are ranked with all recent events: they are counted outside of the loop."""
    if live.must_count and query_of(live, wanted)[0].query is None:
        await asyncio.get_running_loop().run_in_executor(None, live.fresh_counts)


def list_answer(live: LiveModel, wanted: ListRequest, request_id: str) -> RecommendAnswer:
    """A list as an answer."""
    made = make_list(live, wanted)
    return RecommendAnswer.model_construct(
        request_id=request_id,
        model=live.ref,
        took_us=0,
        user=wanted.user,
        items=made.items,
        fallback=made.fallback,
        unknown=made.unknown,
        hint=_hint(live, made.unknown),
        experiment=None,
        arm=None,
    )


def _hint(live: LiveModel, unknown: list[Id]) -> str | None:
    """Several known ids with commas between them: a query string names each by itself."""
    for one in unknown:
        parts = one.split(",") if isinstance(one, str) else []
        if len(parts) > 1 and not live.item_rows(parts)[1]:
            return "in a query string give each item by itself: items=a&items=b, not items=a,b"
    return None


@ROUTES("POST", "/v1/recommend/batch", thread=True)
def post_batch(service: Service, request: Request, body: BatchBody) -> BatchAnswer:
    """Up to 1,000 lists, each with its own status; `distinct` for shelves of one page."""
    from xorec.service.http.endpoint import check_k

    most = service.config.limits.batch
    if len(body.queries) > most:
        raise OptionError(f"there are {len(body.queries):,} queries: {most:,} at most.")
    results, shown = [], list[Id]()
    for at, raw in enumerate(body.queries):
        try:
            query = RecommendBody.model_validate(raw)
            user = user_of_body(service, query)
            live = model_for(service, query.name, query.experiment, user)
            check_k(query.k, service.config.limits.k)
            wanted = request_of(live, query, user).without(shown if body.distinct else [])
            made = list_answer(live, wanted, f"{request.id}.{at}")
            shown += _note_shown(service, live, wanted, made)
            results.append(BatchResult(status=200, answer=made))
        except ValidationError as error:
            wrong = http_error_of(error, RecommendBody, "the query")
            results.append(BatchResult(status=wrong.status, detail=str(wrong)))
        except XorecError as error:
            results.append(BatchResult(status=status_of(error), detail=str(error)))
    return BatchAnswer(model=service.models.default.ref, results=results)


@ROUTES("GET", "/v1/next")
async def get_next(service: Service, request: Request, query: NextQuery) -> RecommendAnswer | Reply:
    """Go on after a list, without repeats.

    The worker that made the list remembers it.
    """
    try:
        cursor = service.cursors.get(query.request_id)
    except UnknownIdError:
        reply = await _asked_elsewhere(service, request, query.request_id)
        if reply is None:
            raise
        return reply
    live, wanted = service.models[cursor.model], cursor.request.without(cursor.shown, query.k)
    await _count_fresh(live, wanted)
    made = list_answer(live, wanted, request.id)
    service.cursors.go_on(query.request_id, [one.id for one in made.items])
    return made


async def _asked_elsewhere(service: Service, request: Request, made_by: str) -> Reply | None:
    """The reply of the worker that made the request `made_by`; None where no other knows it.

    Where a client chose the id, all are asked. A request that was handed on is not handed on again.
    """
    peers = service.peers
    if peers is None or HANDED_ON in request.headers:
        return None
    maker = worker_of(made_by)
    others = [one for one in range(peers.count) if one != peers.worker]
    for worker in others if maker is None else [maker] if maker in others else []:
        reply = await peers.ask(worker, request)
        if reply.status != 404:
            return reply
    return None
