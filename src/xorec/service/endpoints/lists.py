"""Lists: for a user, for somebody new, or for both; as events have it up to this moment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from xorec.core.errors import OptionError, UnknownIdError
from xorec.service.endpoints.asking import Asked, asked_of, asked_of_query, check_seq
from xorec.service.events.records import Exposure, Id
from xorec.service.http.exchange import Reply
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import NOBODY, ItemRows, LiveModel
from xorec.service.live.reasons import reasons
from xorec.service.schemas.lists import (
    Item,
    NextQuery,
    RecommendAnswer,
    RecommendBody,
    RecommendQuery,
)
from xorec.service.service import Service
from xorec.service.workers.forwarding import asked_elsewhere


async def get_recommend(service: Service, call: Call) -> RecommendAnswer:
    """The list of a query string."""
    query: RecommendQuery = call.query
    await check_seq(service, query.seq)
    live = model_for(service, query.name, query.experiment, query.user, text=True)
    asked, front = asked_of_query(live, query), service.front
    made = make_list(live, asked) if front is None else await front.run(make_list, live, asked)
    return answer(service, live, asked, made, call.request_id)


async def post_recommend(service: Service, call: Call) -> RecommendAnswer:
    """The list of a body."""
    body: RecommendBody = call.body
    await check_seq(service, body.seq)
    live = model_for(service, body.name, body.experiment, body.user)
    asked, front = asked_of(live, body), service.front
    made = make_list(live, asked) if front is None else await front.run(make_list, live, asked)
    return answer(service, live, asked, made, call.request_id)


def model_for(
    service: Service, name: str | None, experiment: str | None, user: Any, *, text: bool = False
) -> LiveModel:
    """The model that answers: by name, by the arm of an experiment, or the default one."""
    if experiment is None:
        return service.models[name]
    if name is not None:
        raise OptionError("give a model or an experiment, not both: an experiment picks the model.")
    from xorec.service.experiments import arm_of
    from xorec.service.ids import from_query

    if user is not None and text:
        user = from_query(service.models.default.users, user, "user")
    return service.models[arm_of(service.models.experiments, experiment, user)]


def answer(
    service: Service, live: LiveModel, asked: Asked, made: RecommendAnswer, request_id: str
) -> RecommendAnswer:
    """The list, and what has to be remembered of it."""
    made.request_id = request_id
    shown = [one.id for one in made.items]
    service.pages.remember(request_id, live.name, asked, shown)
    if asked.experiment is not None:
        made.experiment, made.arm = asked.experiment, live.name
        if asked.user is not None:
            now = time.time_ns() // 1000
            exposure = Exposure(request_id, asked.experiment, live.name, asked.user, shown, now)
            service.expose(exposure)
    return made


def make_list(live: LiveModel, asked: Asked) -> RecommendAnswer:
    """The k best items that may be shown; popular ones where nothing is known of the asker."""
    items, unknown = live.item_rows(asked.items)
    asker = NOBODY if asked.user is None else live.asker(asked.user)
    if len(items):
        asker = live.somebody(asker, items)
    deny = None
    if asked.deny:
        deny, _ = live.item_rows(asked.deny)
    fallback = None
    if asker.query is None:
        out = asker.have[:0] if asked.seen else asker.have
        out = out if deny is None else np.union1d(out, deny)
        rows, scores, distances = _popular(live, asked, out)
        fallback = "popular"
    else:
        allow = None
        if asked.allow is not None or asked.where is not None or live.catalogue.infos:
            allowed = None if asked.allow is None else live.item_rows(asked.allow)[0]
            allow = live.filters.prepared(asked.where, allowed, _now())
        hits = live.search(asker, asked.k, allow, deny, asked.seen)
        count = int(hits.counts[0])
        rows, scores = hits.items[0, :count].tolist(), hits.scores[0, :count].tolist()
        distances = None if hits.distances is None else hits.distances[0, :count].tolist()
    listed = described(live, rows, scores, distances)
    if asked.explain and fallback is None:
        for row, item in zip(rows, listed, strict=True):
            item.because = reasons(live, asker, row)
    return RecommendAnswer.model_construct(
        request_id="",
        model=live.ref,
        took_us=0,
        user=asked.user,
        items=listed,
        fallback=fallback,
        unknown=unknown,
        hint=_hint(live, unknown),
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


def _now() -> int:
    return time.time_ns() // 1000


def _popular(live: LiveModel, asked: Asked, out: ItemRows) -> tuple[list[int], list[float], None]:
    mask = None
    if asked.where is not None or asked.allow is not None or live.catalogue.infos:
        mask = live.filters.mask(asked.where, _now())
        if asked.allow is not None:
            only = np.zeros_like(mask)
            only[live.item_rows(asked.allow)[0]] = True
            mask &= only
    rows = live.popular(asked.k, mask, out).tolist()
    return rows, [float(live.recommender.item_counts[row]) for row in rows], None


def described(
    live: LiveModel, rows: list[int], scores: list[float], distances: list[int] | None
) -> list[Item]:
    """Items of a list, with the names that they have now."""
    ids = live.item_ids(rows)
    names = live.item_names(rows, ids)
    missing: list[Any] = [None] * len(rows)
    return [
        Item(i, n, d, s)
        for i, n, d, s in zip(ids, names, distances or missing, scores, strict=True)
    ]


async def get_next(service: Service, call: Call) -> RecommendAnswer | Reply:
    """Go on after a list, without repeats; the worker that made it remembers it."""
    query: NextQuery = call.query
    try:
        page = service.pages.get(query.request_id)
    except UnknownIdError:
        reply = await asked_elsewhere(service, call, query.request_id)
        if reply is None:
            raise
        return reply
    live = service.models[page.model]
    asked, front = page.asked.without(page.shown, query.k), service.front
    made = make_list(live, asked) if front is None else await front.run(make_list, live, asked)
    made.request_id = call.request_id
    shown: list[Id] = [one.id for one in made.items]
    service.pages.go_on(query.request_id, shown)
    return made


ROUTES = (
    Route(
        method="GET",
        path="/v1/recommend",
        handler=get_recommend,
        query=RecommendQuery,
        answer=RecommendAnswer,
        summary="The best items for a user, for somebody who has some items, or for both.",
    ),
    Route(
        method="POST",
        path="/v1/recommend",
        handler=post_recommend,
        body=RecommendBody,
        answer=RecommendAnswer,
        summary="The same with every filter.",
    ),
    Route(
        method="GET",
        path="/v1/next",
        handler=get_next,
        query=NextQuery,
        answer=RecommendAnswer,
        summary="Go on after a list, without repeats.",
    ),
)
