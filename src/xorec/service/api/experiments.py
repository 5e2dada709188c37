"""Experiments: shares of users by model, and what came of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import did_you_mean, quoted
from xorec.evaluation.significance import bootstrap_interval
from xorec.service.api.base import Answer, Body, Json, Query
from xorec.service.http.routes import Routes
from xorec.service.log.records import Id
from xorec.service.service import Service

ROUTES = Routes("experiments")

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


class ExperimentBody(Body):
    """Shares of users by model: {"default": 0.5, "b": 0.5}. A user stays where the hash says."""

    name: Name
    arms: dict[str, float] = Field(min_length=1, max_length=16)
    salt: str = Field("", max_length=64)
    active: bool = True


class ExperimentQuery(Query):
    """One experiment with its results, or all."""

    name: str | None = None
    kind: str | None = Field(None, description="Events of this kind only count as success.")


class ArmOut(BaseModel):
    """One arm. rate: the mean over its users of the share of their lists that they acted on."""

    model: str
    share: float
    users: int = 0
    lists: int = 0
    successes: int = 0
    rate: float | None = None
    interval: tuple[float, float] | None = None


class ExperimentOut(BaseModel):
    """An experiment. test: of the difference between each arm and the first."""

    name: str
    salt: str
    active: bool
    arms: list[ArmOut]
    tests: list[Json] = []


class ExperimentList(Answer):
    """Experiments."""

    experiments: list[ExperimentOut]


class ExperimentChanged(Answer):
    """An experiment that was set."""

    experiment: ExperimentOut
    seq: int


def share_of(salt: str, user: Id) -> float:
    """Where a user stands between 0 and 1: the same in every process, for ever.

    >>> share_of("spring", 4711) == share_of("spring", 4711) != share_of("autumn", 4711)
    True
    """
    text = json.dumps([salt, user], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2**64


def arm_of(experiments: Mapping[str, Mapping[str, Any]], name: str, user: Id | None) -> str:
    """The model that an experiment gives to a user; its first arm if there is no user id."""
    found = experiments.get(name)
    if found is None:
        hint = did_you_mean(name, experiments)
        raise OptionError(f"there is no experiment {quoted(name)}.{hint}")
    arms: Mapping[str, float] = found["arms"]
    first = next(iter(arms))
    if user is None or not found.get("active", True):
        return first
    at, whole = share_of(f"{name}:{found.get('salt', '')}", user), sum(arms.values())
    below = 0.0
    for arm, share in arms.items():
        below += share / whole
        if at < below:
            return arm
    return first


def difference_test(
    mine: npt.NDArray[np.float64],
    others: npt.NDArray[np.float64],
    *,
    samples: int = 2000,
    seed: int = 0,
) -> dict[str, float | list[float]]:
    """The difference of two means over different users: bootstrap interval, permutation p-value.

    Users are in one arm only, so nothing is paired: labels are permuted.

    >>> found = difference_test(np.full(50, 0.9), np.full(50, 0.1))
    >>> found["difference"], found["p_value"] < 0.001
    (0.8, True)
    """
    rng = np.random.default_rng(seed)
    observed = float(mine.mean() - others.mean())
    both, count = np.concatenate([mine, others]), len(mine)
    draws, dealt = np.empty(samples), np.empty(samples)
    for draw in range(samples):
        first = rng.choice(mine, size=count).mean()
        draws[draw] = first - rng.choice(others, size=len(others)).mean()
        shuffled = rng.permutation(both)
        dealt[draw] = shuffled[:count].mean() - shuffled[count:].mean()
    low, high = np.quantile(draws, [0.025, 0.975])
    as_large = np.count_nonzero(np.abs(dealt) >= abs(observed) * (1 - 1e-12))
    return {
        "difference": round(observed, 12),
        "interval": [float(low), float(high)],
        "p_value": float((as_large + 1) / (samples + 1)),
    }


Floats = npt.NDArray[np.float64]


@ROUTES("PUT", "/v1/experiments", role="admin", writer=True)
async def put_experiment(service: Service, body: ExperimentBody) -> ExperimentChanged:
    """Split users between models, by hash."""
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


@ROUTES("GET", "/v1/experiments", thread=True)
def get_experiments(service: Service, query: ExperimentQuery) -> ExperimentList:
    """Experiments with their results: rates with intervals, and tests."""
    known = service.models.experiments
    if query.name is not None and query.name not in known:
        raise UnknownIdError(f"there is no experiment {quoted(query.name)}.")
    names = [query.name] if query.name is not None else list(known)
    found = [_with_results(service, known[name], query.kind) for name in names]
    return ExperimentList(model=service.models.default.ref, experiments=found)


def _interval(rates: Floats) -> tuple[float, float]:
    """Of the mean, by bootstrap; of users who are all alike by Wilson's formula.

    >>> _interval(np.ones(32))
    (0.8928208002353197, 1.0)
    """
    if np.ptp(rates) > 0:
        sure = bootstrap_interval(rates, np.ones_like(rates))
        return sure.low, sure.high
    z, n, p = 1.959964, len(rates), float(rates[0])
    centre, whole = p + z * z / (2 * n), 1 + z * z / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (centre - half) / whole), min(1.0, (centre + half) / whole)


def _described(body: Mapping[str, Any]) -> ExperimentOut:
    whole = sum(body["arms"].values())
    arms = [ArmOut(model=name, share=share / whole) for name, share in body["arms"].items()]
    return ExperimentOut(
        name=body["name"], salt=body.get("salt", ""), active=body.get("active", True), arms=arms
    )


def _with_results(service: Service, body: Mapping[str, Any], kind: str | None) -> ExperimentOut:
    """Users are the units: each counts once, by the share of their lists that they acted on."""
    made, values = _described(body), dict[str, Floats]()
    outcomes = list(service.reader.outcomes(made.name, kind))
    for arm in made.arms:
        theirs = [one for one in outcomes if one.arm == arm.model]
        arm.users, arm.lists = len(theirs), sum(one.lists for one in theirs)
        arm.successes = sum(one.successes for one in theirs)
        own = values[arm.model] = np.array([one.successes / one.lists for one in theirs])
        if arm.users:
            arm.rate, arm.interval = float(own.mean()), _interval(own)
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
