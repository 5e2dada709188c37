"""Comparison of two models: what their lists have in common, and which ranks better."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from xorec.core.errors import OptionError
from xorec.core.printable import jsonable
from xorec.evaluation.significance import bootstrap_interval, sign_flip_test
from xorec.service.api.base import Answer, Json, Query
from xorec.service.http.routes import Routes
from xorec.service.live.held_out import FEWEST, Floats, held_out, hit, ndcg, ranks
from xorec.service.live.lists import ListRequest, make_list
from xorec.service.live.model import LiveModel
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes("figures")

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
    seq: int = Field(description="The seq of the log as of which this was found.")


_SECONDS = 2.0
"""For the lists, and again for the events that are held out."""
_SHOWN = 20
_TRIED = 20
"""Users that are looked at for each that is wanted: not all are known to both models."""


@ROUTES("GET", "/v1/compare", thread=True)
def get_compare(service: Service, query: CompareQuery) -> CompareAnswer:
    """Two models: what their lists have in common, and which of them ranks better."""
    a, b = service.models[query.a], service.models[query.b]
    if a.name == b.name:
        raise OptionError(f"a and b are both {a.name!r}: name two models (/v1/models lists them).")
    k, users, models = query.k, query.users, service.models
    made: CompareAnswer = service.comparisons.get(
        (a.ref, b.ref, k, users),
        models.applied_seq,
        lambda: _compared(service, a, b, k, users),
    )
    differ = [one for one in made.differ if models.erased.get(one.user, 0) <= made.seq]
    return made.model_copy(update={"differ": differ})


def _compared(service: Service, a: LiveModel, b: LiveModel, k: int, users: int) -> CompareAnswer:
    seq = service.models.applied_seq
    found = _overlaps(a, b, k, users)
    shares = np.array([one.overlap for one in found])
    overlap = _measured(shares) if len(shares) else None
    metrics, not_measured = _on_newest_events(a, b, k, users)
    metrics += _on_validation(a, b)
    usable = (one.measured_on for one in metrics if one.a is not None and one.b is not None)
    return CompareAnswer(
        model=a.ref,
        a=_described(a),
        b=_described(b),
        k=k,
        measured_on=next(usable, None),
        not_measured=not_measured,
        metrics=metrics,
        users=len(found),
        overlap=None if overlap is None else overlap.value,
        overlap_low=None if overlap is None else overlap.low,
        overlap_high=None if overlap is None else overlap.high,
        differ=sorted(found, key=lambda one: one.overlap)[:_SHOWN],
        seq=seq,
    )


def _described(live: LiveModel) -> ComparedModel:
    about = live.about
    return ComparedModel(
        name=live.name,
        kind=about.model,
        generation=about.number,
        digest=about.digest,
        gate=about.gate,
    )


# -- lists side by side


def _overlaps(a: LiveModel, b: LiveModel, k: int, users: int) -> list[DifferingUser]:
    """Of a sample of the users whom both models know, as many as time allows."""
    until = time.monotonic() + _SECONDS
    found: list[DifferingUser] = []
    for user in _sample(a, b, users):
        lists = [
            {one.id for one in make_list(live, ListRequest(user, k=k)).items} for live in (a, b)
        ]
        shared, longest = len(lists[0] & lists[1]), max(map(len, lists))
        if longest:
            found.append(DifferingUser(user=user, overlap=shared / longest, shared=shared))
        if time.monotonic() > until:
            break
    return found


def _sample(a: LiveModel, b: LiveModel, count: int) -> Iterator[Id]:
    """Users of both models, spread over the rows of a: the same ones every time."""
    rows, given = len(a.users), 0
    step = max(1, round(rows * 0.618))  # spreads those that it visits first
    while math.gcd(step, rows) > 1:  # and visits all
        step += 1
    for n in range(min(rows, _TRIED * count)):
        user = jsonable(a.users[n * step % rows])
        if a.user_row(user) >= 0 and b.user_row(user) >= 0:
            yield user
            given += 1
        if given == count:
            return


# -- which is better


def _on_newest_events(
    a: LiveModel, b: LiveModel, k: int, users: int
) -> tuple[list[ComparedMetric], str | None]:
    """Both models on events that neither has learned; or why they say nothing."""
    tests = held_out(a, b)
    if len(tests) >= FEWEST:
        rank = ranks(a, b, tests[: max(users, FEWEST)], k, _SECONDS)
        if len(rank) >= FEWEST:
            how = (
                f"the last new item of each of {len(rank):,} users, held out; both models know "
                "what came before it and have not learned from it"
            )
            return [
                _paired(f"{name}@{k}", how, *of(rank).T)
                for name, of in (("ndcg", ndcg), ("user_hr", hit))
            ], None
        tests = tests[: len(rank)]
    said = (
        f"{len(tests):,} users took an item after both models were trained, and {FEWEST} are "
        "needed to judge by"
    )
    return [], said


def _paired(metric: str, how: str, a: Floats, b: Floats) -> ComparedMetric:
    around, p_value = _measured(a - b), sign_flip_test(a - b)
    return ComparedMetric(
        metric=metric,
        measured_on="newest events",
        how=how,
        a=_measured(a),
        b=_measured(b),
        comparable=True,
        difference=Difference(**around.model_dump(), p_value=p_value),
    )


def _measured(values: Floats) -> Measured:
    around = bootstrap_interval(values, np.ones(len(values)))
    return Measured(value=float(values.mean()), low=around.low, high=around.high, users=len(values))


def _on_validation(a: LiveModel, b: LiveModel) -> list[ComparedMetric]:
    """What `xorec fit` has kept in the files: of each model's recipe on its own validation part."""
    kept = [live.recommender.metadata.get("validation") for live in (a, b)]
    first = kept[0] or kept[1]
    if first is None:
        return []
    return [
        ComparedMetric(
            metric=first["metric"],
            measured_on="validation",
            how=f"{first['judged_on']}, when the model was fitted, by a fit without these pairs",
            a=_from_file(kept[0], first["metric"]),
            b=_from_file(kept[1], first["metric"]),
            comparable=None not in kept and _judged_alike(a, b),
        )
    ]


def _judged_alike(a: LiveModel, b: LiveModel) -> bool:
    """The same pairs held out of the same data: by the same seed, in the same words."""
    one, other = (live.recommender.metadata for live in (a, b))
    return all(
        one.get(name, {}).get(part) == other.get(name, {}).get(part)
        for name, part in (("data", "digest"), ("validation", "judged_on"))
    ) and one.get("seed") == other.get("seed")


def _from_file(kept: Any, metric: str) -> Measured | None:
    if kept is None or kept["metric"] != metric:
        return None
    low, high = kept["interval"] or (None, None)
    return Measured(value=kept["value"], low=low, high=high, users=kept["users"])
