"""Base classes of all queries, bodies and answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from xorec.service.ids import JsonId as JsonId
from xorec.service.live.filters import Conditions
from xorec.service.live.state import ModelRef as ModelRef

Count = Annotated[int, Field(ge=1, description="How many at most.")]


class Body(BaseModel):
    """What a client sends: unknown names are refused, types are not bent."""

    model_config = ConfigDict(extra="forbid", strict=True, cache_strings="keys")
    """cache_strings: pydantic would keep 16,384 ids of events that never come again."""


class Query(BaseModel):
    """A query string: everything comes as text."""

    model_config = ConfigDict(extra="forbid")


class ModelQuery(Query):
    """A query of one model."""

    name: str | None = Field(None, alias="model")


class FilterQuery(ModelQuery):
    """A query for a list of items."""

    k: Count = 10
    deny: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    not_category: tuple[str, ...] = ()
    seq: int | None = Field(None, ge=0)

    @property
    def where(self) -> Conditions | None:
        """The categories; None where none are named."""
        if not self.category and not self.not_category:
            return None
        return Conditions(any=self.category, none=self.not_category)


class Answer(BaseModel):
    """What every answer says of itself. took_us: microseconds inside the service."""

    request_id: str = ""
    model: ModelRef | None = None
    took_us: int = 0


class Problem(BaseModel):
    """An error (RFC 9457): `detail` is one line that names the value and the way out."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str = ""
    at: int | None = Field(None, description="The index in a list of the first that is wrong.")


Json = dict[str, Any]
