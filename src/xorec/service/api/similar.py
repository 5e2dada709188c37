"""Similar items, similar users, and why an item is recommended."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.recommender.similarity import explain
from xorec.service.api.base import Answer, Count, FilterQuery, JsonId, ModelQuery
from xorec.service.api.list_request import (
    check_seq,
    item_of,
    items_of,
    user_of,
)
from xorec.service.http.routes import Routes
from xorec.service.live.lists import Item, describe
from xorec.service.service import Service

ROUTES = Routes("lists")


class SimilarQuery(FilterQuery):
    """Items like an item."""

    item: str
    allow: tuple[str, ...] | None = None


class SimilarAnswer(Answer):
    """Items like an item, most similar first."""

    item: JsonId
    items: list[Item]


class SimilarUsersQuery(ModelQuery):
    """Users like a user."""

    user: str
    k: Count = 10


class User(BaseModel):
    """One user of a list."""

    id: JsonId
    distance: int | None = None
    score: float | None = None


class SimilarUsersAnswer(Answer):
    """Users like a user, most similar first."""

    user: JsonId
    users: list[User]


class ExplainQuery(ModelQuery):
    """Why this item for this user, or for a new user with these items."""

    item: str
    user: str | None = None
    items: tuple[str, ...] = ()
    k: Count = 5
    seq: int | None = Field(None, ge=0)


class ExplainAnswer(Answer):
    """What speaks for the item."""

    user: JsonId | None = None
    item: JsonId
    explanation: dict[str, Any]


@ROUTES("GET", "/v1/similar")
def get_similar(service: Service, query: SimilarQuery) -> SimilarAnswer:
    """The items most like one."""
    live = service.models[query.name]
    item = item_of(live, query.item)
    row = live.require_item(item)
    where = query.where
    near = live.recommender.item_neighbours
    only = allow = None
    if query.allow is not None:
        only = live.item_rows(items_of(live, query.allow, "allow"))[0]
    if where is not None or only is not None or live.catalogue.infos:
        allow = np.flatnonzero(live.filters.mask(where, only))
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
    found = describe(live, rows.tolist(), scores.tolist(), distances)
    return SimilarAnswer(model=live.ref, item=item, items=found)


@ROUTES("GET", "/v1/similar-users", thread=True)
def get_similar_users(service: Service, query: SimilarUsersQuery) -> SimilarUsersAnswer:
    """The users most like one."""
    live = service.models[query.name]
    user = user_of(live, query.user)
    if live.user_row(user) < 0:
        live.require_user(user)
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


@ROUTES("GET", "/v1/explain")
async def get_explain(service: Service, query: ExplainQuery) -> ExplainAnswer:
    """Why an item is recommended: score, rank, and the own items that speak for it."""
    await check_seq(service, query.seq)
    live = service.models[query.name]
    row = live.require_item(item_of(live, query.item))
    user = None if query.user is None else user_of(live, query.user)
    rows, _ = live.item_rows(items_of(live, query.items, "items"))
    found = live.with_items(live.query_user(user), rows)
    if found.query is None:
        if user is None:
            raise OptionError("say for whom: give user=ID, or items=ID that the model has.")
        live.require_user(user)
        raise UnknownIdError(f"nothing is known of user {quoted(user)} that this model has.")
    whom = user if user is not None else query.items
    told = explain(live.recommender, whom, found.query, found.have, row, query.k)
    return ExplainAnswer(
        model=live.ref, user=user, item=live.item_id(row), explanation=told.to_dict()
    )
