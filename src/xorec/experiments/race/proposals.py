"""Which recipe a race tries next: a function of what was tried, so that equal races are equal.

Item weights first: they are quick and, alone, the best on most data. Their settings move one at a
time from the best so far. Then a blend of them with SIML's vectors (whose settings race among
themselves); what is left of the budget goes into finer settings, and the blend once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xorec.experiments.model_specs import ModelSpec
from xorec.experiments.race.target import Target
from xorec.experiments.race.trial import Trial

WEIGHTS_SHARE = 0.35
"""Of the budget, for the settings of item weights before vectors are learned."""
FINER_SHARE = 0.7
"""Of the budget, after which nothing new begins but a blend."""
SMALL_CATALOGUE = 5_000
"""Items up to which all weights between items are tried (EASE)."""
_L2 = (20.0, 5.0, 80.0, 1.5, 300.0)
_FINER: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("user_exponent", (0.0, 0.6)),
    ("neighbours", (50, 200, 400)),
    ("growth", (0.0, 0.6)),
)


def next_recipe(
    trials: Sequence[Trial], spent: float, n_items: int, target: Target
) -> ModelSpec | None:
    """The next recipe that was not tried; None: there is nothing left to try.

    spent: the share of the budget that is gone.
    """
    tried = [_without_start(trial.spec) for trial in trials]
    for spec in _ladder(trials, spent, n_items, target):
        if _without_start(spec) not in tried:
            return spec
    return None


def _without_start(spec: ModelSpec) -> ModelSpec:
    """What tells recipes apart: all start from the same vectors."""
    own = {name: value for name, value in spec.settings.items() if name != "start"}
    return ModelSpec(spec.name, own)


def _ladder(
    trials: Sequence[Trial], spent: float, n_items: int, target: Target
) -> Iterator[ModelSpec]:
    """All recipes in order, as far as it is known by now."""
    yield ModelSpec("popularity")
    yield _slim({})
    if spent < WEIGHTS_SHARE:
        yield from _along("l2", _L2, trials)
        if n_items <= SMALL_CATALOGUE:
            yield ModelSpec("ease")
        yield from (_slim({**best_slim(trials), "user_exponent": e}) for e in (0.0, 0.6))
    yield from _with_codes(trials, target)
    if not any(trial.model == "blend" for trial in trials):
        yield _blend(trials)
    if spent < FINER_SHARE:
        yield from _along("l2", _L2, trials)
        for name, values in _FINER:
            for value in values:
                yield _slim({**best_slim(trials), name: value})
    yield _blend(trials)


def _along(name: str, values: tuple[float, ...], trials: Sequence[Trial]) -> Iterator[ModelSpec]:
    """One setting of the best item weights: the default's neighbours, and on where that gains."""
    best = best_slim(trials)
    _, lower, higher, lowest, highest = values
    yield _slim({**best, name: lower})
    yield _slim({**best, name: higher})
    if best.get(name) == lower:
        yield _slim({**best, name: lowest})
    if best.get(name) == higher:
        yield _slim({**best, name: highest})


def _slim(settings: dict[str, Any]) -> ModelSpec:
    return ModelSpec("slim", {**settings, "keep": "int8"})


def best_slim(trials: Sequence[Trial]) -> dict[str, Any]:
    """The settings of the best item weights so far."""
    slims = [trial for trial in trials if trial.model == "slim"]
    return dict(max(slims, key=lambda trial: trial.value).settings) if slims else {}


def _start(trials: Sequence[Trial]) -> dict[str, Any]:
    """What the vectors of a trial have ended with: an equal start is not learned again."""
    return next((dict(one.refit["start"]) for one in trials if "start" in one.refit), {})


def _blend(trials: Sequence[Trial]) -> ModelSpec:
    """The best item weights so far, and the vectors that were learned before."""
    return ModelSpec("blend", {"slim": best_slim(trials), "start": _start(trials)})


def _with_codes(trials: Sequence[Trial], target: Target) -> Iterator[ModelSpec]:
    """Codes alone, and codes with vectors, where few bytes or little time are asked for."""
    start = _start(trials)
    if target.limit == "us":
        yield ModelSpec("dsiml", {"bits": 64, "start": start})
    if target.limit != "bytes":
        return
    for bits in (256, 128, 64, 32, 16, 8):
        if bits <= 8 * target.most:
            yield ModelSpec("dsiml", {"bits": bits, "start": start})
            break
    if target.most >= 8 + 68:
        yield ModelSpec("dsiml", {"shortlist": 200, "keep": "int8", "start": start})
