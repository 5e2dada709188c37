"""A round of a study: the trials that are proposed from those of the rounds before.

Trial 0 has the model's defaults; a few points that fill the space evenly follow; then Optuna's TPE
proposes. The answer hangs on the seed and the trials before it alone.

Round r has the trials r n up to (r + 1) n - 1, n the number of trials at once. Each is proposed
from the trials of the rounds before and from the settings of those before it in its own round, and
is compared with the rounds before as it goes. So a round that was broken off goes on as it would
have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.engine import Arrays, pickled, unpickled
from xorec.core.options import RunOptions
from xorec.core.progress import Task
from xorec.core.rng import hash_integers
from xorec.core.threads import LRUCache
from xorec.models import model_class
from xorec.selection.shared_work import (
    read_shared,
    shared_object,
    task_options,
    vectors_learned_once,
)
from xorec.selection.tuning.trial_fits import Curve, Search, TrialFit, TrialFitter
from xorec.training.config import Float, Int, Range, Space

_EVEN = 4
"""From this trial on, TPE proposes: budgets are small, and the defaults are a good place."""


def propose(
    model: str,
    space: Space,
    finished: Sequence[Any],
    seed: int,
    fixed: Mapping[str, Any],
    pending: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The settings of the next trial: the defaults, points that fill the space, then TPE. A
    default that is `auto` is no point of the space: it is left out, and to the model.

    pending: the settings of trials behind the finished ones whose values are not known: TPE takes
    them for bad ones, so that trials side by side do not all try the same.
    """
    number = len(finished) + len(pending)
    if number == 0:
        config = model_class(model)(**fixed).config.model_dump()
        return {name: config[name] for name, one in space.items() if config[name] in one}
    if number < _EVEN:
        return even_point(space, number, seed)
    import optuna
    from optuna.trial import TrialState

    trial_seed = int(hash_integers(np.array([number]), seed)[0] % 2**31)
    sampler = optuna.samplers.TPESampler(
        seed=trial_seed, n_startup_trials=2, multivariate=True, constant_liar=bool(pending)
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in finished:  # one that failed has found nothing: TPE skips failures
        failed = one.state == TrialState.FAIL
        study.add_trial(_trial(space, one.params, TrialState.COMPLETE, 0.0) if failed else one)
    study.add_trials([_trial(space, params, TrialState.RUNNING) for params in pending])
    proposed = study.ask({name: distribution(one) for name, one in space.items()}).params
    return {name: one.rounded(proposed[name]) for name, one in space.items()}


def even_point(space: Space, number: int, seed: int) -> dict[str, Any]:
    """Point `number` of a sequence that fills the space evenly.

    Each coordinate goes on by a power of 1 / phi, phi the root of phi^(d+1) = phi + 1 (the golden
    ratio for d = 1), from a start that the seed gives.
    """
    phi = 2.0
    for _ in range(60):
        phi = (1.0 + phi) ** (1.0 / (len(space) + 1))
    starts = hash_integers(np.arange(len(space)), seed) / 2.0**64
    return {
        name: one.at(float((start + number * phi ** -(place + 1)) % 1.0))
        for place, (start, (name, one)) in enumerate(zip(starts, space.items(), strict=True))
    }


def distribution(one: Range) -> Any:
    """A range as Optuna has it."""
    from optuna import distributions

    if isinstance(one, Float):
        return distributions.FloatDistribution(one.low, one.high, log=one.log)
    if isinstance(one, Int):
        return distributions.IntDistribution(one.low, one.high, log=one.log)
    return distributions.CategoricalDistribution(one.values)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A trial to be. params: what was proposed; settings: all that move. same: the number of an
    earlier trial with the same settings, whose result it has."""

    number: int
    params: dict[str, Any]
    settings: dict[str, Any]
    same: int | None


@dataclass(frozen=True, eq=False)
class TrialRunner:
    """What is searched, the seed, and what fits the trials of a round, in their order.

    fits: (proposals, curves of earlier trials, the best value) -> a fit for each.
    """

    search: Search
    seed: int
    fits: Callable[[Sequence[Proposal], Sequence[Curve], float], Iterator[TrialFit]]


@contextmanager
def running(search: Search, options: RunOptions, bar: Task) -> Iterator[TrialRunner]:
    """A runner of trials: one after the other here, side by side on a remote engine."""
    if (engine := options.remote_engine) is not None:
        work = engine.for_long_blocks()
        with shared_object(engine, "search", search) as shared:

            def side_by_side(
                wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
            ) -> Iterator[TrialFit]:
                blocks = [{"trial": pickled((one.settings, list(curves)))} for one in wanted]
                for made in work.map_blocks(fit_trial, blocks, [shared], seed=options.seed):
                    yield unpickled(made["fit"])

            yield TrialRunner(search, options.seed, side_by_side)
        return
    with vectors_learned_once(options) as cached:
        fitter = TrialFitter(search, cached)

        def in_turn(
            wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
        ) -> Iterator[TrialFit]:
            for one in wanted:
                figures: dict[str, float | str] = {"trial": str(one.number), "best": best}
                yield fitter.fit(one.settings, curves, bar, figures)

        yield TrialRunner(search, options.seed, in_turn)


_FITTERS = LRUCache[TrialFitter](most=1)
"""Of a process that fits trials for others, by the path of the search."""


def fit_trial(block: Arrays, shared: Arrays, *, seed: int) -> Arrays:
    """A block function: one trial. Vectors that several start from are kept beside the search."""
    path = str(shared["search"])
    fitter = _FITTERS.get(path, lambda: TrialFitter(read_shared(path), task_options(path, seed)))
    settings, curves = unpickled(block["trial"])
    return {"fit": pickled(fitter.fit(settings, curves, Task(), {}))}


def next_round(
    runner: TrialRunner, finished: Sequence[Any], trials: int, at_once: int
) -> Iterator[Any]:
    """The trials that are left of the round, as Optuna keeps them; at most `trials` in all."""
    from optuna.trial import TrialState

    begin = len(finished) // at_once * at_once
    before = finished[:begin]
    proposals = _proposals(runner, finished, begin, min(trials, begin + at_once))
    complete = [trial for trial in before if trial.state == TrialState.COMPLETE]
    curves = [trial.intermediate_values for trial in complete]
    best = max((trial.value for trial in complete), default=0.0)
    fits = runner.fits([one for one in proposals if one.same is None], curves, best)
    known = list(finished)
    for one in proposals:
        if one.same is None:
            fit = next(fits)
            about = {"settings": one.settings, "epochs": 0, "refit": {}, **fit.attributes}
            about["seconds"] = fit.seconds
            found: tuple[Any, ...] = TrialState[fit.state], fit.value, about, fit.curve
        else:
            same = known[one.same]
            note = same.user_attrs.get("note") or f"as trial {one.same}"
            about = {**same.user_attrs, "note": note, "seconds": 0.0}
            found = same.state, same.value, about, dict(same.intermediate_values)
        known.append(_trial(runner.search.space, one.params, *found))
        yield known[-1]


def _proposals(
    runner: TrialRunner, finished: Sequence[Any], begin: int, end: int
) -> list[Proposal]:
    """Of the trials behind the finished ones, up to `end`; `begin`: where their round begins."""
    search, made = runner.search, list[Proposal]()
    known = [trial.user_attrs["settings"] for trial in finished]
    pending = [trial.params for trial in finished[begin:]]
    for number in range(len(finished), end):
        params = propose(
            search.model, search.space, finished[:begin], runner.seed, search.fixed, pending
        )
        settings = {**search.defaults(), **params}
        same = known.index(settings) if settings in known else None
        made.append(Proposal(number, params, settings, same))
        known.append(settings)
        pending.append(params)
    return made


def _trial(
    space: Space,
    params: Mapping[str, Any],
    state: Any,
    value: float | None = None,
    attributes: dict[str, Any] | None = None,
    curve: dict[int, float] | None = None,
) -> Any:
    """A trial as Optuna keeps it."""
    from optuna.trial import create_trial

    return create_trial(
        state=state,
        value=value,
        params=dict(params),
        distributions={name: distribution(space[name]) for name in params},
        user_attrs=attributes,
        intermediate_values=curve,
    )
