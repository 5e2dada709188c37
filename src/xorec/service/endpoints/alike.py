"""Similar items, similar users, and why an item is recommended."""

from __future__ import annotations

import time

import numpy as np

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.recommender.similarity import explain
from xorec.service.endpoints.asking import check_seq, items_of, one_of
from xorec.service.endpoints.lists import described
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import NOBODY
from xorec.service.live.models import require_user
from xorec.service.schemas.lists import (
    ExplainAnswer,
    ExplainQuery,
    SimilarAnswer,
    SimilarQuery,
    SimilarUsersAnswer,
    SimilarUsersQuery,
    User,
    Where,
)
from xorec.service.service import Service
from xorec.service.shards.opening import require_shared


def get_similar(service: Service, call: Call) -> SimilarAnswer:
    """The items most like one, of those that may be listed."""
    query: SimilarQuery = call.query
    live = service.models[query.name]
    item = one_of(live, "item", query.item)
    row = live.require_item(item)
    where = None
    if query.category or query.not_category:
        where = Where(any=list(query.category), none=list(query.not_category))
    if service.front is not None:
        require_shared(live.recommender)
    near = live.recommender.item_neighbours
    allow = None
    if where is not None or query.allow is not None or live.catalogue.infos:
        mask = live.filters.mask(where, time.time_ns() // 1000)
        if query.allow is not None:
            only = np.zeros_like(mask)
            only[live.item_rows(items_of(live, query.allow, "allow"))[0]] = True
            mask &= only
        allow = np.flatnonzero(mask)
    deny, _ = live.item_rows(items_of(live, query.deny, "deny"))
    hits = near.index.search(
        near.representation.queries(np.array([row])),
        min(query.k, len(live.items)),
        exclude=(np.array([0, 1]), np.array([row], dtype=np.int32)),
        allow=allow,
        deny=deny,
    )
    rows, scores = hits.row(0)
    distances = None if hits.distances is None else hits.distances[0, : len(rows)].tolist()
    found = described(live, rows.tolist(), scores.tolist(), distances)
    return SimilarAnswer(model=live.ref, item=item, items=found)


def get_similar_users(service: Service, call: Call) -> SimilarUsersAnswer:
    """The users most like one."""
    query: SimilarUsersQuery = call.query
    live = service.models[query.name]
    user = one_of(live, "user", query.user)
    if live.user_row(user) < 0:
        require_user(live, user)
        raise UnknownIdError(
            f"user {quoted(user)} came after the model was made: ask again after the next update."
        )
    gone = sum(1 for one in live.erased if live.user_row(one) < 0)
    k = min(query.k + gone, max(1, len(live.users) - 1))
    found = live.recommender.similar_users(live.users.parse(str(user)), k)
    users = [
        User(id=one["id"], distance=one["distance"], score=one["score"])
        for one in found.to_dict()["users"]
        if not gone or live.user_row(one["id"]) >= 0
    ]
    return SimilarUsersAnswer(model=live.ref, user=user, users=users[: query.k])


async def get_explain(service: Service, call: Call) -> ExplainAnswer:
    """What speaks for an item: score, rank, the asker's own items that are most like it."""
    query: ExplainQuery = call.query
    await check_seq(service, query.seq)
    live = service.models[query.name]
    row = live.require_item(one_of(live, "item", query.item))
    asker, user = NOBODY, None
    if query.user is not None:
        user = one_of(live, "user", query.user)
        asker = live.asker(user)
    if query.items:
        rows, _ = live.item_rows(items_of(live, query.items, "items"))
        asker = live.somebody(asker, rows)
    if asker.query is None:
        if user is None:
            raise OptionError("say for whom: give user=ID, or items=ID that the model has.")
        require_user(live, user)
        raise UnknownIdError(f"nothing is known of user {quoted(user)} that this model has.")
    whom = user if user is not None else query.items
    told = explain(live.recommender, whom, asker.query, asker.have, row, query.k)
    return ExplainAnswer(
        model=live.ref, user=user, item=live.item_id(row), explanation=told.to_dict()
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/similar",
        handler=get_similar,
        query=SimilarQuery,
        answer=SimilarAnswer,
        summary="The items most like one.",
    ),
    Route(
        method="GET",
        path="/v1/similar-users",
        handler=get_similar_users,
        query=SimilarUsersQuery,
        answer=SimilarUsersAnswer,
        thread=True,
        summary="The users most like one.",
    ),
    Route(
        method="GET",
        path="/v1/explain",
        handler=get_explain,
        query=ExplainQuery,
        answer=ExplainAnswer,
        summary="Why an item is recommended: score, rank, and the own items that speak for it.",
    ),
)
