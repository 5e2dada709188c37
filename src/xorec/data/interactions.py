"""Interactions: who did something with what. The one data type of the whole library."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_array
from xorec.core.errors import DataError
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.text import Text, offsets_of

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import csr_array

_OF_PAIRS = ("times", "ratings", "weights", "parts")
"""The fields that have a value for each pair."""
TRAIN, VALIDATION, TEST = 0, 1, 2
"""Values of `Interactions.parts`, the split given by the data."""


class UserItems(NamedTuple):
    """The pairs for a kernel: the items of user u are `items[indptr[u]:indptr[u + 1]]`."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Interactions:
    """A set of distinct (user, item) pairs, by rows, with the raw ids beside them.

    The pairs of user row `u` are `indices[indptr[u]:indptr[u + 1]]`, ascending. `times`, `ratings`,
    `weights` (above 0, 1: as if there were none) and `parts` run parallel to `indices`. Immutable;
    `select` and `compact` make new ones.
    `notes` says in words what reading and preparing guessed, merged or removed; `parts_from` where
    `parts` come from: {"column": "split"} or {"files": "train.csv, test.csv"}.

    >>> data = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> data.n_users, data.n_items, data.n_pairs
    (2, 2, 3)
    >>> data.density, data.has
    (0.75, ())
    >>> data.user_counts.tolist(), data.item_counts.tolist()
    ([2, 1], [1, 2])
    >>> data.user_rows.tolist(), data.indices.tolist()
    ([0, 0, 1], [0, 1, 1])
    >>> data.of_user(0).tolist()
    [0, 1]
    >>> data.matrix().toarray().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """

    users: Ids
    items: Ids
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    times: npt.NDArray[np.int64] | None = None
    ratings: npt.NDArray[np.float32] | None = None
    parts: npt.NDArray[np.int8] | None = None
    names: Text | None = None
    categories: Categories | None = None
    weights: npt.NDArray[np.float32] | None = None
    notes: tuple[str, ...] = field(default=())
    parts_from: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Hashable, Hashable]]) -> Interactions:
        """Interactions from Python (user, item) pairs; a pair given twice counts once.

        >>> data = Interactions.from_pairs([("ann", 7), ("bob", 9), ("ann", 9), ("ann", 7)])
        >>> data
        Interactions(2 users x 2 items, 3 pairs)
        >>> data.items.take(data.of_user(data.users.find("ann")))
        [7, 9]
        """
        rows = list(pairs)
        users, user_rows = Ids.numbered([user for user, _ in rows])
        items, item_rows = Ids.numbered([item for _, item in rows])
        both = np.array([user_rows, item_rows], dtype=np.int32)
        return cls.from_rows(users, items, *both)

    @classmethod
    def from_rows(
        cls,
        users: Ids,
        items: Ids,
        user_rows: npt.NDArray[np.integer],
        item_rows: npt.NDArray[np.integer],
        *,
        threads: int = 1,
        **extra: Any,
    ) -> Interactions:
        """Interactions from row numbers, in any order; the LAST of equal pairs is kept.

        `extra` may hold `times`, `ratings`, `weights`, `parts` (aligned with the rows given) and
        the other fields of the class. Any number of threads gives the same.

        >>> users, items = Ids.of(["ann", "bob"]), Ids.of(["milk", "tea"])
        >>> Interactions.from_rows(users, items, np.array([1, 0, 0]), np.array([1, 0, 1]))
        Interactions(2 users x 2 items, 3 pairs)
        """
        from xorec.data.merge import merge_pairs

        merged = merge_pairs(user_rows, item_rows, (len(users), len(items)), threads=threads)
        for name in _OF_PAIRS:
            if extra.get(name) is not None:
                values = as_array(extra[name], name)
                if values.shape != np.shape(user_rows):
                    raise DataError(
                        f"{name} has the shape {values.shape}: give one for each of "
                        f"{len(user_rows):,} pairs."
                    )
                extra[name] = values[merged.order]
        return cls(users, items, merged.indptr, merged.indices, **extra)

    @property
    def n_users(self) -> int:
        """Users, also those without pairs."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Items, also those without pairs."""
        return len(self.items)

    @property
    def n_pairs(self) -> int:
        """Pairs; each counts once."""
        return len(self.indices)

    def __len__(self) -> int:
        return self.n_pairs

    @property
    def has(self) -> tuple[str, ...]:
        """Which of times, ratings, weights, parts, names and categories are known."""
        fields = (*_OF_PAIRS, "names", "categories")
        return tuple(name for name in fields if getattr(self, name) is not None)

    @property
    def density(self) -> float:
        """The share of all possible pairs that are in the data."""
        return self.n_pairs / max(self.n_users * self.n_items, 1)

    def __repr__(self) -> str:
        sizes = f"{self.n_users:,} users x {self.n_items:,} items, {self.n_pairs:,} pairs"
        return f"Interactions({', '.join([sizes, *self.has])})"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        from html import escape

        from xorec.core.printable import printable

        rows = [
            ("users", f"{self.n_users:,}"),
            ("items", f"{self.n_items:,}"),
            ("pairs", f"{self.n_pairs:,}"),
            ("density", f"{self.density:.4%}"),
            ("columns", ", ".join(("user", "item", *self.has))),
            *(("note", escape(printable(note))) for note in self.notes),
        ]
        cells = (f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in rows)
        return f"<table>{''.join(cells)}</table>"

    def of_user(self, user: int) -> npt.NDArray[np.int32]:
        """The item rows of user row `user`, ascending."""
        return self.indices[self.indptr[user] : self.indptr[user + 1]]

    @cached_property
    def user_rows(self) -> npt.NDArray[np.int32]:
        """The user row of every pair."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def user_counts(self) -> npt.NDArray[np.int64]:
        """Pairs of each user."""
        return np.diff(self.indptr)

    @cached_property
    def item_counts(self) -> npt.NDArray[np.int64]:
        """Pairs of each item: its popularity."""
        return np.bincount(self.indices, minlength=self.n_items).astype(np.int64)

    @cached_property
    def by_item(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """The same pairs by item: (indptr over items, user rows, ascending inside an item).

        >>> data = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> indptr, users = data.by_item
        >>> tea = data.items.find("tea")
        >>> data.users.take(users[indptr[tea] : indptr[tea + 1]])
        ['ann', 'bob']
        """
        return offsets_of(self.item_counts), self.user_rows[self.item_order]

    @cached_property
    def item_order(self) -> npt.NDArray[np.int64]:
        """The positions of the pairs in the order of `by_item`.

        >>> data = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "milk")])
        >>> data.indices[data.item_order].tolist()
        [0, 0, 1]
        """
        return np.argsort(self.indices, kind="stable")

    def matrix(self, values: npt.NDArray[np.float32] | None = None) -> csr_array[np.float32]:
        """The pairs as a SciPy matrix of ones, or of these values, users x items."""
        from scipy.sparse import csr_array

        ones = np.ones(self.n_pairs, dtype=np.float32) if values is None else values
        return csr_array((ones, self.indices, self.indptr), shape=(self.n_users, self.n_items))

    def to_frame(self) -> pl.DataFrame:
        """A polars frame of the pairs by raw ids: user, item; rating, time, weight where known.

        For other libraries: `parts.train.to_frame().to_pandas()` (needs pyarrow). Weights are
        scaled already; `read` takes them back with `weight_scale="none"`.

        >>> Interactions.from_pairs([("bob", 9), ("ann", 7)]).to_frame().rows()
        [('ann', 7), ('bob', 9)]
        """
        from xorec.data.io.write import pairs_frame

        frame = pairs_frame(self)
        return frame if self.weights is None else frame.with_columns(weight=self.weights)

    def select(self, keep: npt.NDArray[np.bool_]) -> Interactions:
        """The pairs where `keep` holds; users, items and their rows stay as they are.

        >>> data = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> data.select(data.indices == data.items.find("tea"))
        Interactions(2 users x 2 items, 2 pairs)
        """
        aligned: dict[str, Any] = {name: all_[keep] for name, all_ in self._of_pairs().items()}
        indptr = offsets_of(keep)[self.indptr]
        return replace(self, indptr=indptr, indices=self.indices[keep], **aligned)

    def _of_pairs(self) -> dict[str, npt.NDArray[Any]]:
        """The known fields that have a value for each pair."""
        return {name: getattr(self, name) for name in self.has if name in _OF_PAIRS}

    def union(self, other: Interactions, threads: int = 1) -> Interactions:
        """The pairs of both; users, items and their rows must be the same in both.

        Pairs without weights weigh 1 beside pairs that have them.

        >>> import xorec
        >>> data = Interactions.from_pairs([(user, item) for user in range(9) for item in range(9)])
        >>> parts = xorec.split(data, test=0.2)
        >>> parts.train.union(parts.test).digest() == data.digest()
        True
        """
        users = np.concatenate([self.user_rows, other.user_rows])
        items = np.concatenate([self.indices, other.indices])
        mine, theirs = self._of_pairs(), other._of_pairs()
        if "weights" in mine or "weights" in theirs:
            for one, pairs in ((mine, self), (theirs, other)):
                one.setdefault("weights", np.ones(pairs.n_pairs, dtype=np.float32))
        aligned = {
            name: np.concatenate([mine[name], theirs[name]]) for name in mine if name in theirs
        }
        about = {"names": self.names, "categories": self.categories, "notes": self.notes}
        return Interactions.from_rows(
            self.users, self.items, users, items, threads=threads, **aligned, **about
        )

    def compact(self) -> Interactions:
        """The same pairs without the users and items that have none; rows are renumbered.

        >>> data = Interactions.from_pairs([("ann", "tea"), ("bob", "tea"), ("cem", "milk")])
        >>> data.select(data.indices == data.items.find("tea")).compact()
        Interactions(2 users x 1 items, 2 pairs)
        """
        users = np.flatnonzero(self.user_counts)
        items = np.flatnonzero(self.item_counts)
        if len(users) == self.n_users and len(items) == self.n_items:
            return self
        new_row = np.cumsum(self.item_counts > 0) - 1
        return replace(
            self,
            users=self.users.select(users),
            items=self.items.select(items),
            indptr=offsets_of(self.user_counts[users]),
            indices=new_row[self.indices].astype(np.int32),
            names=None if self.names is None else self.names.take(items),
            categories=None if self.categories is None else self.categories.select(items),
        )

    def noted(self, *notes: str) -> Interactions:
        """The same with more notes.

        >>> Interactions.from_pairs([("ann", "tea")]).noted("one pair is made up").notes
        ('one pair is made up',)
        """
        return replace(self, notes=(*self.notes, *notes))

    def digest(self) -> str:
        """A fingerprint of ids, pairs and weights: equal data, equal digest, on every machine.

        >>> pairs = [("ann", "tea"), ("bob", "milk")]
        >>> Interactions.from_pairs(pairs).digest() == Interactions.from_pairs(pairs[::-1]).digest()
        True
        """
        digest = hashlib.blake2b(digest_size=16)
        for ids in (self.users, self.items):
            digest.update(ids.kind.encode())
            for array in ids.arrays:
                digest.update(np.ascontiguousarray(array).data)
        digest.update(np.ascontiguousarray(self.indptr).data)
        digest.update(np.ascontiguousarray(self.indices).data)
        if self.weights is not None:
            digest.update(np.ascontiguousarray(self.weights).data)
        return digest.hexdigest()

    def require_pairs(self, what: str = "the data") -> None:
        """Refuse an empty set of pairs; the message says that `what` is empty.

        >>> Interactions.from_pairs([]).require_pairs("today")
        Traceback (most recent call last):
        xorec.core.errors.DataError: today has no interactions: check the file and the filters.
        """
        if self.n_pairs == 0:
            raise DataError(f"{what} has no interactions: check the file and the filters.")
