"""The facts of an export (`About`), and the tables and columns that follow from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from xorec.core.errors import StoreError
from xorec.stores.tables import Column, Kind

FORMAT = 1
"""The number of this layout of tables."""
Ranking = Literal["codes", "masked-codes", "two-stage", "lists"]
TABLES = (
    "about",
    "items",
    "categories",
    "users",
    "seen",
    "lists",
    "item_vectors",
    "user_vectors",
    "item_weights",
    "item_neighbours",
)
"""All tables that an export may have; a new export removes those of an older one."""


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts of an export: its table of names and values (JSON).

    ranking: how the store ranks. codes: by Hamming distance, less the item's offset where there are
    `offsets`; masked-codes: by the bits of the user that an item lacks; two-stage: codes find, the
    tables of vectors and weights put in order; lists: only by the lists that were exported.
    bits: of a code, 0 for none. item_kind, user_kind: of `data.ids`; "": no users were exported.
    lists: the k of the lists, 0 for none. The rest is of two stages, see `TwoStage`: sources and
    blend; dimensions: of the vectors, 0 for none; keep: the type of the items' vectors, "" for
    none; bias: whether items have one; weights_keep: the type of the item weights, "" for none;
    history_weights: whether a user's items count differently.
    """

    model: str
    ranking: Ranking
    bits: int
    items: int
    item_kind: str
    users: int = 0
    user_kind: str = ""
    offsets: bool = False
    names: bool = False
    categories: bool = False
    lists: int = 0
    sources: tuple[int, ...] = ()
    blend: float = 1.0
    dimensions: int = 0
    keep: str = ""
    bias: bool = False
    weights_keep: str = ""
    history_weights: bool = False
    digest: str = ""
    xorec: str = ""
    format: int = FORMAT

    def rows(self) -> Iterator[tuple[str, str]]:
        """Names and values as text."""
        for name, value in asdict(self).items():
            yield name, json.dumps(value)

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, str]], where: str) -> About:
        """The inverse of `rows`; where: the store, for messages."""
        try:
            found: dict[str, Any] = {name: json.loads(value) for name, value in rows}
            if found["format"] == FORMAT:
                known = {field.name for field in fields(cls)}
                made = {name: value for name, value in found.items() if name in known}
                return cls(**{**made, "sources": tuple(found["sources"])})
        except (ValueError, TypeError, KeyError):
            raise StoreError(
                f"{where} says nothing that xorec understands of its tables: export again."
            ) from None
        raise StoreError(
            f"{where} has tables of format {found['format']}, this xorec knows {FORMAT}: export "
            "the model again with this version."
        )

    def describe(self) -> str:
        """The model, its codes, and what makes the lists, in one line."""
        codes = f"{self.model}: {self.bits}-bit codes"
        if self.ranking == "lists":
            return f"{self.model}: each user's {self.lists} best items; the store does not rank"
        if self.ranking == "masked-codes":
            return f"{codes}; the store ranks by the user's bits that an item lacks, then tie_rank"
        if self.ranking == "codes":
            less = ", less the item's offset" if self.offsets else ""
            return f"{codes}; the store ranks by Hamming distance{less}, then tie_rank"
        parts = [
            *(["item weights"] if self.weights_keep else []),
            *(["vectors"] if self.dimensions else []),
        ]
        return (
            f"{codes} and {' and '.join(parts)}; the store finds by code, `xorec recommend` puts "
            "in order"
        )


@dataclass(frozen=True)
class Schema:
    """The columns of a table. key: those that name a row; unique: another that does."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    unique: str = ""

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(one for one in self.columns if one.name == name)


ABOUT = Schema("about", (Column("name", "text"), Column("value", "text")), ("name",))
"""What every export has: without it, the columns of the other tables are not known."""


def schema_of(about: About) -> dict[str, Schema]:
    """The tables that an export has, by name, in the order in which they are written.

    about: names and values (JSON) of `About`. items: row, raw id, place among items of equal
    distance; code, and what the distance is corrected by. seen: what users have, and its weight
    where item weights look at it. lists: the best items of each user, from rank 1 on. The others
    are of the second stage (`TwoStage`):
    score = sum of weight x scale + blend x ((user's vector . vector) x scale + bias).
    """
    sizes = {"code": about.bits, "vector": about.dimensions}
    masked = about.ranking == "masked-codes"
    made: dict[str, Schema] = {ABOUT.name: ABOUT}

    def add(table: str, key: str, unique: str = "", /, **columns: Any) -> None:
        """key: names of columns. A column is its kind; nothing where the export has it not."""
        there = {name: kind for name, kind in columns.items() if kind}
        sized = tuple(Column(name, kind, sizes.get(kind, 0)) for name, kind in there.items())
        made[table] = Schema(table, sized, tuple(key.split()), unique)

    add(
        "items",
        "item_row",
        "item_id",
        item_row="row",
        item_id=_id(about.item_kind),
        tie_rank="row",
        name=about.names and "text",
        code=about.bits and "code",
        set_bits=masked and "row",
        item_offset=about.offsets and "row",
    )
    if about.categories:
        add("categories", "item_row category", item_row="row", category="text")
    if about.user_kind:
        add(
            "users",
            "user_row",
            "user_id",
            user_row="row",
            user_id=_id(about.user_kind),
            code=about.bits and "code",
            set_bits=masked and "row",
        )
        weight = about.history_weights and "float"
        add("seen", "user_row item_row", user_row="row", item_row="row", weight=weight)
    if about.lists:
        add("lists", "user_row rank", user_row="row", rank="row", item_row="row", score="float")
    if about.keep:
        scale, bias = about.keep == "int8" and "float", about.bias and "float"
        add("item_vectors", "item_row", item_row="row", vector="vector", scale=scale, bias=bias)
    if about.dimensions and about.user_kind:
        add("user_vectors", "user_row", user_row="row", vector="vector")
    if about.weights_keep:
        numbers = {"weight": "float", "scale": about.weights_keep == "int8" and "float"}
        add("item_weights", "item_row other_row", item_row="row", other_row="row", **numbers)
    if about.sources and about.sources[-1]:
        add("item_neighbours", "item_row rank", item_row="row", rank="row", other_row="row")
    return made


def _id(kind: str) -> Kind:
    return "integer" if kind == "int64" else "text"
