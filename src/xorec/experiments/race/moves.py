"""Moves: the next settings of item weights to try, from the best so far.

Each setting has a scale of values around its default, in coarse steps that are halved level by
level. A move changes one setting of the best by one step, down or up; where that gains, the next
goes on from there. First each value is tried once, whatever the other settings were then; when
no level has a new one left, values are tried again beside the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xorec.experiments.model_specs import ModelSpec
from xorec.experiments.race.trial import Trial
from xorec.models import model_class

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
    return ModelSpec(MODEL, {**own, "keep": "int8"})


def best_weights(trials: Sequence[Trial]) -> dict[str, Any]:
    """The settings of the best item weights so far."""
    found = [trial for trial in trials if trial.model == MODEL]
    return dict(max(found, key=lambda trial: trial.value).settings) if found else {}


def all_moves(trials: Sequence[Trial]) -> Iterator[ModelSpec]:
    """All that are left, coarse ones first."""
    for again in (False, True):
        for scale, level in RUNGS:
            yield from moves(trials, scale, level, again=again)


def moves(
    trials: Sequence[Trial], scale: Scale, level: int, *, again: bool = False
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
