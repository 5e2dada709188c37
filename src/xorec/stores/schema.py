"""The tables of an export: which there are, and their columns, as far as `About` tells."""

from __future__ import annotations

from dataclasses import dataclass

from xorec.stores.about import About
from xorec.stores.tables import Column, Kind

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
"""All tables that an export may have: what is left of an older one goes when they are swapped."""


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


def schema_of(about: About) -> dict[str, Schema]:
    """The tables that an export has, by name, in the order in which they are written.

    about: names and values (JSON) of `About`. items: row, raw id, place among items of equal
    distance; code, and what the distance is corrected by. seen: what users have. lists: the best
    items of each user, from rank 1 on. The others are of the second stage: see `TwoStage`.
    """
    made = [_schema("about", {"name": "text", "value": "text"}, "name"), _items(about)]
    if about.categories:
        made.append(
            _schema("categories", {"item_row": "row", "category": "text"}, "item_row", "category")
        )
    if about.user_kind:
        made += [_users(about), _seen(about)]
    if about.lists:
        made.append(
            _schema(
                "lists",
                {"user_row": "row", "rank": "row", "item_row": "row", "score": "float"},
                "user_row",
                "rank",
            )
        )
    return {one.name: one for one in [*made, *_second_stage(about)]}


def _items(about: About) -> Schema:
    columns: dict[str, Kind] = {
        "item_row": "row",
        "item_id": _id(about.item_kind),
        "tie_rank": "row",
        "name": "text",
        "code": "code",
        "set_bits": "row",
        "item_offset": "row",
    }
    absent = {
        "name": not about.names,
        "code": not about.bits,
        "set_bits": about.ranking != "masked-codes",
        "item_offset": not about.offsets,
    }
    return _schema(
        "items",
        {name: kind for name, kind in columns.items() if not absent.get(name)},
        "item_row",
        unique="item_id",
        bits=about.bits,
    )


def _users(about: About) -> Schema:
    columns: dict[str, Kind] = {"user_row": "row", "user_id": _id(about.user_kind)}
    if about.bits:
        columns["code"] = "code"
    if about.ranking == "masked-codes":
        columns["set_bits"] = "row"
    return _schema("users", columns, "user_row", unique="user_id", bits=about.bits)


def _seen(about: About) -> Schema:
    """weight: what an item of the user's counts, where item weights look at it."""
    columns: dict[str, Kind] = {"user_row": "row", "item_row": "row"}
    if about.history_weights:
        columns["weight"] = "float"
    return _schema("seen", columns, "user_row", "item_row")


def _second_stage(about: About) -> list[Schema]:
    """score = sum of weight x scale + blend x ((user's vector . vector) x scale + bias)."""
    made, length = [], about.dimensions
    if about.keep:
        columns: dict[str, Kind] = {"item_row": "row", "vector": "vector"}
        if about.keep == "int8":
            columns["scale"] = "float"
        if about.bias:
            columns["bias"] = "float"
        made.append(_schema("item_vectors", columns, "item_row", dimensions=length))
    if length and about.user_kind:
        columns = {"user_row": "row", "vector": "vector"}
        made.append(_schema("user_vectors", columns, "user_row", dimensions=length))
    if about.weights_keep:
        columns = {"item_row": "row", "other_row": "row", "weight": "float"}
        if about.weights_keep == "int8":
            columns["scale"] = "float"
        made.append(_schema("item_weights", columns, "item_row", "other_row"))
    if about.sources and about.sources[-1]:
        columns = {"item_row": "row", "rank": "row", "other_row": "row"}
        made.append(_schema("item_neighbours", columns, "item_row", "rank"))
    return made


def _schema(
    name: str,
    columns: dict[str, Kind],
    *key: str,
    unique: str = "",
    bits: int = 0,
    dimensions: int = 0,
) -> Schema:
    sizes = {"code": bits, "vector": dimensions}
    made = tuple(Column(one, kind, sizes.get(kind, 0)) for one, kind in columns.items())
    return Schema(name, made, key, unique)


def _id(kind: str) -> Kind:
    return "integer" if kind == "int64" else "text"
