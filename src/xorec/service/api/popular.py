"""Lists that are for everybody: popular, latest and trending items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain, islice

import numpy as np
from pydantic import Field

from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.service.api.base import Answer, FilterQuery
from xorec.service.api.list_request import items_of, user_of
from xorec.service.http.routes import Routes
from xorec.service.live.lists import Item, describe
from xorec.service.live.model import LiveModel
from xorec.service.live.state import now_micros
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes()


class RankedQuery(FilterQuery):
    """Popular, latest or trending items."""

    user: str | None = Field(None, description="Without what this user has.")


class TrendingQuery(RankedQuery):
    """window: seconds, or 90s, 15m, 24h, 7d."""

    window: str = "24h"


class RankedAnswer(Answer):
    """Items with what they are ranked by: counts, or times."""

    items: list[Item]


_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


@ROUTES("GET", "/v1/popular", thread=True)
def get_popular(service: Service, query: RankedQuery) -> RankedAnswer:
    """What most users have.

    Recent events count; score: how many users.
    """
    live = service.models[query.name]
    hidden, _ = live.item_rows(items_of(live, query.deny, "deny"))
    if query.user is not None:
        hidden = np.union1d(hidden, live.query_user(user_of(live, query.user)).have)
    mask = live.filters.mask(query.where)
    rows = live.popular(query.k, mask, hidden).tolist()
    fresh = dict(zip(*(array.tolist() for array in live.fresh_counts()), strict=True))
    counts = [float(live.recommender.item_counts[row] + fresh.get(row, 0)) for row in rows]
    return RankedAnswer(model=live.ref, items=describe(live, rows, counts))


@ROUTES("GET", "/v1/latest", thread=True)
def get_latest(service: Service, query: RankedQuery) -> RankedAnswer:
    """The newest items, also those that no model knows yet.

    First items of events and of PUT by the time at which they became known, then the rest.
    """
    live = service.models[query.name]
    infos = service.models.catalogue.infos
    times = {item: info.since for item, info in list(infos.items()) if info.since}
    for item, ts in list(service.models.cold.items()):
        times[item] = max(times.get(item, 0), ts)
    newest = sorted(times, key=lambda item: (-times[item], str(item)))
    others = (
        item for row in reversed(range(len(live.items))) if (item := live.item_id(row)) not in times
    )
    enough = islice(others, 10 * query.k + 100)  # so that k are left when some are filtered out
    return _answer(live, query, chain(newest, enough), times)


@ROUTES("GET", "/v1/trending", thread=True)
def get_trending(service: Service, query: TrendingQuery) -> RankedAnswer:
    """What most users took in the last hours.

    score: how many events.
    """
    since = now_micros() - _window(query.window) * 1_000_000
    counts = {item: count for item, count, _ in service.reader.items_since(since)}
    return _answer(service.models[query.name], query, counts, counts)


def _answer(
    live: LiveModel, query: RankedQuery, items: Iterable[Id], scores: Mapping[Id, int]
) -> RankedAnswer:
    """The first k that may be listed, also of those that the model does not have, with names.
    scores: what they are ranked by, if known."""
    where, now = query.where, now_micros()
    mask = live.filters.mask(where, now=now)
    denied = set(items_of(live, query.deny, "deny"))
    have: set[int] = set()
    own: set[Id] = set()
    if query.user is not None:
        user = user_of(live, query.user)
        have = set(live.query_user(user).have.tolist())
        own = {act.item for act in live.recent.of(user)}

    def may_come(item: Id) -> bool:
        row, info = live.item_row(item), live.catalogue.get(item)
        if item in denied or item in own or row in have:
            return False
        if row >= 0:
            return bool(mask[row])
        labels = set(() if info is None else info.categories or ())
        if where is not None:
            wanted = not where.any or labels & set(where.any)
            if not wanted or labels & set(where.none):
                return False
        return info is None or info.is_available(now)

    made = []
    for item in islice(filter(may_come, items), query.k):
        score = scores.get(item)
        made.append(Item(item, live.name_of(item), score=None if score is None else float(score)))
    return RankedAnswer(model=live.ref, items=made)


_LONGEST = 10**11
"""Seconds: longer than all of time that can be written."""


def _window(text: str) -> int:
    """Seconds: 3600, 90s, 15m, 24h, 7d.

    >>> _window("2h"), _window("45")
    (7200, 45)
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if match is None:
        raise OptionError(f"window is {quoted(text)}: give seconds, or 15m, 24h, 7d.")
    return min(int(match[1]) * _SECONDS[match[2]], _LONGEST)
