"""Lists of a live model: what is asked for, the items as events have it now, and what was shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.search.top_k import top_k_row
from xorec.service.ids import JsonId
from xorec.service.live.filters import Conditions
from xorec.service.live.model import LiveModel, QueryUser
from xorec.service.log.records import Id

_REASONS = 3
_MOST_CURSORS = 20_000
"""Lists that a worker remembers."""
_MOST_BYTES = 32_000_000
"""What the ids of these lists may take; the oldest are forgotten."""
_MOST_SHOWN = 100_000
"""Items that one request may page through."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What list is asked for. Ids are as JSON has them; deny also holds what was shown already."""

    user: Id | None
    items: Sequence[Id] = ()
    k: int = 10
    seen: bool = False
    allow: Sequence[Id] | None = None
    deny: Sequence[Id] = ()
    where: Conditions | None = None
    experiment: str | None = None
    explain: bool = False

    def without(self, shown: Sequence[Id], k: int | None = None) -> ListRequest:
        """The same request, without the items that were shown."""
        return replace(self, deny=[*self.deny, *shown], k=k or self.k)


@dataclass(slots=True)
class Reason:
    """One of the user's own items that speaks for an item."""

    id: JsonId
    name: str | None = None
    score: float | None = None


@dataclass(slots=True)
class Item:
    """One item of a list. No pydantic model: making ten of these takes longer than finding them."""

    id: JsonId
    name: str | None = None
    distance: int | None = None
    score: float | None = None
    because: list[Reason] | None = None


class MadeList(NamedTuple):
    """items: best first. unknown: items of the request that the model does not have."""

    items: list[Item]
    fallback: Literal["popular"] | None
    unknown: list[Id]


def query_of(live: LiveModel, request: ListRequest) -> tuple[QueryUser, list[Id]]:
    """The user of a request with the items given besides, and those that the model lacks."""
    items, unknown = live.item_rows(request.items)
    return live.with_items(live.query_user(request.user), items), unknown


def make_list(live: LiveModel, request: ListRequest) -> MadeList:
    """The k best items that may be listed; popular items for a user of whom nothing is known."""
    user, unknown = query_of(live, request)
    deny = live.item_rows(request.deny)[0] if request.deny else None
    allow = None if request.allow is None else live.item_rows(request.allow)[0]
    if user.query is None:
        hidden = user.have[:0] if request.seen else user.have
        hidden = hidden if deny is None else np.union1d(hidden, deny)
        popular = live.popular(request.k, live.filters.mask(request.where, allow), hidden)
        counts = live.recommender.item_counts[popular].astype(float).tolist()
        return MadeList(describe(live, popular.tolist(), counts), "popular", unknown)
    prepared = live.filters.prepared(request.where, allow)
    hits = live.search(user, request.k, prepared, deny, request.seen)
    rows, scores = hits.row(0)
    distances = None if hits.distances is None else hits.distances[0, : len(rows)].tolist()
    listed = describe(live, rows.tolist(), scores.tolist(), distances)
    if request.explain:
        for row, item in zip(rows.tolist(), listed, strict=True):
            item.because = _reasons(live, user, row)
    return MadeList(listed, None, unknown)


def describe(
    live: LiveModel, rows: list[int], scores: list[float], distances: list[int] | None = None
) -> list[Item]:
    """Items of a list, with the names that they have now."""
    ids = live.item_ids(rows)
    names = live.item_names(rows, ids)
    missing: list[Any] = [None] * len(rows)
    return list(map(Item, ids, names, distances or missing, scores))


def _reasons(live: LiveModel, user: QueryUser, row: int) -> list[Reason]:
    """Up to three of the user's own items, the one most like the item at `row` first."""
    learned, own = live.recommender.representation, user.positive
    if not learned.compares_items or not len(own):
        return []
    ranks = live.recommender.tie_rank[own]
    near, likeness = top_k_row(learned.likeness(own, row), _REASONS, ranks)
    rows = own[near].tolist()
    ids = live.item_ids(rows)
    return list(map(Reason, ids, live.item_names(rows, ids), likeness.tolist()))


class ListCursor(NamedTuple):
    """A list that was shown, with everything shown after it."""

    model: str
    request: ListRequest
    shown: list[Id]

    @property
    def nbytes(self) -> int:
        """What its ids take, about."""
        asked = self.request
        parts = (asked.items, asked.allow or (), asked.deny, self.shown)
        return sum(80 + (len(one) if isinstance(one, str) else 0) for ids in parts for one in ids)


class ListCursors:
    """The last lists of a worker by request id, so that /v1/next goes on without repeats."""

    def __init__(self) -> None:
        self._cursors: OrderedDict[str, tuple[ListCursor, int]] = OrderedDict()
        self._nbytes = 0

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._cursors

    def remember(self, request_id: str, model: str, request: ListRequest, shown: list[Id]) -> None:
        self._put(request_id, ListCursor(model, request, shown))

    def _put(self, request_id: str, cursor: ListCursor) -> None:
        self._drop(request_id)
        self._cursors[request_id] = cursor, cursor.nbytes
        self._nbytes += cursor.nbytes
        while len(self._cursors) > _MOST_CURSORS or (
            self._nbytes > _MOST_BYTES and len(self._cursors) > 1
        ):
            self._drop(next(iter(self._cursors)))

    def _drop(self, request_id: str) -> None:
        _, nbytes = self._cursors.pop(request_id, (None, 0))
        self._nbytes -= nbytes

    def get(self, request_id: str) -> ListCursor:
        """The list of a request; UnknownIdError where it is too old or was never made."""
        cursor, _ = self._cursors.get(request_id, (None, 0))
        if cursor is None:
            raise UnknownIdError(
                f"no list of request {quoted(request_id)} is remembered: ask /v1/recommend again."
            )
        if len(cursor.shown) >= _MOST_SHOWN:
            raise OptionError(f"this list has shown {_MOST_SHOWN:,} items: it does not go on.")
        return cursor

    def go_on(self, request_id: str, shown: list[Id]) -> None:
        cursor = self.get(request_id)
        self._put(request_id, cursor._replace(shown=[*cursor.shown, *shown]))

    def forget(self, user: Id) -> None:
        for request_id, (cursor, _) in list(self._cursors.items()):
            if cursor.request.user == user:
                self._drop(request_id)
