"""What the recommender answers: an item of a list, and the list. Raw ids only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import ref

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.printable import html_table, jsonable, listed, printable

if TYPE_CHECKING:
    import polars as pl

    from xorec.data.ids import Ids
    from xorec.search.index import Index

Kind = Literal["user", "item"]
_SHOWN = 5
"""Of many lists."""


@dataclass(frozen=True)
class Recommended:
    """One item of a list: its raw id, its name where there is one, and its score.

    distance: the Hamming distance, where the list is ranked by codes.

    >>> Recommended("tea", None, 0.75, 4).to_dict()
    {'id': 'tea', 'name': None, 'distance': 4, 'score': 0.75}
    """

    id: Any
    name: str | None
    score: float
    distance: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """A row of the command line's and the service's JSON."""
        row = {"id": self.id, "name": self.name, "distance": self.distance, "score": self.score}
        return {key: jsonable(value) for key, value in row.items()}


class ItemFilter:
    """Items that may be listed, prepared once for many searches by `Recommender.item_filter`.

    rows: of these items. It fits the recommender that made it, and any other with the same items: a
    copy from a pickle or from the file.

    >>> from xorec.testing.examples import shop
    >>> in_stock = shop().item_filter(["rice", "tea"])
    >>> len(in_stock), shop().item_ids.take(in_stock.rows)
    (2, ['rice', 'tea'])
    >>> prepared = in_stock.prepared_for(shop().item_ids, shop().index)  # allow=
    """

    def __init__(self, items: Ids, rows: npt.NDArray[np.int64], index: Index) -> None:
        self._items, self.rows = items, rows
        self._prepared: tuple[ref[Index] | None, Any] = ref(index), index.item_filter(rows)

    def __len__(self) -> int:
        return len(np.unique(self.rows))

    def prepared_for(self, items: Ids, index: Index) -> Any:
        """What the search takes; items: those that `index` is of."""
        maker, prepared = self._prepared
        if maker is None or maker() is not index:
            if items is not self._items and items != self._items:
                raise OptionError(
                    "this item_filter was made by a model with other items: make it again with "
                    "item_filter of the model that is asked."
                )
            prepared = index.item_filter(self.rows)
            self._prepared = ref(index), prepared
        return prepared

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle has: the first search prepares it again."""
        return {**vars(self), "_prepared": (None, None)}


@dataclass(frozen=True, repr=False)
class Recommendations:
    """The best items for `query` (a user, an item, or the list of a new user's items), best first.

    query_kind, item_kind: whether users or items were asked for, and are listed.

    >>> best = Recommendations("ann", (Recommended("tea", "Green tea", 0.75),))
    >>> best.ids(), len(best)
    (['tea'], 1)
    >>> best
    for user ann:
    rank  item  name        score
       1  tea   Green tea  0.7500
    >>> Recommendations(["SKU 40, large", "tea"], ())
    for somebody with 'SKU 40, large', 'tea':
    rank  item  score
    >>> best.to_dict()
    {'user': 'ann', 'items': [{'id': 'tea', 'name': 'Green tea', 'distance': None, 'score': 0.75}]}
    >>> best.to_frame().columns
    ['rank', 'item', 'name', 'score']
    """

    query: Any
    items: tuple[Recommended, ...]
    query_kind: Kind = "user"
    item_kind: Kind = "item"

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[Any]:
        """The raw ids, best first."""
        return [item.id for item in self.items]

    def to_dict(self) -> dict[str, Any]:
        """The one JSON shape of the command line and the service."""
        rows = [item.to_dict() for item in self.items]
        return {self.query_kind: jsonable(self.query), f"{self.item_kind}s": rows}

    def to_frame(self) -> pl.DataFrame:
        """A polars frame: rank, item, name, score, and distance where the list is ranked by codes.

        What is listed stands in the column `item`, or `user` where users are listed.
        """
        import polars as pl

        columns: dict[str, Any] = {
            "rank": range(1, len(self.items) + 1),
            self.item_kind: self.ids(),
            "name": [item.name for item in self.items],
            "score": [item.score for item in self.items],
        }
        if any(item.distance is not None for item in self.items):
            columns["distance"] = [item.distance for item in self.items]
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        heads, *rows = self._cells()
        widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
        lines = (
            "  ".join(
                cell.ljust(width) if head in ("name", self.item_kind) else cell.rjust(width)
                for head, cell, width in zip(heads, row, widths, strict=True)
            )
            for row in (heads, *rows)
        )
        return "\n".join([f"{self._title()}:", *map(str.rstrip, lines)])

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        return html_table(self._cells(), self._title())

    def _title(self) -> str:
        if isinstance(self.query, list):  # the items of a new user
            return printable(f"for somebody with {listed([repr(one) for one in self.query])}")
        return printable(f"for {self.query_kind} {self.query}")

    def _cells(self) -> list[list[str]]:
        """The table as text, heads first; names and distances where there are any."""
        columns: dict[str, list[str]] = {
            "rank": [str(rank) for rank in range(1, len(self.items) + 1)],
            self.item_kind: [printable(str(item.id)) for item in self.items],
            "name": ["" if item.name is None else printable(item.name) for item in self.items],
            "score": [f"{item.score:.4f}" for item in self.items],
            "distance": ["" if i.distance is None else str(i.distance) for i in self.items],
        }
        filled = {h: c for h, c in columns.items() if h not in ("name", "distance") or any(c)}
        return [list(filled), *(list(row) for row in zip(*filled.values(), strict=True))]


class RecommendationLists(list[Recommendations]):
    """The lists of many users, or items, in the order in which they were asked for.

    >>> best = Recommendations("ann", (Recommended("tea", None, 0.75),))
    >>> lists = RecommendationLists([best, Recommendations("bob", ())])
    >>> lists[0].query, lists.ids()
    ('ann', [['tea'], []])
    >>> lists.to_frame().rows()
    [('ann', 1, 'tea', 0.75)]
    """

    def ids(self) -> list[list[Any]]:
        """The raw ids of each list, best first."""
        return [one.ids() for one in self]

    def to_frame(self) -> pl.DataFrame:
        """A polars frame of all lists: user, rank, item, score; name and distance where there are.

        The columns are those of the file that `xorec recommend --all-users` writes; of items like
        items those of `xorec similar --all-items`: item, rank, similar, score.
        """
        import polars as pl

        asked, kind = (self[0].query_kind, self[0].item_kind) if self else ("user", "item")
        listed = "similar" if asked == kind else kind
        rows = [(one.query, rank, item) for one in self for rank, item in enumerate(one.items, 1)]
        columns: dict[str, Any] = {
            asked: [query for query, _, _ in rows],
            "rank": pl.Series([rank for _, rank, _ in rows], dtype=pl.Int32),
            listed: [item.id for _, _, item in rows],
            "name": [item.name for _, _, item in rows],
            "score": pl.Series([item.score for _, _, item in rows], dtype=pl.Float32),
            "distance": [item.distance for _, _, item in rows],
        }
        for name in ("name", "distance"):
            if all(value is None for value in columns[name]):
                del columns[name]
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return "\n".join([*map(repr, self[:_SHOWN]), *self._more()])

    def _repr_html_(self) -> str:
        """The tables that a notebook shows."""
        return "".join([*(one._repr_html_() for one in self[:_SHOWN]), *self._more()])

    def _more(self) -> list[str]:
        return [f"... and {len(self) - _SHOWN:,} more lists"] if len(self) > _SHOWN else []
