"""The request for a list, checked: ids in the types of the model, limits, seqs of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from xorec.core.errors import OptionError
from xorec.service.api.base import Body, Count, FilterQuery, JsonId
from xorec.service.http.problems import busy
from xorec.service.ids import id_of, id_of_text
from xorec.service.live.filters import Conditions
from xorec.service.live.lists import ListRequest
from xorec.service.live.model import LiveModel
from xorec.service.log.records import Id

if TYPE_CHECKING:
    from xorec.service.service import Service


Ids = Annotated[list[JsonId], Field(max_length=100_000)]
Labels = Annotated[list[str], Field(max_length=100)]
Attributes = Annotated[dict[str, str | int | float | bool], Field(max_length=100)]


class Where(Body):
    """Which items may come. any, all, none: categories; attributes: equal to these values."""

    any: Labels = []
    all: Labels = []
    none: Labels = []
    attributes: Attributes = {}

    def conditions(self) -> Conditions:
        return Conditions(self.any, self.all, self.none, self.attributes)


class RecommendBody(Body):
    """For whom, and which items may come."""

    user: JsonId | None = None
    items: Ids = Field([], description="Items of a new user, or more of a user.")
    k: Count = 10
    seen: bool = Field(False, description="List items that the user has, too.")
    allow: Ids | None = Field(None, description="Only these items.")
    deny: Ids = Field([], description="Not these items.")
    shown: Ids = Field([], description="Items that stand on the page already.")
    where: Where | None = None
    name: str | None = Field(None, alias="model", description="A model by its name.")
    experiment: str | None = None
    explain: bool = False
    seq: int | None = Field(None, ge=0, description="Answer with all events up to this seq.")


class RecommendQuery(FilterQuery):
    """The same in a query string; lists by repeating the name."""

    user: str | None = None
    items: tuple[str, ...] = ()
    seen: bool = False
    allow: tuple[str, ...] | None = None
    shown: tuple[str, ...] = ()
    experiment: str | None = None
    explain: bool = False


def request_of(
    live: LiveModel, asked: RecommendBody | RecommendQuery, user: Id | None
) -> ListRequest:
    """The request of a body or a query string. user: its user, as JSON has the id."""
    is_body = isinstance(asked, RecommendBody)
    if user is None and not asked.items:
        how = "user, or items that a" if is_body else "user=ID, or items=ID for what a"
        raise OptionError(f"say for whom: give {how} new user has.")
    read = id_of if is_body else id_of_text

    def several(name: str) -> list[Id]:
        return [read(live.items, one, name) for one in getattr(asked, name)]

    return ListRequest(
        user=user,
        items=several("items"),
        k=asked.k,
        seen=asked.seen,
        allow=None if asked.allow is None else several("allow"),
        deny=[*several("deny"), *several("shown")],
        where=asked.where.conditions() if isinstance(asked.where, Where) else asked.where,
        experiment=asked.experiment,
        explain=asked.explain,
    )


def user_of(live: LiveModel, text: str) -> Id:
    """The user that a query string names, as JSON has the id."""
    return id_of_text(live.users, text, "user")


def item_of(live: LiveModel, text: str) -> Id:
    """The item that a query string names."""
    return id_of_text(live.items, text, "item")


def items_of(live: LiveModel, texts: Sequence[str], what: str) -> list[Id]:
    """The items that a query string names."""
    return [id_of_text(live.items, text, what) for text in texts]


async def check_seq(service: Service, seq: int | None) -> None:
    """Wait until everything up to this seq of the log is known; 503 if it takes long,
    422 if the log has no such seq."""
    if seq is None or seq <= service.models.applied_seq:
        return
    if not await service.log_has(seq):
        raise OptionError(
            f"seq is {seq}, and the log ends at {service.sequence.value}: pass what an answer to "
            "/v1/events has said."
        )
    if not await service.reach(seq):
        raise busy(
            f"seq {seq} has not come here yet, the log is at {service.models.applied_seq}: "
            "ask again."
        )
