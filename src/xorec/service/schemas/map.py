"""The map of all items: places, colours, and what stands at a place."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, JsonId, Query

MOST_ROWS = 2000


class MapQuery(Query):
    """Where items lie: two numbers each."""

    k: int = Field(100_000, ge=1, le=5_000_000)
    format: Literal["json", "binary"] = Field(
        "json",
        description="binary: int16, little-endian, x and y of every item by row; also with "
        "`Accept: application/octet-stream`.",
    )
    name: str | None = Field(None, alias="model")


class MapAnswer(Answer):
    """Columns, one value an item, most popular first, without those that are not listed now: whole
    numbers from -32767 to 32767. layout: how they were made, "pca" or "neighbours"."""

    items: list[Any]
    x: list[int]
    y: list[int]
    count: list[int]
    layout: str = "pca"


class ColoursQuery(Query):
    """One byte an item. bit: with by=bit. user or item: with by=distance; items: as if the user,
    or somebody new, had them as well. most: categories that get a byte of their own."""

    by: Literal["popularity", "category", "bit", "distance"] = "popularity"
    bit: int = Field(0, ge=0)
    user: str | None = None
    item: str | None = None
    items: tuple[str, ...] = Field((), max_length=MOST_ROWS)
    most: int = Field(10, ge=1, le=200)
    name: str | None = Field(None, alias="model")


class Band(BaseModel):
    """Bytes from `first` to `last`, what they mean, and how many items have them."""

    label: str
    first: int
    last: int
    count: int


class ColoursAnswer(Answer):
    """colours: a byte for each item by row, in base64; 255: it is not listed now. shown: which end
    of a scale is to be seen, "low" or "high"; "" where bytes are classes."""

    by: str
    shown: Literal["low", "high", ""]
    legend: list[Band]
    colours: str


class MapItemsQuery(Query):
    """Items by row, by id, or all those that a user has as of now; of `rows` and `items` 2,000."""

    rows: tuple[int, ...] = Field((), max_length=MOST_ROWS)
    items: tuple[str, ...] = Field((), max_length=MOST_ROWS)
    user: str | None = None
    name: str | None = Field(None, alias="model")


class MapItem(BaseModel):
    """What stands at a place of the map. count: users who have it."""

    row: int
    id: JsonId
    name: str | None = None
    count: int = 0
    available: bool = True


class MapItemsAnswer(Answer):
    """Items in the order in which they were asked for; ids that the model does not have are left
    out."""

    items: list[MapItem]
