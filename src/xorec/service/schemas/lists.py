"""Lists: what is asked for, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, Body, Count, JsonId, Query

Ids = Annotated[list[JsonId], Field(max_length=100_000)]
Fallback = Literal["popular"] | None


class Where(Body):
    """Which items may come. any, all, none: categories; attributes: equal to these values."""

    any: list[str] = []
    all: list[str] = []
    none: list[str] = []
    attributes: dict[str, str | int | float | bool] = {}


class RecommendBody(Body):
    """For whom, and which items may come."""

    user: JsonId | None = None
    items: Ids = Field([], description="What somebody new has, or what a user has besides.")
    k: Count = 10
    seen: bool = Field(False, description="List items that the user has, too.")
    allow: Ids | None = Field(None, description="Only these items.")
    deny: Ids = Field([], description="Not these items.")
    shown: Ids = Field([], description="Items that stand on the page already.")
    where: Where | None = None
    name: str | None = Field(None, alias="model", description="A model by its name.")
    experiment: str | None = None
    explain: bool = False
    seq: int | None = Field(None, ge=0, description="Answer with all events up to this place.")


class RecommendQuery(Query):
    """The same in a query string; lists by repeating the name."""

    user: str | None = None
    items: tuple[str, ...] = ()
    k: Count = 10
    seen: bool = False
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    not_category: tuple[str, ...] = ()
    name: str | None = Field(None, alias="model")
    experiment: str | None = None
    explain: bool = False
    seq: int | None = Field(None, ge=0)


@dataclass(slots=True)
class Reason:
    """One of the user's own items that speaks for an item."""

    id: JsonId
    name: str | None = None
    score: float | None = None


@dataclass(slots=True)
class Item:
    """One item of a list. No pydantic model: making ten of these takes longer than finding them."""

    id: JsonId
    name: str | None = None
    distance: int | None = None
    score: float | None = None
    because: list[Reason] | None = None


class RecommendAnswer(Answer):
    """A list, best first. unknown: items of the request that the model does not have.

    hint: where one of these looks like several ids, how to give them.
    """

    user: JsonId | None = None
    items: list[Item]
    fallback: Fallback = None
    unknown: list[JsonId] = []
    hint: str | None = None
    experiment: str | None = None
    arm: str | None = None


class BatchBody(Body):
    """Up to 1,000 queries. distinct: no item twice on the page that they are the shelves of."""

    queries: list[Any] = Field(min_length=1, description="Bodies of /v1/recommend.")
    distinct: bool = False


class BatchResult(BaseModel):
    """One query's own status, and its list or what is wrong."""

    status: int
    answer: RecommendAnswer | None = None
    detail: str | None = None


class BatchAnswer(Answer):
    """Results in the order of the queries."""

    results: list[BatchResult]


class NextQuery(Query):
    """Go on after a list, without repeats."""

    request_id: str
    k: int | None = Field(None, ge=1)


class SimilarQuery(Query):
    """Items like an item."""

    item: str
    k: Count = 10
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    not_category: tuple[str, ...] = ()
    name: str | None = Field(None, alias="model")
    seq: int | None = Field(None, ge=0)


class SimilarAnswer(Answer):
    """Items like an item, most alike first."""

    item: JsonId
    items: list[Item]


class SimilarUsersQuery(Query):
    """Users like a user."""

    user: str
    k: Count = 10
    name: str | None = Field(None, alias="model")


class User(BaseModel):
    """One user of a list."""

    id: JsonId
    distance: int | None = None
    score: float | None = None


class SimilarUsersAnswer(Answer):
    """Users like a user, most alike first."""

    user: JsonId
    users: list[User]


class ExplainQuery(Query):
    """Why this item for this user, or for somebody who has these items."""

    item: str
    user: str | None = None
    items: tuple[str, ...] = ()
    k: Count = 5
    name: str | None = Field(None, alias="model")
    seq: int | None = Field(None, ge=0)


class ExplainAnswer(Answer):
    """What speaks for the item."""

    user: JsonId | None = None
    item: JsonId
    explanation: dict[str, Any]


class RankedQuery(Query):
    """Popular, latest or trending items."""

    k: Count = 10
    user: str | None = Field(None, description="Without what this user has.")
    deny: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    not_category: tuple[str, ...] = ()
    name: str | None = Field(None, alias="model")
    seq: int | None = Field(None, ge=0)


class TrendingQuery(RankedQuery):
    """window: seconds, or 90s, 15m, 24h, 7d."""

    window: str = "24h"


class RankedAnswer(Answer):
    """Items with what they are ranked by: counts, or times."""

    items: list[Item]
