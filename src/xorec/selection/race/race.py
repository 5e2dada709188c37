"""A race of recipes: what serves these data best within a budget, without being asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from xorec.core.files import write_text
from xorec.core.options import RunOptions
from xorec.core.source_digest import source_digest
from xorec.data.interactions import Interactions
from xorec.selection.race.limits import ENOUGH, Budget, Target
from xorec.selection.race.proposals import next_recipe
from xorec.selection.race.trial import BASELINE, METRIC, RaceTrial, run_trial

_VECTORS_SHARE = 0.6
"""Of the budget, after which vectors stop learning: the last fit takes as long again."""


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The trials in the order in which they ran, and the one that won. judged_on: in words."""

    trials: list[RaceTrial]
    winner: RaceTrial
    target: Target
    judged_on: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Why, and a row for each trial."""
        return {"why": self.why(), "rows": [one.row() for one in self.trials]}

    def validation(self) -> dict[str, Any]:
        """What the winner's recipe reached on validation, fitted without those pairs."""
        winner = self.winner
        return {
            "metric": METRIC,
            "value": winner.value,
            "interval": list(winner.interval or ()),
            "users": winner.users,
            "judged_on": self.judged_on,
        }

    def others(self, count: int) -> list[RaceTrial]:
        """The best `count` trials beside the winner, best first, and the baseline at the end."""
        ranked = sorted(self.trials, key=lambda one: -one.value)
        others = [one for one in ranked if one is not self.winner and not one.note]
        first = others[:count]
        return first + [one for one in others[count:] if one.model == BASELINE]

    def count(self) -> str:
        """How many trials ran, in words."""
        return "1 trial" if len(self.trials) == 1 else f"{len(self.trials)} trials"

    def why(self) -> str:
        """One line: why the winner was chosen."""
        others = [one for one in self.trials if one.model != self.winner.model and not one.note]
        text = f"{self.winner.label}: {self.target} of {self.count()}"
        if not self.target.fits(self.winner):
            return f"{text}; nothing fits, it takes least"
        if any(self.target.fits(one) and one.value > self.winner.value for one in self.trials):
            within = f"the smallest within {100 * (1 - ENOUGH):.1f} % of {self.target}"
            return f"{self.winner.label}: {within}, of {self.count()}"
        second = max(others, key=lambda one: one.value, default=None)
        if second is None or second.value <= 0:
            return text
        gain = 100 * (self.winner.value / second.value - 1)
        where = "above" if gain >= 0 else "below"
        return f"{text}, {abs(gain):.1f} % {where} the best {second.model}"


def race(
    train: Interactions,
    validation: Interactions,
    *,
    budget: Budget | None = None,
    target: Target | None = None,
    judged_on: str = "",
    options: RunOptions,
) -> RaceResult:
    """Try recipes until the budget is spent, and say which is best on validation.

    judged_on: what the validation part is, in words, for who reads the result.
    A race that was stopped goes on from options.checkpoint; vectors that several recipes share are
    kept in options.cache.
    """
    budget, target = budget or Budget.for_pairs(train.n_pairs), target or Target()
    kept = _Kept(options, [train.digest(), validation.digest(), options.seed, source_digest()])
    trials = kept.read()
    if trials:
        options.progress.note(f"race: {len(trials)} trials of a run before are taken as they are.")
    while not trials or budget.spent(len(trials)) < 1:
        spec = next_recipe(trials, budget, train.n_items, target)
        if spec is None:
            break
        limits = replace(options, checkpoint=None, resume=False, until=budget.until(_VECTORS_SHARE))
        trial = run_trial(spec, train, validation, limits)
        best = max((one.value for one in trials), default=-1.0)
        trials.append(trial)
        kept.write(trials)
        if trial.note:
            options.progress.note(f"race: {trial.label} failed: {trial.note}")
        elif trial.value > best:
            options.progress.note(f"race: {trial.label}: {METRIC} {trial.value:.4f}")
    winner = target.best([one for one in trials if not one.note])
    return RaceResult(trials, winner, target, judged_on)


class _Kept:
    """The trials in a file beside the checkpoint, for a run that goes on."""

    def __init__(self, options: RunOptions, key: Sequence[Any]) -> None:
        self._path: Path | None = options.for_stage("race").checkpoint
        self._resume, self._key = options.resume, json.loads(json.dumps(list(key)))

    def read(self) -> list[RaceTrial]:
        """Those of a run on the same data with the same seed and code."""
        if self._path is None or not self._resume or not self._path.exists():
            return []
        kept = json.loads(self._path.read_text(encoding="utf-8"))
        return [RaceTrial(**one) for one in kept["trials"]] if kept["key"] == self._key else []

    def write(self, trials: Sequence[RaceTrial]) -> None:
        """All trials so far."""
        if self._path is not None:
            rows = list(map(asdict, trials))
            write_text(self._path, json.dumps({"key": self._key, "trials": rows}))
