"""What shards and fronts do not answer: each of their routes says so, and where to go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Call, Route
from xorec.service.settings.config import Config

if TYPE_CHECKING:
    from xorec.service.service import Service

_OF_A_SHARD = ("/v1/shard", "/v1/shard/search")
_NEW_FILE = "make a new model file, start shards with it, then a front (docs/service.md says how)"
_NO_SHARD = "it has shards, and is none: ask one of these"
_NOT_BY_A_FRONT = {
    ("GET", "/v1/shard"): _NO_SHARD,
    ("POST", "/v1/shard/search"): _NO_SHARD,
    ("POST", "/v1/refit"): f"its shards would go on with the model that they have: {_NEW_FILE}",
    ("POST", "/v1/models/activate"): f"its shards have one model: {_NEW_FILE}",
    ("POST", "/v1/models/rollback"): f"its shards have one model: {_NEW_FILE}",
    ("DELETE", "/v1/events"): f"the shards' files would keep the user: {_NEW_FILE}",
    ("GET", "/v1/compare"): "its shards have one model: compare on a server that has all items",
}


def answered_by(config: Config, routes: Iterable[Route]) -> tuple[Route, ...]:
    """The routes as a server with these settings has them."""
    if config.shard:
        why = f"it holds shard {config.shard} of the items, for a front: ask the front"
        return tuple(one if one.path in _OF_A_SHARD else _refused(one, 421, why) for one in routes)
    if not config.shards:
        return tuple(routes)
    made = []
    for route in routes:
        reason = _NOT_BY_A_FRONT.get((route.method, route.path))
        if reason is not None:
            route = _refused(route, 501, reason)
        elif route.path == "/v1/similar":
            route = replace(route, thread=True)  # it waits for shards
        made.append(route)
    return tuple(made)


def _refused(route: Route, status: int, why: str) -> Route:
    """The same route, with nothing behind it."""

    def refuse(service: Service, call: Call) -> NoReturn:
        raise HttpError(status, f"{route.path} is not answered by this server: {why}.")

    return replace(route, handler=refuse, thread=False, writer=False)
