"""A round of a study: the trials that are proposed from those of the rounds before.

Round r has the trials r n up to (r + 1) n - 1, n the number of trials at once. Each is proposed
from the trials of the rounds before and from the settings of those before it in its own round, and
is compared with the rounds before as it goes. So a round that was broken off goes on as it would
have.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from xorec.core.files import temporary_folder
from xorec.core.options import RunOptions
from xorec.core.progress import Task
from xorec.experiments.tuning.proposals import distribution, propose
from xorec.experiments.tuning.remote_trials import RemoteTrials
from xorec.experiments.tuning.trial_fits import Search, TrialFit, TrialFitter
from xorec.experiments.tuning.watching import Curve


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
