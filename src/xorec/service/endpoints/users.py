"""Users: one with their history, some by letters, and who has an item."""

from __future__ import annotations

from xorec.core.errors import OptionError
from xorec.service.endpoints.asking import one_of
from xorec.service.endpoints.catalogue import is_known
from xorec.service.events.records import Id
from xorec.service.http.routes import Call, Route
from xorec.service.live.finding import find_ids
from xorec.service.live.meant import meant_ids
from xorec.service.live.model import LiveModel
from xorec.service.live.models import require_user
from xorec.service.live.owners import owners_of
from xorec.service.schemas.catalogue import MOST_MEANT, UserList, UserOut, UserQuery
from xorec.service.service import Service

_MOST_HISTORY = 1000


def get_users(service: Service, call: Call) -> UserList:
    """One user with their history, those whose id has some letters in it, or who has an item."""
    query: UserQuery = call.query
    live = service.models[query.name]
    if query.user is not None:
        user = one_of(live, "user", query.user)
        require_user(live, user)
        return UserList(model=live.ref, users=[_user_out(live, user, history=True)])
    if query.item is not None:
        item = one_of(live, "item", query.item)
        if not is_known(service, live, item):
            live.require_item(item)
        found, meant = owners_of(live, item, query.k), []
    elif query.q is not None:
        found = find_ids(live, "user", query.q, query.k)
        meant = [] if found else meant_ids(live, "user", query.q, min(query.k, MOST_MEANT))
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


ROUTES = (
    Route(
        method="GET",
        path="/v1/users",
        handler=get_users,
        query=UserQuery,
        answer=UserList,
        thread=True,
        tag="users",
        summary="A user with their history, users by some letters of their id, or who has an item.",
    ),
)
