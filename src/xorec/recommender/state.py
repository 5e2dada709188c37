"""RecommenderState: what a recommender is made of and its model file has, and its indexes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.core.progress import logged
from xorec.core.threads import lazy_property
from xorec.data.categories import Categories
from xorec.data.ids import Ids, near_id
from xorec.data.text import Text, gather_spans
from xorec.recommender.results import ItemFilter, Kind, Recommended
from xorec.representations.base import Representation
from xorec.representations.learned_arrays import LearnedArrays

if TYPE_CHECKING:
    from xorec.data.interactions import Interactions
    from xorec.models.base import Model
    from xorec.recommender.similarity import SimilarityIndex
    from xorec.search.index import Index

Allow = Iterable[Hashable] | ItemFilter | None
ItemRows = npt.NDArray[np.integer]
Seen = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
"""(indptr, items): the user at row u has `items[indptr[u]:indptr[u + 1]]`, ascending."""


@dataclass(frozen=True, eq=False, repr=False)
class RecommenderState(LearnedArrays):
    """A representation with the ids, seen items and tie order around it. Never changes.

    user_ids, item_ids: the raw ids, by row. seen: each user's training items. item_counts
    (n_items,): how many users have an item. tie_rank (n_items,): the order of items of equal score.
    metadata: what the model file says of itself: model, config, seed, data digest, codes. map_xy
    (n_items, 2): the points of the items on the map that `xorec map` made; metadata["map"] says
    how. threads: at most this many make an index or merge pairs; None takes every core that this
    process may use.
    """

    representation: Representation
    _: KW_ONLY
    user_ids: Ids
    item_ids: Ids
    seen: Seen
    item_counts: npt.NDArray[np.int64]
    tie_rank: npt.NDArray[np.int32]
    names: Text | None = None
    categories: Categories | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    map_xy: npt.NDArray[np.int16] | None = None
    threads: int | None = None

    @classmethod
    def from_model(cls, model: Model[Any], train: Any, *, seed: int = 0, **metadata: Any) -> Self:
        """From a fitted model and the data it was fitted on; `metadata` goes into the model file.

        train: Interactions, or what `fit` took: a frame, a SciPy matrix, rows of pairs, a path.

        >>> import xorec
        >>> data = xorec.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> xorec.Recommender.from_model(xorec.Popularity().fit(data), data)
        Recommender(popularity, 2 users x 2 items, 16 bytes)
        """
        from xorec.data.io.read import as_interactions
        from xorec.data.tie_rank import tie_rank

        train = as_interactions(train, "the training part")
        if train.users != model.user_ids or train.items != model.item_ids:
            raise DataError(
                f"the model was fitted on {len(model.user_ids):,} users and "
                f"{len(model.item_ids):,} items, the data has {train.n_users:,} and "
                f"{train.n_items:,}, or others: give the data of the fit."
            )
        return cls(
            model.representation_,
            user_ids=train.users,
            item_ids=train.items,
            seen=(train.indptr, train.indices),
            item_counts=train.item_counts,
            tie_rank=tie_rank(train.items, train.item_counts),
            names=train.names,
            categories=train.categories,
            metadata={
                "model": model.name,
                "config": model.config.model_dump(),
                "seed": seed,
                "data": data_facts(train),
                **model.representation_.metadata(),
                **metadata,
            },
        )

    def _learned(self) -> Representation:
        return self.representation

    def model(self) -> Model[Any]:
        """The model with its settings, for folding in and updates; it has learned nothing."""
        from xorec.models import model_class

        made: Model[Any] = model_class(self.metadata["model"])(**self.metadata["config"])
        return made

    @cached_property
    def _folding_model(self) -> Model[Any]:
        """Made once: checking its settings takes as long as folding in a user."""
        return self.model()

    def fold_in_rows(self, rows: ItemRows) -> Any:
        """The query of a new user who has the items at `rows`."""
        if not len(rows):
            raise OptionError("a new user needs at least one item: the list is empty.")
        return self._folding_model.fold_in(self.representation, rows)

    def user_row(self, user: Hashable) -> int:
        """The row of a raw id."""
        row = self.user_ids.find(user)
        if row < 0:
            raise self._unknown_user(user)
        return row

    def user_rows(self, users: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """The rows of raw ids."""
        wanted = list(users)
        rows = self.user_ids.find_many(wanted)
        if len(rows) and rows.min() < 0:
            raise self._unknown_user(wanted[int(np.argmin(rows))])
        return rows

    def item_rows(self, items: Iterable[Hashable]) -> npt.NDArray[np.int64]:
        """The rows of raw ids."""
        if isinstance(items, (str, bytes)):
            raise OptionError(f"a list of items is asked for: give [{items!r}], not {items!r}.")
        wanted = list(items)
        rows = self.item_ids.find_many(wanted)
        if len(rows) and rows.min() < 0:
            missing = wanted[int(np.argmin(rows))]
            hint = _meant(self.item_ids, missing) or "it was not in the training data."
            typical = self.item_ids[len(self.item_ids) // 2]  # the first is often odd
            raise UnknownIdError(
                f"item {quoted(missing)} is not in the model: {hint} Ids look like "
                f"{quoted(typical)}."
            )
        return rows

    def items_of(self, user_row: int) -> npt.NDArray[np.int32]:
        """The rows of the items that a user has, ascending."""
        indptr, items = self.seen
        return items[indptr[user_row] : indptr[user_row + 1]]

    def items_of_many(self, user_rows: npt.NDArray[np.integer]) -> Seen:
        """`seen` of some users, in their order."""
        indptr, items = self.seen
        at, starts = gather_spans(indptr, user_rows)
        return starts, items[at]

    def searched_by(self, index: Index) -> Self:
        """The same with another index of the same items."""
        made = replace(self)
        vars(made)["index"] = index  # what the lazy property would make
        return made

    @lazy_property
    def index(self) -> Index:
        """The exact search over all items; made when it is first needed, or kept in the file."""
        from xorec.search.index import index_of

        with logged("index", items=len(self.item_ids)):
            return index_of(self.representation, self.tie_rank, threads=self.threads)

    @lazy_property
    def item_neighbours(self) -> SimilarityIndex:
        """The search for similar items."""
        from xorec.recommender.similarity import SimilarityIndex

        return SimilarityIndex.of_items(self)

    @lazy_property
    def user_neighbours(self) -> SimilarityIndex:
        """The search for similar users, where the model has vectors or codes.

        >>> import xorec
        >>> data = xorec.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "milk")])
        >>> shop = xorec.Recommender.from_model(xorec.ALS(epochs=1).fit(data), data)
        >>> shop.user_neighbours.nearest(shop.user_rows(["ann"]), k=1).items
        array([[1]], dtype=int32)
        """
        from xorec.recommender.similarity import SimilarityIndex

        with logged("index of users", users=len(self.user_ids)):
            return SimilarityIndex.of_users(self)

    def item_filter(self, items: Iterable[Hashable]) -> ItemFilter:
        """Prepare a choice of items (what is in stock, say) for many lists: `allow`.

        >>> from xorec.testing.examples import shop
        >>> in_stock = shop().item_filter(["rice", "tea"])
        >>> shop().recommend("cem", allow=in_stock).ids()
        ['rice']
        """
        return ItemFilter(self.item_ids, self.item_rows(items), self.index)

    def in_category(
        self,
        category: str | Iterable[str] | None = None,
        *,
        not_in: str | Iterable[str] = (),
        allow: Iterable[Hashable] | None = None,
    ) -> ItemFilter:
        """The items of a category, or of any of several: for `allow`.

        not_in: without the items of these categories, whatever else they are in. allow: of these
        items only. No category: of all items, also those that have none.

        >>> from xorec.testing.examples import shop_with_categories
        >>> shop = shop_with_categories()
        >>> shop.recommend("cem", allow=shop.in_category("drinks")).ids()
        ['milk']
        >>> shop.recommend("cem", allow=shop.in_category(not_in=["drinks"])).ids()
        ['rice']
        """
        if self.categories is None:
            raise OptionError(
                "the model has no categories of items: fit it on data that has them, read with "
                "item_info (on the command line --item-info)."
            )
        rows = np.arange(len(self.item_ids))
        if category is not None:
            rows = self.categories.items_in(as_list(category)[0])
        rows = np.setdiff1d(rows, self.categories.items_in(as_list(not_in)[0]))
        if allow is not None:
            rows = np.intersect1d(rows, self.item_rows(allow))
        return ItemFilter(self.item_ids, rows, self.index)

    def _allowed_rows(self, allow: Allow, index: Index | None = None) -> Any:
        """What a search takes for `allow`; index: that is searched, unless it is the usual one."""
        if isinstance(allow, ItemFilter):
            return allow.prepared_for(self.item_ids, self.index if index is None else index)
        return None if allow is None else self.item_rows(allow)

    def describe(
        self,
        rows: ItemRows,
        scores: npt.NDArray[Any],
        distances: npt.NDArray[Any] | None = None,
        kind: Kind = "item",
    ) -> tuple[Recommended, ...]:
        """What stands at `rows` for people: id, name, score, Hamming distance where there is one.

        scores, distances: one for each row. kind: whether they are rows of items or of users.
        """
        ids, names = (self.item_ids, self.names) if kind == "item" else (self.user_ids, None)
        at = rows.tolist()
        missing = [None] * len(at)
        return tuple(
            map(
                Recommended,
                ids.take(at),
                missing if names is None else names.strings(at),
                map(float, scores.tolist()),
                missing if distances is None else map(int, distances.tolist()),
            )
        )

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle has: indexes are made again where they are needed, locks stay here."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _unknown_user(self, user: Hashable) -> UnknownIdError:
        meant = _meant(self.user_ids, user)
        hint = f"{meant} For a new user" if meant else "for a new user"
        return UnknownIdError(
            f"user {quoted(user)} is not in the model: {hint}, give their items: --items ID,ID,... "
            "on the command line, recommend_for([item ids]) in Python."
        )


def data_facts(data: Interactions) -> dict[str, Any]:
    """What the metadata of a model say of its data."""
    sizes = {"users": data.n_users, "items": data.n_items, "pairs": data.n_pairs}
    return {**sizes, "digest": data.digest()}


def _meant(ids: Ids, raw: Hashable) -> str:
    """A hint where an id is there but of another type, as 1 and "1" are, or is much like it."""
    meant = near_id(ids, raw)
    if meant is None:
        return ""
    begin = f"ids here are {ids.type_name}, " if type(meant) is not type(raw) else ""
    return f"{begin}did you mean {quoted(meant)}?"


def as_list(ids: Any) -> tuple[list[Any], bool]:
    """The ids that are asked for, and whether several are meant: a list, and not one id."""
    if isinstance(ids, np.ndarray) and ids.ndim == 0:
        return [ids.item()], False
    if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)):
        return list(ids), True
    return [ids], False
