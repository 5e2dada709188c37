"""Lists that are for everybody: popular, latest and trending items."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import numpy as np

from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.service.endpoints.asking import items_of, one_of
from xorec.service.endpoints.lists import described
from xorec.service.events.records import Id
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import ItemRows, LiveModel
from xorec.service.schemas.lists import Item, RankedAnswer, RankedQuery, TrendingQuery, Where
from xorec.service.service import Service

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def get_popular(service: Service, call: Call) -> RankedAnswer:
    """What most users have, events counted. score: how many."""
    query: RankedQuery = call.query
    live = _live(service, query)
    mask = live.filters.mask(_where(query), _now())
    rows = live.popular(query.k, mask, _out(live, query)).tolist()
    fresh = dict(zip(*(array.tolist() for array in live.fresh_counts()), strict=True))
    counts = [float(live.recommender.item_counts[row] + fresh.get(row, 0)) for row in rows]
    return RankedAnswer(model=live.ref, items=described(live, rows, counts, None))


def get_latest(service: Service, call: Call) -> RankedAnswer:
    """Items by the time at which they became known: items of events and of PUT, then the rest."""
    query: RankedQuery = call.query
    live = _live(service, query)
    infos = service.models.catalogue.infos
    times = {item: info.since for item, info in list(infos.items()) if info.since}
    for item, ts in list(service.models.cold.items()):
        times[item] = max(times.get(item, 0), ts)
    newest = sorted(times, key=lambda item: (-times[item], str(item)))
    last_rows = range(len(live.items) - 1, -1, -1)
    known = (live.item_id(row) for row in last_rows)
    chosen = _choose(service, live, query, [*newest, *_head(known, query.k, set(newest))])
    return RankedAnswer(model=live.ref, items=_said(live, chosen, times))


def get_trending(service: Service, call: Call) -> RankedAnswer:
    """What most users took in the last hours. score: how many events."""
    query: TrendingQuery = call.query
    live = _live(service, query)
    since = _now() - _window(query.window) * 1_000_000
    counts = {item: count for item, count, _ in service.reader.items_since(since)}
    chosen = _choose(service, live, query, list(counts))
    return RankedAnswer(model=live.ref, items=_said(live, chosen, counts))


def _live(service: Service, query: RankedQuery) -> LiveModel:
    return service.models[query.name]


def _now() -> int:
    return time.time_ns() // 1000


def _where(query: RankedQuery) -> Where | None:
    if not query.category and not query.not_category:
        return None
    return Where(any=list(query.category), none=list(query.not_category))


def _out(live: LiveModel, query: RankedQuery) -> ItemRows:
    """Rows that are not to be listed: denied, or the user has them."""
    denied, _ = live.item_rows(items_of(live, query.deny, "deny"))
    if query.user is None:
        return denied
    return np.union1d(denied, live.asker(one_of(live, "user", query.user)).have)


def _choose(service: Service, live: LiveModel, query: RankedQuery, items: Iterable[Id]) -> list[Id]:
    """The first k that may be listed; items that the model does not have count, too."""
    where, now = _where(query), _now()
    mask = live.filters.mask(where, now)
    denied = set(items_of(live, query.deny, "deny"))
    have: set[int] = set()
    own: set[Id] = set()
    if query.user is not None:
        user = one_of(live, "user", query.user)
        have = set(live.asker(user).have.tolist())
        own = {act.item for act in live.recent.of(user)}
    chosen: list[Id] = []
    for item in items:
        if len(chosen) >= query.k:
            break
        row, info = live.item_row(item), service.models.catalogue.get(item)
        if item in denied or item in own or row in have:
            continue
        if row >= 0:
            allowed = bool(mask[row])
        else:
            labels = set(() if info is None else info.categories or ())
            allowed = info is None or info.is_available(now)
            if where is not None:
                wanted = not where.any or bool(labels & set(where.any))
                allowed = allowed and wanted and not labels & set(where.none)
        if allowed:
            chosen.append(item)
    return chosen


def _said(live: LiveModel, items: list[Id], scores: dict[Id, int]) -> list[Item]:
    """The items with their names; score: what they are ranked by, where it is known."""
    made = []
    for item in items:
        row, info = live.item_row(item), live.catalogue.get(item)
        told = None if info is None else info.name
        name = live.item_names([row], [item])[0] if row >= 0 else told
        score = scores.get(item)
        made.append(Item(id=item, name=name, score=None if score is None else float(score)))
    return made


def _head(items: Iterable[Id], k: int, known: set[Id]) -> list[Id]:
    """Enough of them that k are left when some are filtered out; the rest is not looked at."""
    found: list[Id] = []
    for item in items:
        if len(found) >= 10 * k + 100:
            break
        if item not in known:
            found.append(item)
    return found


def _window(text: str) -> int:
    """Seconds: 3600, 90s, 15m, 24h, 7d.

    >>> _window("2h"), _window("45")
    (7200, 45)
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if match is None:
        raise OptionError(f"window is {quoted(text)}: give seconds, or 15m, 24h, 7d.")
    return int(match[1]) * _SECONDS[match[2]]


_TEXT = (
    ("popular", get_popular, RankedQuery, "What most users have."),
    ("latest", get_latest, RankedQuery, "The newest items, also those that no model knows yet."),
    ("trending", get_trending, TrendingQuery, "What most users took in the last hours."),
)
ROUTES = tuple(
    Route(
        method="GET",
        path=f"/v1/{name}",
        handler=handler,
        query=query,
        answer=RankedAnswer,
        thread=True,
        summary=summary,
    )
    for name, handler, query, summary in _TEXT
)
