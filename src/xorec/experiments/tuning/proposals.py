"""Which settings the next trial of a study has.

Trial 0 has the model's defaults; a few points that fill the space evenly follow; then Optuna's TPE
proposes. The answer hangs on the seed and the trials before it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xorec.core.rng import hash_integers
from xorec.models import model_class
from xorec.training.space import Float, Int, Range, Space

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

    trial_seed = int(hash_integers(np.array([number]), seed)[0] % 2**31)
    sampler = optuna.samplers.TPESampler(
        seed=trial_seed, n_startup_trials=2, multivariate=True, constant_liar=bool(pending)
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials([_without_failure(trial) for trial in finished])
    study.add_trials([_running(params, space) for params in pending])
    proposed = study.ask({name: distribution(one) for name, one in space.items()}).params
    return {name: one.rounded(proposed[name]) for name, one in space.items()}


def _without_failure(trial: Any) -> Any:
    """A trial for TPE: one that failed as one that found nothing, for it skips failures."""
    from optuna.trial import TrialState, create_trial

    if trial.state != TrialState.FAIL:
        return trial
    return create_trial(value=0.0, params=trial.params, distributions=trial.distributions)


def _running(params: Mapping[str, Any], space: Space) -> Any:
    from optuna.trial import TrialState, create_trial

    distributions = {name: distribution(space[name]) for name in params}
    return create_trial(state=TrialState.RUNNING, params=dict(params), distributions=distributions)


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
