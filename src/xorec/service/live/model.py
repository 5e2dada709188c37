"""LiveModel: a served generation with everything that happened since; and the map of its items."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import UnknownIdError
from xorec.core.printable import jsonable, quoted
from xorec.core.progress import logged
from xorec.core.threads import lazy_property
from xorec.data.ids import Ids
from xorec.recommender.item_map import layout_of, principal_places
from xorec.recommender.recommender import Recommender
from xorec.search.hits import Hits
from xorec.service.ids import PLAIN_KINDS, raw_id
from xorec.service.live.filters import CategoryCounts, ItemFilters
from xorec.service.live.generations import Generation
from xorec.service.live.state import Act, ModelRef, NotReadyError, SharedState
from xorec.service.log.records import Id

_MAP_WAIT = 1.0
"""Seconds that a request waits for a map that is being made."""


class ItemMap:
    """Positions of all items, by row: out of the file, or made once, in the background. layout: how
    they were made."""

    def __init__(self, recommender: Recommender) -> None:
        self._recommender = recommender
        self.layout = layout_of(recommender) or "pca"
        self._made: Future[npt.NDArray[np.int16]] | None = None
        self._lock = threading.Lock()

    def places(self, wait: float = _MAP_WAIT) -> npt.NDArray[np.int16]:
        """Two numbers an item (m, 2); 503 while they are being made."""
        if self._recommender.map_xy is not None:
            return self._recommender.map_xy
        with self._lock:
            if self._made is None:
                self._made = Future()
                threading.Thread(target=self._make, args=[self._made], daemon=True).start()
        try:
            return self._made.result(wait)
        except TimeoutError:
            raise NotReadyError(
                "the map is being made: ask again. `xorec map` keeps one in the file."
            ) from None

    def _make(self, made: Future[npt.NDArray[np.int16]]) -> None:
        try:
            with logged("map", items=len(self._recommender.item_ids)):
                made.set_result(principal_places(self._recommender))
        except Exception as failure:
            made.set_exception(failure)


ItemRows = npt.NDArray[np.integer]
UserRows = npt.NDArray[np.int32]
_NO_ROWS = np.zeros(0, dtype=np.int32)
_MOST_FOLDED = 2_000
"""Users with events whose queries are kept: the oldest go, and are folded in when they come."""


class QueryUser(NamedTuple):
    """The user a list is for. query: None where nothing is known. have: rows, ascending."""

    query: Any
    have: ItemRows
    positive: ItemRows
    """Those of `have` that the query was made of."""


ANONYMOUS = QueryUser(None, _NO_ROWS, _NO_ROWS)
"""A user of whom nothing is known."""


class LiveModel:
    """A generation that answers. It is replaced as a whole; what happened since is shared."""

    def __init__(
        self, name: str, about: Generation, recommender: Recommender, state: SharedState
    ) -> None:
        self.name, self.about, self.recommender = name, about, recommender
        self.recent, self.catalogue = state.recent, state.catalogue
        self.erased, self.cold = state.erased, state.cold
        self.filters = ItemFilters(recommender, state.catalogue)
        self.categories = CategoryCounts(recommender.categories, state.catalogue, self.item_row)
        self.ref = ModelRef(name=name, generation=about.number, digest=about.digest)
        self.search_boxes: dict[str, Any] = {}
        """What `live.text_search` keeps for this generation."""
        self._folded: OrderedDict[Id, tuple[int, QueryUser]] = OrderedDict()
        self._counted: tuple[float, tuple[ItemRows, ItemRows]] = -np.inf, (_NO_ROWS, _NO_ROWS)

    # -- ids

    @property
    def users(self) -> Ids:
        return self.recommender.user_ids

    @property
    def items(self) -> Ids:
        return self.recommender.item_ids

    def user_row(self, user: Id) -> int:
        """The row of a user, or -1."""
        if self.erased and self.erased.get(user, 0) > self.about.erased_seq:
            return -1
        return self.users.find(raw_id(self.users, user))

    def item_row(self, item: Id) -> int:
        """The row of an item, or -1."""
        return self.items.find(raw_id(self.items, item))

    def item_rows(self, items: Sequence[Id]) -> tuple[npt.NDArray[np.int64], list[Id]]:
        """The rows of the items that are known, in their order, and the items that are not."""
        if not items:
            return np.zeros(0, dtype=np.int64), []
        ids = self.items
        rows = ids.find_many(
            items if ids.kind in PLAIN_KINDS else [raw_id(ids, one) for one in items]
        )
        known = rows >= 0
        if known.all():
            return rows, []
        return rows[known], [items[at] for at in np.flatnonzero(~known).tolist()]

    # -- people

    def query_user(self, user: Id | None) -> QueryUser:
        """A user as of the last event; None: a user without an id."""
        if user is None:
            return ANONYMOUS
        if self.recent.last_of(user) > self.about.applied_seq:
            return self._with_events(user)
        row = self.user_row(user)
        if row < 0:
            return ANONYMOUS
        have = self.recommender.items_of(row)
        return QueryUser(self.recommender.representation.queries(np.array([row])), have, have)

    def with_items(self, user: QueryUser, items: ItemRows) -> QueryUser:
        """The user with `items` besides their own: folded in."""
        if not len(items):
            return user
        positive = np.union1d(user.positive, items).astype(np.int32)
        have = np.union1d(user.have, items).astype(np.int32)
        return QueryUser(self.recommender.fold_in_rows(positive), have, positive)

    def _with_events(self, user: Id) -> QueryUser:
        """A user with events since the generation; folded in when first asked for after one."""
        last, kept = self.recent.last_of(user), self._folded.get(user)
        if kept is not None and kept[0] == last and kept[0] > self.erased.get(user, 0):
            return kept[1]
        acts = self.recent.of(user, self.about.applied_seq)
        found = self._folded_in(user, acts)
        self._folded[user] = acts[-1].seq if acts else 0, found
        if len(self._folded) > _MOST_FOLDED:
            self._folded.popitem(last=False)
        return found

    def query_user_before(self, user: Id, seq: int) -> QueryUser:
        """A user as of the last event before a seq of the log."""
        acts = self.recent.of(user, self.about.applied_seq)
        return self._folded_in(user, [act for act in acts if act.seq < seq])

    def _folded_in(self, user: Id, acts: Sequence[Act]) -> QueryUser:
        """A user of the generation, or a new one, who has done this."""
        row = self.user_row(user)
        base = self.recommender.items_of(row) if row >= 0 else _NO_ROWS
        liked, _ = self.item_rows([act.item for act in acts if act.value > 0])
        hidden, _ = self.item_rows([act.item for act in acts if act.value <= 0])
        positive = np.union1d(base, liked).astype(np.int32)
        have = np.union1d(positive, hidden).astype(np.int32) if len(hidden) else positive
        if len(positive) > len(base):
            query = self.recommender.fold_in_rows(positive)
        elif row >= 0:
            query = self.recommender.representation.queries(np.array([row]))
        else:
            query = None
        return QueryUser(query, have, positive)

    def forget(self, user: Id) -> None:
        """Keep nothing of a user that was erased."""
        self._folded.pop(user, None)

    # -- lists

    def search(
        self, user: QueryUser, k: int, allow: Any, deny: ItemRows | None, seen: bool = False
    ) -> Hits:
        """The k best items for a user, by rows. allow: as `filters.prepared` gives it."""
        exclude = _NO_ROWS if seen else user.have
        return self.recommender.index.search(
            user.query,
            min(k, len(self.items)),
            exclude=(np.array([0, len(exclude)]), exclude),
            allow=allow,
            deny=deny,
        )

    def popular(self, k: int, mask: npt.NDArray[np.bool_] | None, out: ItemRows) -> ItemRows:
        """Rows of the items that most users have, events counted; ties by rule. out: not these."""
        rows, counts = self.fresh_counts()
        order = self.item_order
        head = order[: 4 * (k + len(out)) + 100]
        for candidates in (head, order):
            open_ = ~np.isin(candidates, out) if len(out) else np.ones(len(candidates), np.bool_)
            if mask is not None:
                open_ &= mask[candidates]
            best = candidates[open_][:k]
            if len(best) == k or len(candidates) == len(order):
                break
        rising = rows if mask is None else rows[mask[rows]]
        both = np.union1d(best, np.setdiff1d(rising, out))
        taken = self.recommender.item_counts[both].astype(np.int64)
        taken[np.searchsorted(both, rows[np.isin(rows, both)])] += counts[np.isin(rows, both)]
        return both[np.lexsort((self.recommender.tie_rank[both], -taken))][:k]

    @property
    def must_count(self) -> bool:
        """Whether `fresh_counts` would look at all recent events: do that in a thread."""
        return (
            self.recent.last_seq > self.about.applied_seq
            and time.monotonic() - self._counted[0] > 1
        )

    def fresh_counts(self) -> tuple[ItemRows, ItemRows]:
        """Rows of items that users took since the generation, ascending, and how many did.

        Counted at most once a second.
        """
        now = time.monotonic()
        if now - self._counted[0] > 1:
            fresh = self.recent.item_counts(self.about.applied_seq)
            known = {self.item_row(item): count for item, count in fresh.items()}
            known.pop(-1, None)
            rows = np.array(sorted(known), dtype=np.int64)
            counts = np.array([known[row] for row in rows.tolist()], dtype=np.int64)
            self._counted = now, (rows, counts)
        return self._counted[1]

    @lazy_property
    def item_order(self) -> npt.NDArray[np.int64]:
        """Rows of items, what most users have first."""
        return np.argsort(self.recommender.tie_rank, kind="stable")

    @lazy_property
    def item_map(self) -> ItemMap:
        return ItemMap(self.recommender)

    @lazy_property
    def user_order(self) -> UserRows:
        """Rows of users, who has most items first; equals as they stand in the model."""
        counts = np.diff(self.recommender.seen[0])
        return np.argsort(-counts, kind="stable").astype(np.int32)

    @lazy_property
    def user_rank(self) -> UserRows:
        rank = np.empty(len(self.users), dtype=np.int32)
        rank[self.user_order] = np.arange(len(rank), dtype=np.int32)
        return rank

    # -- words

    def item_id(self, row: int) -> Id:
        """The id of a row, as JSON has it."""
        return jsonable(self.items[int(row)])

    def item_ids(self, rows: Sequence[int]) -> list[Id]:
        """The ids of rows, as JSON has them."""
        ids = self.items.take(rows)
        return ids if self.items.kind in PLAIN_KINDS else [str(one) for one in ids]

    def item_names(self, rows: Sequence[int], ids: Sequence[Id]) -> list[str | None]:
        """Their names: what was said last."""
        names = self.recommender.names
        known: list[Any] = [None] * len(rows) if names is None else names.strings(rows)
        infos = self.catalogue.infos
        if not infos:
            return known
        return [
            info.name if (info := infos.get(one)) is not None and info.name is not None else name
            for one, name in zip(ids, known, strict=True)
        ]

    def name_of(self, item: Id) -> str | None:
        """The name of an item that the model has or that was named since."""
        row, info = self.item_row(item), self.catalogue.get(item)
        if row >= 0:
            return self.item_names([row], [item])[0]
        return None if info is None else info.name

    def is_known(self, item: Id) -> bool:
        """Whether the model has an item, or something was said of it, or an event named it."""
        return self.item_row(item) >= 0 or item in self.catalogue.infos or item in self.cold

    def require_known(self, items: Sequence[Id]) -> None:
        """UnknownIdError for the first item that is not known."""
        for item in items:
            if not self.is_known(item):
                self.require_item(item)

    def require_user(self, user: Id) -> None:
        """UnknownIdError where neither the model nor the log knows a user."""
        if self.user_row(user) < 0 and not self.recent.of(user):
            raise UnknownIdError(
                f"user {quoted(user)} is unknown: the model does not have it, and no event "
                "named it."
            )

    def require_item(self, item: Id) -> int:
        """The row of an item; UnknownIdError where there is none."""
        row = self.item_row(item)
        if row < 0:
            self.recommender.item_rows([raw_id(self.items, item)])  # says so, with a hint
            raise UnknownIdError(f"item {item!r} is not in the model.")
        return row
