"""A round of a study: the trials that are proposed from those of the rounds before.

Round r has the trials r n up to (r + 1) n - 1, n the number of trials at once. Each is proposed
from the trials of the rounds before and from the settings of those before it in its own round, and
is compared with the rounds before as it goes. So a round that was broken off goes on as it would
have.

Which settings the next trial of a study has.

Trial 0 has the model's defaults; a few points that fill the space evenly follow; then Optuna's TPE
proposes. The answer hangs on the seed and the trials before it alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from xorec.core.engine import Arrays, Engine, Shared, pickled, unpickled
from xorec.core.files import temporary_folder
from xorec.core.options import RunOptions
from xorec.core.progress import Task
from xorec.core.rng import hash_integers
from xorec.core.threads import LRUCache
from xorec.models import model_class
from xorec.selection.tuning.trial_fits import Search, TrialFit, TrialFitter
from xorec.selection.tuning.watching import Curve
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


@dataclass(frozen=True, eq=False)
class RemoteTrials:
    """What is searched, where every task finds it."""

    engine: Engine
    shared: Shared
    seed: int

    @classmethod
    @contextmanager
    def opened(cls, search: Search, seed: int, engine: Engine) -> Iterator[RemoteTrials]:
        """Bring the search to the engine, pairs and all, for all rounds."""
        with temporary_folder() as folder:
            path = folder / "search"
            path.write_bytes(pickled(search).tobytes())
            with engine.share_file("search", path) as shared:
                yield cls(engine, shared, seed)

    def __call__(
        self, wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
    ) -> Iterator[TrialFit]:
        engine = self.engine.for_long_blocks()
        blocks = [{"trial": pickled((one.settings, list(curves)))} for one in wanted]
        for made in engine.map_blocks(fit_trial, blocks, [self.shared], seed=self.seed):
            yield unpickled(made["fit"])


_FITTERS = LRUCache[TrialFitter](most=1)
"""Of a process that fits trials for others, by the path of the search."""


def fit_trial(block: Arrays, shared: Arrays, *, seed: int) -> Arrays:
    """A block function: one trial. Vectors that several start from are kept beside the search."""
    path = Path(str(shared["search"]))

    def make() -> TrialFitter:
        starts = Path(f"{path}.starts")
        starts.mkdir(exist_ok=True)
        options = RunOptions(seed=seed, threads=1, cache=starts)
        return TrialFitter(unpickled(np.fromfile(path, np.uint8)), options)

    fitter = _FITTERS.get(str(path), make)
    settings, curves = unpickled(block["trial"])
    return {"fit": pickled(fitter.fit(settings, curves, Task(), {}))}


@dataclass(frozen=True, eq=False)
class Proposal:
    """A trial to be. params: what was proposed; settings: all that move. same: the number of an
    earlier trial with the same settings, whose result it has."""

    number: int
    params: dict[str, Any]
    settings: dict[str, Any]
    same: int | None


class Fits(Protocol):
    """Fits the trials of a round, here or elsewhere; gives them in order."""

    def __call__(
        self, wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
    ) -> Iterable[TrialFit]: ...


@dataclass(frozen=True, eq=False)
class TrialRunner:
    """What is searched, the seed, and who fits."""

    search: Search
    seed: int
    fits: Fits


@contextmanager
def running(search: Search, options: RunOptions, bar: Task) -> Iterator[TrialRunner]:
    """A runner of trials: one after the other here, side by side on a remote engine."""
    engine = options.remote_engine
    if engine is not None:
        with RemoteTrials.opened(search, options.seed, engine) as remote:
            yield TrialRunner(search, options.seed, remote)
        return
    with _cached(options) as cached:
        yield TrialRunner(search, options.seed, _Here(TrialFitter(search, cached), bar))


@dataclass(frozen=True, eq=False)
class _Here:
    """Trials of this process, each with all its threads."""

    fitter: TrialFitter
    bar: Task

    def __call__(
        self, wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
    ) -> Iterator[TrialFit]:
        for one in wanted:
            figures: dict[str, float | str] = {"trial": str(one.number), "best": best}
            yield self.fitter.fit(one.settings, curves, self.bar, figures)


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
    fits = iter(runner.fits([one for one in proposals if one.same is None], curves, best))
    known = list(finished)
    for one in proposals:
        began = time.perf_counter()
        if one.same is None:
            known.append(_fitted(one, next(fits), runner.search))
        else:
            known.append(_copied(one, known[one.same], began, runner.search))
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


def _fitted(one: Proposal, fit: TrialFit, search: Search) -> Any:
    from optuna.trial import TrialState

    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED}
    attributes = {"settings": one.settings, "epochs": 0, "refit": {}, **fit.attributes}
    attributes["seconds"] = fit.seconds
    state = states.get(fit.state, TrialState.FAIL)
    return _trial(one, search, state, fit.value, attributes, fit.curve)


def _copied(one: Proposal, same: Any, began: float, search: Search) -> Any:
    note = same.user_attrs.get("note") or f"as trial {one.same}"
    seconds = time.perf_counter() - began
    attributes = {**same.user_attrs, "note": note, "seconds": seconds}
    return _trial(one, search, same.state, same.value, attributes, dict(same.intermediate_values))


def _trial(
    one: Proposal,
    search: Search,
    state: Any,
    value: float | None,
    attributes: dict[str, Any],
    curve: dict[int, float],
) -> Any:
    """As Optuna keeps it."""
    import optuna

    return optuna.trial.create_trial(
        state=state,
        value=value,
        params=one.params,
        distributions={name: distribution(search.space[name]) for name in one.params},
        user_attrs=attributes,
        intermediate_values=curve,
    )


@contextmanager
def _cached(options: RunOptions) -> Iterator[RunOptions]:
    """Options with a cache, so that trials that start from the same vectors learn them once."""
    if options.cache is not None:
        yield options
        return
    with temporary_folder() as folder:
        yield replace(options, cache=folder)
