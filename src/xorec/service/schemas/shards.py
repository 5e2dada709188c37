"""What a front asks of its shards, and what they answer. Arrays are base64, little-endian."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from xorec.service.schemas.base import Answer, Body, Count


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is no base64") from None


_PATTERN = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_BASE64 = {"type": "string", "contentEncoding": "base64", "pattern": _PATTERN}
Packed = Annotated[bytes, BeforeValidator(_decoded), WithJsonSchema(_BASE64)]


class ShardQuery(Body):
    """One query, in the arrays that the model ranks by: those of its kind, no others."""

    codes: Packed | None = Field(None, description="The words of a code, uint64.")
    vectors: Packed | None = Field(None, description="A vector, float32.")
    weights: Packed | None = Field(None, description="Weights of the groups of a code, float32.")
    items: Packed | None = Field(None, description="Rows of the items somebody has, int32.")
    values: Packed | None = Field(None, description="What these count, float32; else 1 each.")
    users: Packed | None = Field(None, description="The row of a user, int64.")


class ShardSearchBody(Body):
    """The best items of a shard for one query. Rows are those of the whole model."""

    digest: str = Field(description="Of the model file that the front serves.")
    shard: str = Field("1/1", description="Which shard the front takes this for: number/count.")
    k: Count = 10
    query: ShardQuery
    without: Packed = Field(b"", description="Rows that may not come, int32, ascending.")
    allow: Packed | None = Field(None, description="Only these rows, int32, ascending.")
    allow_bits: Packed | None = Field(
        None, description="Only these: a bit for each row of the shard, the lowest bit first."
    )


class ShardHits(Answer):
    """rows: of the best items, best first. Ties are in the order of the model's tie rank."""

    rows: list[int]
    scores: list[float]
    distances: list[int] | None = None


class ShardAnswer(Answer):
    """Which items this server searches: the rows from `start` up to `stop`, of `items`."""

    shard: str
    start: int
    stop: int
    items: int
