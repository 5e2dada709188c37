"""Users: one with their history, some by letters, and who has an item."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, Field

from xorec.core.errors import OptionError
from xorec.core.printable import jsonable
from xorec.service.api.base import Answer, JsonId, ModelQuery
from xorec.service.api.list_request import item_of, user_of
from xorec.service.http.routes import Routes
from xorec.service.live.model import LiveModel
from xorec.service.live.text_search import find_or_guess
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes("users")


class UserQuery(ModelQuery):
    """A user by id, users whose id has `q` in it, or who has an item."""

    user: str | None = None
    q: str | None = Field(None, max_length=256)
    item: str | None = None
    k: int = Field(20, ge=1)


class UserOut(BaseModel):
    """A user; history: names of what they have, newest events last."""

    id: JsonId
    known: bool = True
    count: int = Field(0, description="Items that they have.")
    history: list[JsonId] | None = None


class UserList(Answer):
    """Users. meant: where none has the letters, up to 5 that have all the words
    or are spelled alike."""

    users: list[UserOut]
    meant: list[UserOut] = []


_MOST_HISTORY = 1000


@ROUTES("GET", "/v1/users", thread=True)
def get_users(service: Service, query: UserQuery) -> UserList:
    """A user with their history, users by some letters of their id, or who has an item."""
    live = service.models[query.name]
    if query.user is not None:
        user = user_of(live, query.user)
        live.require_user(user)
        return UserList(model=live.ref, users=[_user_out(live, user, history=True)])
    if query.item is not None:
        item = item_of(live, query.item)
        live.require_known([item])
        found, meant = _owners_of(live, item, query.k), list[Id]()
    elif query.q is not None:
        found, meant = find_or_guess(live, "user", query.q, query.k)
    else:
        raise OptionError(
            "say whom: give user=ID, or q= for some letters of an id, or item=ID for who has it."
        )
    return UserList(
        model=live.ref,
        users=[_user_out(live, one) for one in found],
        meant=[_user_out(live, one) for one in meant],
    )


def _user_out(live: LiveModel, user: Id, *, history: bool = False) -> UserOut:
    row = live.user_row(user)
    base = live.recommender.items_of(row).tolist() if row >= 0 else []
    acts = live.recent.of(user, live.about.applied_seq)
    ids = live.item_ids(base) if history or acts else []
    owned = set(ids)
    fresh = list(dict.fromkeys(a.item for a in acts if a.value > 0 and a.item not in owned))
    return UserOut(
        id=user,
        known=row >= 0,
        count=len(base) + len(fresh),
        history=[*ids, *fresh][-_MOST_HISTORY:] if history else None,
    )


def _owners_of(live: LiveModel, item: Id, k: int) -> list[Id]:
    """Up to k users who have an item.

    Those who took it since the model was made come first, the newest of them at the head; then
    those of the model, who has most items first.
    """
    fresh = live.recent.takers(item, live.about.applied_seq)
    found: dict[Id, None] = dict.fromkeys(fresh[:k])
    row = live.item_row(item)
    if row < 0 or len(found) >= k:
        return list(found)
    indptr, items = live.recommender.seen
    rows = np.searchsorted(indptr, np.flatnonzero(items == row), side="right") - 1
    order = live.user_rank[rows]
    wanted = k + len(live.erased)  # of whom some may be here
    if len(rows) > wanted:
        rows = rows[np.argpartition(order, wanted)[:wanted]]
    for user_row in rows[np.argsort(live.user_rank[rows])].tolist():
        user = jsonable(live.users[user_row])
        if live.user_row(user) >= 0:
            found[user] = None
        if len(found) >= k:
            break
    return list(found)
