"""Two models side by side."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, Json, Query

MeasuredOn = Literal["newest events", "validation"]


class CompareQuery(Query):
    """Two models by name. users: so many of those whom both know are compared, always the same."""

    a: str = "default"
    b: str
    k: int = Field(10, ge=1)
    users: int = Field(200, ge=1, le=2000)


class ComparedModel(BaseModel):
    """What is served under a name. gate: what its refit reached, where a refit made it."""

    name: str
    kind: str
    generation: int
    digest: str
    gate: Json | None = None


class Measured(BaseModel):
    """A figure with an interval of 95 % confidence over the users that it was measured on."""

    value: float
    low: float | None = None
    high: float | None = None
    users: int


class Difference(BaseModel):
    """a - b, paired by user, with its interval; p_value: two-sided, of a randomisation test."""

    value: float
    low: float
    high: float
    p_value: float


class ComparedMetric(BaseModel):
    """One metric of both models; null where it is not known. measured_on: "newest events" of the
    log, which neither model has learned; or the "validation" part of each model's own fit.

    comparable: both were measured on the same pairs. difference: null where nothing is paired.
    """

    metric: str
    measured_on: MeasuredOn
    how: str
    a: Measured | None
    b: Measured | None
    comparable: bool
    difference: Difference | None = None


class DifferingUser(BaseModel):
    """A user and the share of both lists that is the same."""

    user: Any
    overlap: float
    shared: int


class CompareAnswer(Answer):
    """measured_on: the best that is known of both, or null; not_measured: why the newest events
    say nothing. users: how many were compared; overlap: their mean. differ: lowest overlap first.
    """

    a: ComparedModel
    b: ComparedModel
    k: int
    measured_on: MeasuredOn | None
    not_measured: str | None = None
    metrics: list[ComparedMetric]
    users: int
    overlap: float | None
    overlap_low: float | None = None
    overlap_high: float | None = None
    differ: list[DifferingUser]
    seq: int = Field(description="The place of the log as of which this was found.")
