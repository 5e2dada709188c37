"""Items and users: what can be said of an item, and who there is."""

from __future__ import annotations

import datetime

from pydantic import AliasChoices, BaseModel, Field

from xorec.service.schemas.base import Answer, Body, JsonId, Query

Attribute = str | int | float | bool

MOST_MEANT = 5
"""Guesses at what was meant by letters that nothing has."""


class ItemBody(Body):
    """All that is known of an item (PUT). from, until: when it may be listed."""

    id: JsonId
    name: str | None = Field(None, max_length=4096)
    categories: list[str] = Field([], max_length=1000)
    attributes: dict[str, Attribute] = {}
    hidden: bool = False
    from_: datetime.datetime | None = Field(None, alias="from", strict=False)
    until: datetime.datetime | None = Field(None, strict=False)


class ItemsBody(Body):
    """Several items: all or nothing."""

    items: list[ItemBody] = Field(min_length=1)


class ItemPatch(Body):
    """What changes of an item (PATCH); what is not named stays."""

    id: JsonId
    name: str | None = Field(None, max_length=4096)
    categories: list[str] | None = Field(None, max_length=1000)
    attributes: dict[str, Attribute] | None = None
    hidden: bool | None = None
    from_: datetime.datetime | None = Field(None, alias="from", strict=False)
    until: datetime.datetime | None = Field(None, strict=False)


class ItemQuery(Query):
    """Items by id (repeat the name for several), or those whose id or name has `q` in it.

    Neither case nor accents count.
    """

    item: tuple[str, ...] = ()
    q: str | None = Field(None, max_length=256)
    k: int = Field(20, ge=1)
    name: str | None = Field(None, alias="model")


class ItemId(Query):
    """Which item."""

    item: str


class ItemOut(BaseModel):
    """An item as it is served. known: the model has it; cold items come by events."""

    id: JsonId
    name: str | None = None
    categories: list[str] = []
    attributes: dict[str, Attribute] = {}
    hidden: bool = False
    from_: str | None = Field(
        None, validation_alias=AliasChoices("from_", "from"), serialization_alias="from"
    )
    until: str | None = None
    available: bool = True
    known: bool = True
    count: int = Field(0, description="Users who have it.")
    rank: int | None = Field(
        None, ge=1, description="Its place by popularity, 1 for what most users have; cold: none."
    )


class ItemList(Answer):
    """Items. meant: where none has the letters, up to 5 that have all the words
    or are spelled alike."""

    items: list[ItemOut]
    meant: list[ItemOut] = []


class ItemsChanged(Answer):
    """How many items were changed, and since when the lists know."""

    changed: int
    seq: int


class CategoryQuery(Query):
    """The categories that most items are in."""

    k: int = Field(100, ge=1)
    name: str | None = Field(None, alias="model")


class CategoryOut(BaseModel):
    """A category; count: items that are in it."""

    name: str
    count: int


class CategoryList(Answer):
    """Categories, those with most items first."""

    categories: list[CategoryOut]


class UserQuery(Query):
    """A user by id, users whose id has `q` in it, or who has an item."""

    user: str | None = None
    q: str | None = Field(None, max_length=256)
    item: str | None = None
    k: int = Field(20, ge=1)
    name: str | None = Field(None, alias="model")


class UserOut(BaseModel):
    """A user; history: names of what they have, newest events last."""

    id: JsonId
    known: bool = True
    count: int = Field(0, description="Items that they have.")
    history: list[JsonId] | None = None


class UserList(Answer):
    """Users. meant: where none has the letters, up to 5 that have all the words
    or are spelled alike."""

    users: list[UserOut]
    meant: list[UserOut] = []
