"""Recommender: what people use. Raw ids in, small results out; threads may share it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.progress import logged
from xorec.recommender.results import (
    ItemFilter,
    Kind,
    RecommendationLists,
    Recommendations,
    Recommended,
)
from xorec.recommender.state import Allow, ItemRows, RecommenderState, as_list

if TYPE_CHECKING:
    from xorec.recommender.similarity import Explanation
    from xorec.search.hits import Hits

__all__ = ["RecommendationLists", "Recommendations", "Recommended", "Recommender"]

Deny = Iterable[Hashable]
_SCORED_AT_ONCE = 256
"""Users whose scores of all items are in memory at a time."""


def _renamed(old: str, new: str) -> Any:
    """A property that has the value of `new`, and says that it is called so now."""

    def value(self: Recommender) -> Any:
        warnings.warn(
            f"Recommender.{old} is called {new} now; the old name goes in 0.4.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(self, new)

    return property(value, doc=f"`{new}`, by its older name.")


class Recommender(RecommenderState):
    """What people use: `recommend`, `similar`, `explain`, `fold_in`, `update`, `save`, `load`.

    What was learned is in `item_vectors`, `item_codes`, `item_ids` and their like.
    It never changes, and the indexes that it searches by are made once, when they are first
    needed: threads may share it.

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "milk"), ("cem", "tea")]
    >>> data = xorec.read([*pairs, ("dia", "rice"), ("dia", "tea")])
    >>> shop = xorec.Recommender.from_model(xorec.ItemKNN().fit(data), data)
    >>> shop
    Recommender(item-knn, 4 users x 3 items, 124 bytes)
    >>> shop.recommend("cem", k=1)
    for user cem:
    rank  item   score
       1  milk  0.7071

    Raw ids and rows, as the arrays have them:

    >>> shop.user_row("cem"), shop.user_rows(["ann", "cem"]), shop.item_rows(["tea"])
    (2, array([0, 2]), array([2]))
    >>> shop.item_ids.take(shop.items_of(0)), list(shop.user_ids) == list(data.users)
    (['milk', 'tea'], True)
    >>> starts, rows = shop.items_of_many(shop.user_rows(["cem", "ann"]))
    >>> starts, shop.item_ids.take(rows)
    (array([0, 1, 3]), ['tea', 'milk', 'tea'])
    >>> shop.describe(shop.item_rows(["milk"]), np.array([0.5]))[0].id
    'milk'

    What is below it: the settings of the model, and the indexes.

    >>> shop.model(), shop.metadata["data"]["pairs"]
    (ItemKNN(neighbours=100, shrink=0.0), 7)
    >>> hits = shop.index.search(shop.fold_in_rows(shop.item_rows(["rice"])), k=1)
    >>> hits.items, shop.searched_by(shop.index).index is shop.index
    (array([[2]], dtype=int32), True)
    >>> shop.item_neighbours.nearest(shop.item_rows(["milk"]), k=1).items
    array([[2]], dtype=int32)
    """

    def __repr__(self) -> str:
        return (
            f"Recommender({self.metadata.get('model', '?')}, {len(self.user_ids):,} users x "
            f"{len(self.item_ids):,} items, {self.representation.nbytes:,} bytes)"
        )

    @overload
    def recommend(
        self,
        user: Hashable,
        k: int = 10,
        *,
        seen: bool = False,
        allow: Allow = None,
        deny: Deny = (),
    ) -> Recommendations: ...

    @overload
    def recommend(
        self,
        user: Iterable[Hashable],
        k: int = 10,
        *,
        seen: bool = False,
        allow: Allow = None,
        deny: Deny = (),
    ) -> RecommendationLists: ...

    def recommend(
        self,
        user: Hashable | Iterable[Hashable],
        k: int = 10,
        *,
        seen: bool = False,
        allow: Allow = None,
        deny: Deny = (),
    ) -> Recommendations | RecommendationLists:
        """The `k` best items for a known user, without the ones they have unless `seen`.

        user: an id; or a list, an array or a series of ids, for a list of lists
        (`recommend_many`). allow: only these items may come (ids, or an `item_filter`); deny: these
        may not.

        >>> from xorec.testing.examples import shop
        >>> shop().recommend("cem", allow=["rice", "tea"]).ids()
        ['rice']
        >>> shop().recommend(["ann", "cem"], k=1).ids()
        [['rice'], ['milk']]
        """
        users, several = as_list(user)
        if several:
            return self.recommend_many(users, k, seen=seen, allow=allow, deny=deny)
        row = self.user_row(users[0])
        user_items = self.items_of(row)
        query = self.representation.queries(np.array([row]))
        return self._best(users[0], query, k, user_items[:0] if seen else user_items, allow, deny)

    def recommend_many(
        self,
        users: Iterable[Hashable],
        k: int = 10,
        *,
        seen: bool = False,
        allow: Allow = None,
        deny: Deny = (),
        threads: int | None = None,
    ) -> RecommendationLists:
        """`recommend` for many known users, by one search: what a job or a service calls.

        threads: at most this many; None takes every core that this process may use. The lists do
        not depend on it. Scores of float vectors may differ from `recommend` in the last digit.

        >>> from xorec.testing.examples import shop
        >>> [best.ids() for best in shop().recommend_many(["ann", "dia"], k=1)]
        [['rice'], ['milk']]
        """
        from xorec.core.options import RunOptions

        wanted, k = list(users), positive_int(k)
        count = RunOptions(threads=threads).thread_count
        rows = self.user_rows(wanted)
        if not wanted:
            return RecommendationLists()
        hits = self.index.search(
            self.representation.queries(rows),
            k,
            exclude=None if seen else self.items_of_many(rows),
            allow=self._allowed_rows(allow),
            deny=self.item_rows(deny),
            threads=count,
        )
        return self._lists(wanted, hits)

    def recommend_for(
        self, history: Sequence[Hashable], k: int = 10, *, allow: Allow = None, deny: Deny = ()
    ) -> Recommendations:
        """The `k` best items for a new user who has the items `history`, without a refit.

        >>> from xorec.testing.examples import shop
        >>> shop().recommend_for(["rice"], k=1).ids()
        ['tea']
        """
        rows = self.item_rows(history)
        query = self.fold_in_rows(rows)
        return self._best(list(history), query, k, np.unique(rows), allow, deny)

    def fold_in(self, history: Sequence[Hashable]) -> Any:
        """The query (vector, code, row) of a new user who has the items `history`.

        >>> from xorec.testing.examples import shop
        >>> shop().representation.score(shop().fold_in(["rice"])).shape
        (1, 3)
        """
        return self.fold_in_rows(self.item_rows(history))

    def scores(
        self, user: Hashable | Iterable[Hashable], items: Iterable[Hashable] | None = None
    ) -> npt.NDArray[np.float32]:
        """What the model gives to items for a known user, also to those they have: (items,).

        user: an id; or a list, an array or a series of ids, for (users, items). items: ids; None
        takes all, as `item_ids` has them. Higher ranks first; what the number is tells
        `representation.score_description`.

        >>> from xorec.testing.examples import shop
        >>> shop().scores("cem", ["rice", "milk"])
        array([0.5       , 0.70710677], dtype=float32)
        """
        users, several = as_list(user)
        rows = self.user_rows(users)
        columns = np.arange(len(self.item_ids)) if items is None else self.item_rows(items)
        scores = np.empty((len(rows), len(columns)), dtype=np.float32)
        for start in range(0, len(rows), _SCORED_AT_ONCE):
            block = slice(start, start + _SCORED_AT_ONCE)
            scores[block] = self.representation.scores(rows[block])[:, columns]
        return scores if several else scores[0]

    def popular(self, k: int = 10, *, allow: Allow = None, deny: Deny = ()) -> Recommendations:
        """The `k` items that most users have: for a user of whom nothing is known.

        The score is the number of users. allow, deny: as in `recommend`.

        >>> from xorec.testing.examples import shop
        >>> shop().popular(2)
        for user everybody:
        rank  item   score
           1  tea   4.0000
           2  milk  2.0000
        """
        order = np.lexsort((self.tie_rank, -self.item_counts))
        if allow is not None:
            rows = allow.rows if isinstance(allow, ItemFilter) else self.item_rows(allow)
            order = order[np.isin(order, rows)]
        rows = order[~np.isin(order, self.item_rows(deny))][: positive_int(k)]
        return Recommendations("everybody", self.describe(rows, self.item_counts[rows]))

    @overload
    def similar(
        self, item: Hashable, k: int = 10, *, allow: Allow = None, deny: Deny = ()
    ) -> Recommendations: ...

    @overload
    def similar(
        self, item: Iterable[Hashable], k: int = 10, *, allow: Allow = None, deny: Deny = ()
    ) -> RecommendationLists: ...

    def similar(
        self,
        item: Hashable | Iterable[Hashable],
        k: int = 10,
        *,
        allow: Allow = None,
        deny: Deny = (),
    ) -> Recommendations | RecommendationLists:
        """The `k` items most like this one.

        item: an id; or a list, an array or a series of ids, for a list of lists. allow, deny: as
        in `recommend`. What goes with several items together is `recommend_for`.

        >>> from xorec.testing.examples import shop
        >>> shop().similar("milk", k=1).ids()
        ['tea']
        >>> shop().similar(["milk", "rice"], k=1, deny=["tea"]).ids()
        [['rice'], ['milk']]
        """
        items, several = as_list(item)
        rows, near = self.item_rows(items), self.item_neighbours
        if not items:
            return RecommendationLists()
        allowed = self._allowed_rows(allow, near.index)
        hits = near.nearest(rows, k, allow=allowed, deny=self.item_rows(deny))
        lists = self._lists(items, hits, "item")
        return lists if several else lists[0]

    def similar_users(self, user: Hashable, k: int = 10) -> Recommendations:
        """The `k` users most like this one: of models with vectors or codes.

        >>> import xorec
        >>> data = xorec.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "milk")])
        >>> shop = xorec.Recommender.from_model(xorec.BPR(epochs=2).fit(data), data)
        >>> shop.similar_users("ann").ids()
        ['bob']
        """
        hits = self.user_neighbours.nearest(np.array([self.user_row(user)]), k)
        return self._lists([user], hits, "user", "user")[0]

    def explain(self, user: Hashable, item: Hashable, k: int = 5) -> Explanation:
        """Why a known user is offered this item: score, rank, and their `k` items most like it.

        >>> from xorec.testing.examples import shop
        >>> why = shop().explain("cem", "milk")
        >>> why.rank, why.because[0].id
        (1, 'tea')
        """
        from xorec.recommender.similarity import explain

        row, (at,) = self.user_row(user), self.item_rows([item])
        query = self.representation.queries(np.array([row]))
        return explain(self, user, query, self.items_of(row), int(at), k)

    def explain_for(self, history: Sequence[Hashable], item: Hashable, k: int = 5) -> Explanation:
        """`explain` for a new user who has the items `history`.

        >>> from xorec.testing.examples import shop
        >>> shop().explain_for(["rice"], "tea").score_description
        "the sum of what each of the user's items says for the item"
        """
        from xorec.recommender.similarity import explain

        rows, (at,) = self.item_rows(history), self.item_rows([item])
        return explain(self, list(history), self.fold_in_rows(rows), np.unique(rows), int(at), k)

    def update(self, new: Any) -> Recommender:
        """A recommender that has the new interactions too: refreshed where they are.

        new: Interactions, or what `xorec.read` takes: a frame, rows of pairs, a path.
        Users and items that are new get rows behind the others; this recommender stays as it is.

        >>> import xorec
        >>> pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "rice")]
        >>> data = xorec.read(pairs)
        >>> shop = xorec.Recommender.from_model(xorec.ALS(dimensions=2, epochs=2).fit(data), data)
        >>> len(shop.update([("cem", "tea")]).user_ids)
        3
        """
        from xorec.data.io.read import as_interactions
        from xorec.recommender.updating import update

        new = as_interactions(new, "the update")
        with logged("update", pairs=new.n_pairs) as log:
            after = update(self, new)
            log |= {"users": len(after.user_ids), "items": len(after.item_ids)}
        return after

    def warm_up(self, k: int = 10) -> Self:
        """Make the indexes and run each kind of query once, so that no request waits for it.

        What `similar_users` searches by is made when that is first called.

        >>> from xorec.testing.examples import shop
        >>> shop().warm_up().recommend("cem", k=1).ids()
        ['milk']
        """
        if len(self.user_ids) and len(self.item_ids):
            user, item = self.user_ids[0], self.item_ids[0]
            self.recommend(user, k)
            self.recommend_many([user, user], k, threads=1)
            self.recommend_for([item], k)
            if self.representation.compares_items:
                self.similar(item, k)
        return self

    def save(self, path: str | Path, *, index: bool | None = None) -> None:
        """Write the model file, whole or not at all; wait for another process that writes it.

        To change a file that others may change too, load, update and save it inside
        `with xorec.core.locks.locked(path):`.

        index: keep the search index in it too; None does so from 10,000 items on, where making it
        again takes longer than reading it.

        >>> from xorec.testing.examples import shop
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shop().save(f"{folder}/shop.xorec")
        ...     Recommender.load(f"{folder}/shop.xorec")
        Recommender(item-knn, 4 users x 3 items, 124 bytes)
        """
        from xorec.core.locks import locked
        from xorec.recommender import model_file

        if index is None:
            index = len(self.item_ids) >= model_file.INDEX_FROM
        with logged("save", path=str(path), items=len(self.item_ids)), locked(path):
            model_file.save(Path(path), self, self.index.tensors() if index else {})

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        verify: bool | None = None,
        key: str | Path | None = None,
        threads: int | None = None,
        index: bool = True,
    ) -> Recommender:
        """Open a model file, memory-mapped.

        The first time all its bytes are compared with its digest and all its values are checked;
        after that a stamp says so until the file changes (see `docs/security.md`). verify: True
        does both in any case; False leaves out the digest, never the checks. key: a public key (the
        file NAME.pub) that the file must be signed with. threads: see `RecommenderState`. index:
        False leaves out the index that the file may have.

        >>> Recommender.load("no-such-file.xorec")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        xorec.core.errors.ModelFileError: there is no model file no-such-file.xorec: ...
        """
        from xorec.recommender import model_file

        with logged("load", path=str(path)) as log:
            made, found = model_file.load(
                cls, Path(path), verify, key=key, threads=threads, index=index
            )
            log |= {"users": len(made.user_ids), "items": len(made.item_ids)}
        return made if found is None else made.searched_by(found)

    def sharded(self, shards: int | Sequence[int]) -> Self:
        """Deprecated, goes in 0.4: returns this recommender, since one index gives the same lists.

        >>> import warnings
        >>> from xorec.testing.examples import shop
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     shop().sharded(2).recommend("cem", k=1).ids()
        ['milk']
        """
        warnings.warn(
            "Recommender.sharded is deprecated and goes in 0.4: one index gives the same lists.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self

    users = _renamed("users", "user_ids")
    items = _renamed("items", "item_ids")
    prior = _renamed("prior", "item_counts")
    places = _renamed("places", "map_xy")
    facts = _renamed("facts", "metadata")
    only = _renamed("only", "item_filter")

    def _best(
        self, query_id: Any, query: Any, k: int, exclude: ItemRows, allow: Allow, deny: Deny
    ) -> Recommendations:
        """The best items of one query, without the rows `exclude` (ascending)."""
        hits = self.index.search(
            query,
            positive_int(k),
            exclude=(np.array([0, len(exclude)]), exclude),
            allow=self._allowed_rows(allow),
            deny=self.item_rows(deny),
        )
        return self._lists([query_id], hits)[0]

    def _lists(
        self, queries: list[Any], hits: Hits, query_kind: Kind = "user", item_kind: Kind = "item"
    ) -> RecommendationLists:
        """The hits as lists, one for each query."""

        def described(b: int) -> tuple[Recommended, ...]:
            rows, scores = hits.row(b)
            distances = None if hits.distances is None else hits.distances[b, : len(rows)]
            return self.describe(rows, scores, distances, item_kind)

        return RecommendationLists(
            Recommendations(query, described(b), query_kind, item_kind)
            for b, query in enumerate(queries)
        )
