"""Which recipe a race tries next: a function of what was tried, so that equal races are equal.

Item weights first: they are quick and, alone, the best on most data. Their settings move one at a
time from the best so far (`moves`). Then a blend of them with SIML's vectors (whose settings race
among themselves); what is left of the budget goes into finer settings, and the blend once more.

Moves: the next settings of item weights to try, from the best so far.

Each setting has a scale of values around its default, in coarse steps that are halved level by
level. A move changes one setting of the best by one step, down or up; where that gains, the next
goes on from there. First each value is tried once, whatever the other settings were then; when
no level has a new one left, values are tried again beside the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xorec.models import model_class
from xorec.selection.model_specs import ModelSpec
from xorec.selection.race.limits import Budget, Target
from xorec.selection.race.trial import BASELINE, RaceTrial

MODEL = "slim"


@dataclass(frozen=True)
class Scale:
    """Values default x step^k (log) or default + step k, k whole at level 0, halves at 1, ..."""

    name: str
    step: float
    low: float
    high: float
    log: bool = False

    @property
    def default(self) -> Any:
        """The model's."""
        return model_class(MODEL).Config.model_fields[self.name].default

    def value(self, k: float) -> Any:
        """The value k steps from the default, of two digits; of the default's type."""
        exact = self.default * self.step**k if self.log else self.default + self.step * k
        return type(self.default)(float(f"{exact:.2g}" if self.log else f"{exact:.2f}"))

    def beside(self, value: Any, level: int) -> list[Any]:
        """The values one step of this level down and up; none for a value between such steps.

        >>> l2 = Scale("l2", 4.0, 1.0, 400.0, log=True)
        >>> l2.beside(20.0, 0), l2.beside(80.0, 0), l2.beside(20.0, 1), l2.beside(40.0, 0)
        ([5.0, 80.0], [20.0, 320.0], [10.0, 40.0], [])
        """
        part = 2**level
        steps = [k / part for k in range(-8 * part, 8 * part + 1)]
        at = next((k for k in steps if self.value(k) == value), None)
        if at is None:
            return []
        around = (self.value(at - 1 / part), self.value(at + 1 / part))
        return [one for one in around if self.low <= one <= self.high and one != value]


L2 = Scale("l2", 4.0, 1.0, 400.0, log=True)
USERS = Scale("user_exponent", 0.3, 0.0, 0.9)
NEIGHBOURS = Scale("neighbours", 2.0, 25, 800, log=True)
GROWTH = Scale("growth", 0.2, 0.0, 1.0)
ITEMS = Scale("item_exponent", 0.4, 0.0, 0.8)
RUNGS = (
    *((L2, 0), (USERS, 0), (L2, 1), (NEIGHBOURS, 0), (GROWTH, 0), (ITEMS, 0)),
    *((USERS, 1), (L2, 2), (GROWTH, 1), (NEIGHBOURS, 1), (ITEMS, 1), (USERS, 2), (GROWTH, 2)),
)
"""What moves, and at which level, in the order of what it gains on most data."""


def weights_spec(settings: dict[str, Any]) -> ModelSpec:
    """Item weights with these settings, in bytes; those that are the default's are left out."""
    own = {
        name: value
        for name, value in settings.items()
        if value != model_class(MODEL).Config.model_fields[name].default
    }
    return ModelSpec(MODEL, {**own, "weight_dtype": "int8"})


def best_weights(trials: Sequence[RaceTrial]) -> dict[str, Any]:
    """The settings of the best item weights so far."""
    found = [trial for trial in trials if trial.model == MODEL]
    return dict(max(found, key=lambda trial: trial.value).settings) if found else {}


def all_moves(trials: Sequence[RaceTrial]) -> Iterator[ModelSpec]:
    """All that are left, coarse ones first."""
    for again in (False, True):
        for scale, level in RUNGS:
            yield from moves(trials, scale, level, again=again)


def moves(
    trials: Sequence[RaceTrial], scale: Scale, level: int, *, again: bool = False
) -> Iterator[ModelSpec]:
    """The best with one setting one step down or up.

    again: values, too, that were tried beside other settings than those of the best.
    """
    best = best_weights(trials)
    of_weights = [trial.settings for trial in trials if trial.model == MODEL]
    known = {settings.get(scale.name, scale.default) for settings in of_weights}
    for value in scale.beside(best.get(scale.name, scale.default), level):
        if again or value not in known:
            yield weights_spec({**best, scale.name: value})


WEIGHTS_SHARE = 0.35
"""Of the budget, for the settings of item weights before vectors are learned."""
SMALL_CATALOGUE = 5_000
"""Items up to which all weights between items are tried (EASE)."""


def next_recipe(
    trials: Sequence[RaceTrial], budget: Budget, n_items: int, target: Target
) -> ModelSpec | None:
    """The next recipe that was not tried; None: there is nothing left to try."""
    tried = [_without_start(trial.spec) for trial in trials]
    for spec in _ladder(trials, budget, n_items, target):
        if _without_start(spec) not in tried:
            return spec
    return None


def _without_start(spec: ModelSpec) -> ModelSpec:
    """What tells recipes apart: all start from the same vectors."""
    own = {name: value for name, value in spec.settings.items() if name != "start"}
    return ModelSpec(spec.name, own)


def _ladder(
    trials: Sequence[RaceTrial], budget: Budget, n_items: int, target: Target
) -> Iterator[ModelSpec]:
    """All recipes in order, as far as it is known by now."""
    yield ModelSpec(BASELINE)
    yield weights_spec({})
    if budget.spent(len(trials)) < WEIGHTS_SHARE:
        yield from moves(trials, L2, 0)
        yield from moves(trials, USERS, 0)
        yield from moves(trials, L2, 1)
    yield from _with_codes(trials, target)
    if not any(trial.model == "blend" for trial in trials):
        yield _blend(trials)
    if not budget.is_closing(len(trials)):
        if n_items <= SMALL_CATALOGUE:
            yield ModelSpec("ease")
        yield from all_moves(trials)
    yield _blend(trials)
    if budget.trials is not None:
        yield from all_moves(trials)


def _start(trials: Sequence[RaceTrial]) -> dict[str, Any]:
    """What the vectors of a trial have ended with: an equal start is not learned again."""
    return next((dict(one.refit["start"]) for one in trials if "start" in one.refit), {})


def _blend(trials: Sequence[RaceTrial]) -> ModelSpec:
    """The best item weights so far, and the vectors that were learned before."""
    return ModelSpec("blend", {"slim": best_weights(trials), "start": _start(trials)})


def _with_codes(trials: Sequence[RaceTrial], target: Target) -> Iterator[ModelSpec]:
    """Codes alone, and codes with vectors, where few bytes or little time are asked for."""
    start = _start(trials)
    if target.limit == "us":
        yield ModelSpec("dsiml", {"bits": 64, "start": start})
    if target.limit != "bytes":
        return
    for bits in (256, 128, 64, 32, 16, 8):
        if bits <= 8 * target.most:
            room = {} if bits <= 8 * (target.most - 1) else {"offset": 0.0}  # it takes a byte
            yield ModelSpec("dsiml", {"bits": bits, **room, "start": start})
            break
    if target.most >= 8 + 68:
        yield ModelSpec("dsiml", {"shortlist": 200, "vector_dtype": "int8", "start": start})
