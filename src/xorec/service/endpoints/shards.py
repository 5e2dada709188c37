"""Shards: what a front asks of the servers that hold its items."""

from __future__ import annotations

from xorec.service.http.routes import Call, Route
from xorec.service.schemas.shards import ShardAnswer, ShardHits, ShardSearchBody
from xorec.service.service import Service
from xorec.service.shards.held import held_by


def get_shard(service: Service, call: Call) -> ShardAnswer:
    """Which items this server searches."""
    return held_by(service).describe()


def post_search(service: Service, call: Call) -> ShardHits:
    """The best of its items for one query."""
    return held_by(service).search(call.body)


ROUTES = (
    Route(
        method="GET",
        path="/v1/shard",
        handler=get_shard,
        answer=ShardAnswer,
        tag="shards",
        summary="Which items this server searches; all of them, unless it is a shard.",
    ),
    Route(
        method="POST",
        path="/v1/shard/search",
        handler=post_search,
        body=ShardSearchBody,
        answer=ShardHits,
        tag="shards",
        summary="For a front: the best of this server's items for a query that it has made.",
    ),
)
