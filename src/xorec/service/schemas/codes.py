"""Codes: the bits of a user and of items."""

from __future__ import annotations

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, JsonId, Query

_HEX = "Hexadecimal, bytes in order; bit 0 is the lowest bit of the first byte."


class CodesQuery(Query):
    """Whose codes: of a user, of somebody who has `items` (besides), of the items `of`."""

    user: str | None = None
    items: tuple[str, ...] = Field((), description="What somebody new has, or a user besides.")
    of: tuple[str, ...] = Field((), description="Items whose codes are wanted.")
    name: str | None = Field(None, alias="model")
    seq: int | None = Field(None, ge=0)


class ItemCode(BaseModel):
    """The code of an item; none where the model does not have the item, or has no codes."""

    id: JsonId
    code: str | None = Field(None, description=_HEX)


class CodesAnswer(Answer):
    """user: the code that a list for them is searched with, none where nothing is known of them.

    bits: of every code; none where the model has no codes.
    """

    bits: int | None = None
    user: str | None = Field(None, description=_HEX)
    items: list[ItemCode] = []
