"""What a list is asked for, checked: ids in the types of the model, limits, places of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xorec.core.errors import OptionError
from xorec.core.printable import jsonable
from xorec.service.events.records import Id
from xorec.service.http.problems import busy
from xorec.service.ids import from_json, from_query
from xorec.service.live.model import LiveModel
from xorec.service.schemas.lists import RecommendBody, RecommendQuery, Where

if TYPE_CHECKING:
    from xorec.service.service import Service


@dataclass(frozen=True, slots=True)
class Asked:
    """A list that is asked for. Ids are as JSON has them; deny: what was shown is in it, too."""

    user: Id | None
    items: Sequence[Id] = ()
    k: int = 10
    seen: bool = False
    allow: Sequence[Id] | None = None
    deny: Sequence[Id] = ()
    where: Where | None = None
    experiment: str | None = None
    explain: bool = False

    def without(self, shown: Sequence[Id], k: int | None) -> Asked:
        """The same, going on after what was shown."""
        return replace(self, deny=[*self.deny, *shown], k=k or self.k)


def asked_of(live: LiveModel, body: RecommendBody) -> Asked:
    """What a body asks for."""
    if body.user is None and not body.items:
        raise OptionError("say for whom: give user, or items that somebody new has.")
    users, items = live.users, live.items

    def several(values: Sequence[Any], what: str) -> list[Id]:
        return [jsonable(from_json(items, one, what)) for one in values]

    return Asked(
        user=None if body.user is None else jsonable(from_json(users, body.user, "user")),
        items=several(body.items, "items"),
        k=body.k,
        seen=body.seen,
        allow=None if body.allow is None else several(body.allow, "allow"),
        deny=[*several(body.deny, "deny"), *several(body.shown, "shown")],
        where=body.where,
        experiment=body.experiment,
        explain=body.explain,
    )


def asked_of_query(live: LiveModel, query: RecommendQuery) -> Asked:
    """What a query string asks for."""
    if query.user is None and not query.items:
        raise OptionError("say for whom: give user=ID, or items=ID for what somebody new has.")
    where = None
    if query.category or query.not_category:
        where = Where(any=list(query.category), none=list(query.not_category))
    return Asked(
        user=None if query.user is None else one_of(live, "user", query.user),
        items=items_of(live, query.items, "items") if query.items else (),
        k=query.k,
        seen=query.seen,
        allow=None if query.allow is None else items_of(live, query.allow, "allow"),
        deny=items_of(live, [*query.deny, *query.shown], "deny"),
        where=where,
        experiment=query.experiment,
        explain=query.explain,
    )


def one_of(live: LiveModel, what: str, text: str) -> Id:
    """The id of a query string: a user or an item, as JSON has it."""
    return jsonable(from_query(live.users if what == "user" else live.items, text, what))


def items_of(live: LiveModel, texts: Sequence[str], what: str) -> list[Id]:
    """Ids of items in a query string."""
    return [jsonable(from_query(live.items, text, what)) for text in texts]


async def check_seq(service: Service, seq: int | None) -> None:
    """Wait until everything up to this place of the log is known; 503 if it takes long,
    422 if the log has no such place."""
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
