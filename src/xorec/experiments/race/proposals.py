"""Which recipe a race tries next: a function of what was tried, so that equal races are equal.

Item weights first: they are quick and, alone, the best on most data. Their settings move one at a
time from the best so far (`moves`). Then a blend of them with SIML's vectors (whose settings race
among themselves); what is left of the budget goes into finer settings, and the blend once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xorec.experiments.model_specs import ModelSpec
from xorec.experiments.race.budget import Budget
from xorec.experiments.race.moves import L2, USERS, all_moves, best_weights, moves, weights_spec
from xorec.experiments.race.target import Target
from xorec.experiments.race.trial import BASELINE, Trial

WEIGHTS_SHARE = 0.35
"""Of the budget, for the settings of item weights before vectors are learned."""
SMALL_CATALOGUE = 5_000
"""Items up to which all weights between items are tried (EASE)."""


def next_recipe(
    trials: Sequence[Trial], budget: Budget, n_items: int, target: Target
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
    trials: Sequence[Trial], budget: Budget, n_items: int, target: Target
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


def _start(trials: Sequence[Trial]) -> dict[str, Any]:
    """What the vectors of a trial have ended with: an equal start is not learned again."""
    return next((dict(one.refit["start"]) for one in trials if "start" in one.refit), {})


def _blend(trials: Sequence[Trial]) -> ModelSpec:
    """The best item weights so far, and the vectors that were learned before."""
    return ModelSpec("blend", {"slim": best_weights(trials), "start": _start(trials)})


def _with_codes(trials: Sequence[Trial], target: Target) -> Iterator[ModelSpec]:
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
        yield ModelSpec("dsiml", {"shortlist": 200, "keep": "int8", "start": start})
