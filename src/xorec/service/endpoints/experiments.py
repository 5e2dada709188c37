"""Experiments: shares of users by model, and what came of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.evaluation.significance import bootstrap_interval
from xorec.service.experiments import difference_test
from xorec.service.http.routes import Call, Route
from xorec.service.schemas.admin import (
    ArmOut,
    ExperimentBody,
    ExperimentChanged,
    ExperimentList,
    ExperimentOut,
    ExperimentQuery,
)
from xorec.service.service import Service

Floats = npt.NDArray[np.float64]


async def put_experiment(service: Service, call: Call) -> ExperimentChanged:
    """Begin an experiment, change its shares, or end it (`active: false`)."""
    body: ExperimentBody = call.body
    for name, share in body.arms.items():
        service.models[name]  # says which there are
        if not (math.isfinite(share) and share >= 0):
            raise OptionError(f"the share of {quoted(name)} is {share}: give 0 or more.")
    if not sum(body.arms.values()) > 0:
        raise OptionError("the shares of an experiment add up to 0: give one of them more.")
    seq = await asyncio.wrap_future(
        service.require_writer().change("experiment", body.model_dump())
    )
    made = _described(body.model_dump())
    return ExperimentChanged(model=service.models.default.ref, experiment=made, seq=seq)


def get_experiments(service: Service, call: Call) -> ExperimentList:
    """All experiments, or one; with their results."""
    query: ExperimentQuery = call.query
    known = service.models.experiments
    if query.name is not None and query.name not in known:
        raise UnknownIdError(f"there is no experiment {quoted(query.name)}.")
    names = [query.name] if query.name is not None else list(known)
    found = [_with_results(service, known[name], query.kind) for name in names]
    return ExperimentList(model=service.models.default.ref, experiments=found)


def _described(body: Mapping[str, Any]) -> ExperimentOut:
    whole = sum(body["arms"].values())
    arms = [ArmOut(model=name, share=share / whole) for name, share in body["arms"].items()]
    return ExperimentOut(
        name=body["name"], salt=body.get("salt", ""), active=body.get("active", True), arms=arms
    )


def _with_results(service: Service, body: Mapping[str, Any], kind: str | None) -> ExperimentOut:
    """Users are the units: each counts once, by the share of their lists that they acted on."""
    made = _described(body)
    rates: dict[str, list[float]] = {arm.model: [] for arm in made.arms}
    by_name = {arm.model: arm for arm in made.arms}
    for outcome in service.reader.outcomes(made.name, kind):
        arm = by_name.get(outcome.arm)
        if arm is None:
            continue
        arm.users += 1
        arm.lists += outcome.lists
        arm.successes += outcome.successes
        rates[outcome.arm].append(outcome.successes / outcome.lists)
    values: dict[str, Floats] = {name: np.array(rates[name]) for name in rates}
    for arm in made.arms:
        if arm.users:
            own = values[arm.model]
            sure = bootstrap_interval(own, np.ones_like(own))
            arm.rate, arm.interval = float(own.mean()), (sure.low, sure.high)
    first = made.arms[0]
    made.tests = [
        {
            "arm": arm.model,
            "against": first.model,
            **difference_test(values[arm.model], values[first.model]),
        }
        for arm in made.arms[1:]
        if arm.users and first.users
    ]
    return made


ROUTES = (
    Route(
        method="PUT",
        path="/v1/experiments",
        handler=put_experiment,
        body=ExperimentBody,
        answer=ExperimentChanged,
        role="admin",
        writer=True,
        tag="experiments",
        summary="Split users between models, by hash.",
    ),
    Route(
        method="GET",
        path="/v1/experiments",
        handler=get_experiments,
        query=ExperimentQuery,
        answer=ExperimentList,
        thread=True,
        tag="experiments",
        summary="Experiments with their results: rates with intervals, and tests.",
    ),
)
